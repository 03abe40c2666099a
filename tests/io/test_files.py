"""Files and folders appear whole or not at all, and no temporary one stays."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recolorist.errors import RecoloristError
from recolorist.io import files
from recolorist.io.files import atomic_create, atomic_path, atomic_write


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestAtomicWrite:
    def test_writes_and_replaces(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        assert atomic_write(path, b"old") == path
        atomic_write(path, b"new")
        assert path.read_bytes() == b"new"
        assert names(tmp_path) == ["a.txt"]

    def test_permissions_are_those_of_an_ordinary_file(self, tmp_path: Path) -> None:
        atomic_write(tmp_path / "a", b"")
        (tmp_path / "b").write_bytes(b"")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)

    def test_a_full_disk_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        atomic_write(tmp_path / "a.txt", b"old")

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(RecoloristError, match=r"a\.txt was not written: No space left on device; what was there before"):
            atomic_write(tmp_path / "a.txt", b"new")
        assert (tmp_path / "a.txt").read_bytes() == b"old"
        assert names(tmp_path) == ["a.txt"]

    def test_ctrl_c_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(part: Path, data: bytes) -> None:
            part.write_bytes(data[:2])
            raise KeyboardInterrupt

        monkeypatch.setattr(files, "_write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            atomic_write(tmp_path / "a.txt", b"new")
        assert names(tmp_path) == []

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(RecoloristError, match="choose an existing, writable folder"):
            atomic_write(tmp_path / "none" / "a.txt", b"x")

    def test_long_names(self, tmp_path: Path) -> None:
        atomic_write(tmp_path / ("a" * 250), b"x")
        assert names(tmp_path) == ["a" * 250]

    def test_file_and_folder_are_flushed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        flushed = []
        fsync = os.fsync

        def note(handle: int) -> None:
            flushed.append(stat.S_ISDIR(os.fstat(handle).st_mode))
            fsync(handle)

        monkeypatch.setattr(os, "fsync", note)
        atomic_write(tmp_path / "a.txt", b"x")
        assert flushed[0] is False
        assert flushed[-1] is True


class TestAtomicCreate:
    def test_the_first_one_stays(self, tmp_path: Path) -> None:
        assert atomic_create(tmp_path / "a", b"first")
        assert not atomic_create(tmp_path / "a", b"second")
        assert (tmp_path / "a").read_bytes() == b"first"
        assert names(tmp_path) == ["a"]

    def test_one_of_many_writes(self, tmp_path: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            written = list(pool.map(lambda i: atomic_create(tmp_path / "a", bytes([i]) * 999), range(40)))
        assert sum(written) == 1
        assert (tmp_path / "a").read_bytes() == bytes([written.index(True)]) * 999
        assert names(tmp_path) == ["a"]

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(RecoloristError, match="choose an existing, writable folder"):
            atomic_create(tmp_path / "none" / "a.txt", b"x")


class TestAtomicPath:
    def test_a_file_is_hidden_until_it_is_whole(self, tmp_path: Path) -> None:
        with atomic_path(tmp_path / "a") as part:
            part.write_bytes(b"half")
            assert not (tmp_path / "a").exists()
            assert part.name.startswith(".a.")
            assert part.name.endswith(".part")
        assert (tmp_path / "a").read_bytes() == b"half"
        assert names(tmp_path) == ["a"]

    def test_a_folder_replaces_an_empty_one(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        with atomic_path(tmp_path / "a") as part:
            part.mkdir()
            (part / "b").write_bytes(b"x")
        assert names(tmp_path / "a") == ["b"]
        assert names(tmp_path) == ["a"]

    def test_a_folder_with_files_is_not_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "mine").write_bytes(b"x")
        with pytest.raises(OSError, match="mpty"), atomic_path(tmp_path / "a") as part:
            part.mkdir()
        assert names(tmp_path / "a") == ["mine"]
        assert names(tmp_path) == ["a"]

    @pytest.mark.parametrize("folder", [False, True])
    def test_an_exception_leaves_nothing(self, tmp_path: Path, folder: bool) -> None:
        def fail() -> None:
            with atomic_path(tmp_path / "a") as part:
                if folder:
                    part.mkdir()
                    (part / "b").write_bytes(b"x")
                else:
                    part.write_bytes(b"x")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert names(tmp_path) == []
