"""A lock that ends with its process and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from recolorist_lab.data.locks import locked


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait(600)
        with locked(tmp_path / "bank"):
            order.append("second")

    other = threading.Thread(target=second)
    other.start()
    with locked(tmp_path / "bank"):
        inside.set()
        other.join(0.2)  # cannot end before we are out, however long that takes
        order.append("first")
    other.join(600)
    assert order == ["first", "second"]
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    imports = "import os\nfrom pathlib import Path\nfrom recolorist_lab.data.locks import locked\n"
    code = f"{imports}with locked(Path({str(tmp_path / 'a')!r})): os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9  # noqa: S603
    with locked(tmp_path / "a"):
        pass


def test_where_no_lock_can_be_had_the_work_is_done_without(tmp_path: Path) -> None:
    with locked(tmp_path / "nowhere" / "a"):
        pass


def test_errors_pass_through(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="ours"), locked(tmp_path / "a"):
        raise OSError("ours")
    assert list(tmp_path.iterdir()) == []
