"""The entry point of `recolorist-lab`: errors, help and version."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recolorist_lab.cli.main import main


class TestEntry:
    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-W", "error", "-m", "recolorist_lab.cli.main", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=600)  # noqa: S603

    def test_an_error_is_one_sentence(self, tmp_path: Path) -> None:
        done = self.run("data", "index", "ddi", "--root", str(tmp_path))
        assert done.returncode == 1
        assert done.stderr.startswith("recolorist-lab: ")
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""

    def test_help_and_version(self) -> None:
        assert "data" in self.run("--help").stdout
        assert self.run("--version").stdout.startswith("recolorist-lab ")

    def test_help_loads_nothing_heavy(self) -> None:
        code = (
            "import sys; from recolorist_lab.cli.main import app;"
            "print([name for name in ('pyarrow', 'torch', 'PIL', 'skimage', 'ray') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)  # noqa: S603
        assert done.stdout.strip() == "[]"

    def test_main_is_the_console_script(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(sys, "argv", ["recolorist-lab", "data", "info", "nothing"])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 1
        assert "recolorist-lab: 'nothing' is not a dataset" in capsys.readouterr().err
