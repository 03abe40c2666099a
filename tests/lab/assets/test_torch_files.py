"""Pickles of strangers: read in a process of their own with limits, handed back as safetensors, and unpickled once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from recolorist_lab.assets import torch_files
from recolorist_lab.assets.torch_files import digest_of, forbid, read_torch_file, unpickle
from recolorist_lab.assets.weights import WeightsError
from tests.full import IS_FULL


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weights" / "read"


@pytest.fixture
def convert_here(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Convert in this process, without its limits, and note what was converted."""
    asked: list[Path] = []

    def convert(path: Path, part: str | None, answer: Path) -> None:
        asked.append(path)
        if torch_files.convert(str(path), part, str(answer)):
            raise WeightsError(str(path))

    monkeypatch.setattr(torch_files, "limit_resources", lambda _: None)
    monkeypatch.setattr(sys, "addaudithook", lambda _: None)
    monkeypatch.setattr(torch_files, "_convert_apart", convert)
    return asked


class Touch:
    """A pickle that makes a file where it is loaded with code."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


class TestOwnProcess:
    """Each of these starts a process that imports torch."""

    def test_what_comes_back_is_what_the_file_holds(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        shared = torch.arange(6.0)
        held = {
            "z": torch.arange(6.0).reshape(2, 3).T,
            "half": torch.tensor([0.1, 2.0], dtype=torch.bfloat16),
            "count": torch.tensor(3),
            "a": shared,
            "same": shared,
            "empty": torch.zeros(0, 3),
        }
        torch.save(held, tmp_path / "a.pth")
        expected = unpickle(tmp_path / "a.pth")
        monkeypatch.setattr(torch, "load", None)
        found = read_torch_file(tmp_path / "a.pth")
        assert list(found) == list(held) == list(expected)
        for name, tensor in expected.items():
            assert found[name].dtype == tensor.dtype
            assert torch.equal(found[name], tensor)

    @pytest.mark.skipif(not IS_FULL, reason="takes seconds; test_weights reads such a file in this process")
    def test_code_is_never_run(self, tmp_path: Path, cache: Path) -> None:
        torch.save({"a": Touch(tmp_path / "canary")}, tmp_path / "a.pth")
        with pytest.raises(WeightsError, match=r"a\.pth holds Python objects beside tensors"):
            read_torch_file(tmp_path / "a.pth")
        assert not (tmp_path / "canary").exists()
        assert not cache.exists()

    @pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="memory is limited on Linux only")
    def test_a_small_file_that_stands_for_a_terabyte_is_refused(self, tmp_path: Path) -> None:
        torch.save({"a": torch.zeros(1).expand(1 << 20, 1 << 18)}, tmp_path / "a.pth")
        with pytest.raises(WeightsError, match=r"a\.pth cannot be read as weights: .*memory"):
            read_torch_file(tmp_path / "a.pth")

    def test_what_takes_too_long_is_ended(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        torch.save({"a": torch.zeros(1)}, tmp_path / "a.pth")
        monkeypatch.setattr(torch_files, "SECONDS", 0.001)
        with pytest.raises(WeightsError, match=r"a\.pth was not read within 0\.001 s"):
            read_torch_file(tmp_path / "a.pth")

    def test_a_process_that_dies_is_a_sentence(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        torch.save({"a": torch.zeros(1)}, tmp_path / "a.pth")
        monkeypatch.setattr(torch_files, "_PROGRAM", "import os; os.abort()")
        with pytest.raises(WeightsError, match=r"a\.pth cannot be read as weights: the process that read it ended with"):
            read_torch_file(tmp_path / "a.pth")


@pytest.mark.usefixtures("convert_here")
class TestCache:
    def test_a_file_is_unpickled_once(self, tmp_path: Path, convert_here: list[Path], cache: Path) -> None:
        for name, value in (("a.pth", 1.0), ("b.pth", 1.0), ("c.pth", 2.0)):
            torch.save({"x": torch.tensor([value])}, tmp_path / "same.pth")
            (tmp_path / "same.pth").rename(tmp_path / name)
        read = [float(read_torch_file(tmp_path / name)["x"]) for name in ("a.pth", "b.pth", "c.pth", "a.pth")]
        assert read == [1.0, 1.0, 2.0, 1.0]
        assert [path.name for path in convert_here] == ["a.pth", "c.pth"]
        assert len(list(cache.iterdir())) == 2

    def test_parts_are_kept_apart(self, tmp_path: Path) -> None:
        torch.save({"a": {"x": torch.zeros(1)}, "b": {"x": torch.ones(1)}}, tmp_path / "a.pth")
        assert [float(read_torch_file(tmp_path / "a.pth", part)["x"]) for part in ("a", "b", "a")] == [0.0, 1.0, 0.0]

    def test_a_damaged_answer_is_made_again(self, tmp_path: Path, convert_here: list[Path], cache: Path) -> None:
        torch.save({"x": torch.ones(4)}, tmp_path / "a.pth")
        read_torch_file(tmp_path / "a.pth")
        (kept,) = cache.iterdir()
        kept.write_bytes(kept.read_bytes()[:-1] + b"!")
        assert read_torch_file(tmp_path / "a.pth")["x"].tolist() == [1.0] * 4
        kept.write_bytes(b"")
        assert read_torch_file(tmp_path / "a.pth")["x"].tolist() == [1.0] * 4
        assert len(convert_here) == 3

    def test_it_works_without_a_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "file"))
        torch.save({"x": torch.ones(1)}, tmp_path / "a.pth")
        assert read_torch_file(tmp_path / "a.pth")["x"].tolist() == [1.0]

    def test_a_file_that_changes_meanwhile_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        digests = iter("ab")
        monkeypatch.setattr(torch_files, "digest_of", lambda _: next(digests))
        torch.save({"x": torch.ones(1)}, tmp_path / "a.pth")
        with pytest.raises(WeightsError, match="changed while it was read"):
            read_torch_file(tmp_path / "a.pth")
        assert not cache.exists()


FORBIDDEN = {
    "a connection": "import socket; socket.socket()",
    "a program": "import subprocess; subprocess.run(['true'])",
    "a shell": "os.system('true')",
    "a copy of itself": "os.fork()",
    "a new file": "open('new', 'w')",
    "a new file by number": "os.open('new', os.O_CREAT | os.O_RDWR)",
    "a removal": "os.remove('old')",
}


def test_what_a_process_with_the_hook_may_not_do(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("kept")
    tries = "\n".join(
        f"attempt({name!r}, {code!r})" for name, code in FORBIDDEN.items() if hasattr(os, "fork") or "fork" not in code
    )
    program = (
        "import os, sys\nfrom recolorist_lab.assets.torch_files import forbid\n"
        "def attempt(name, code):\n    try:\n        exec(code)\n    except PermissionError:\n        return\n    print(name)\n"
        f"sys.addaudithook(forbid)\n{tries}\nprint(open('old').read())"
    )
    ended = subprocess.run(  # noqa: S603 - this interpreter, with a program of ours
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split("\n") == ["kept", ""]
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_reading_is_not_forbidden() -> None:
    forbid("open", ("a", "r", os.O_RDONLY))
    forbid("open", ("a", "r", None))
    forbid("import", ("torch",))


def test_the_digest_is_of_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert digest_of(tmp_path / "a").startswith("ba7816bf")
