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
from recolorist.io.files import atomic_create, atomic_path, atomic_write, write_into


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
        def interrupt(handle: int, data: bytes, *, flush: bool) -> None:
            os.write(handle, data[: 2 + flush])
            raise KeyboardInterrupt

        monkeypatch.setattr(files, "_write_all", interrupt)
        with pytest.raises(KeyboardInterrupt):
            atomic_write(tmp_path / "a.txt", b"new")
        assert names(tmp_path) == []

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(RecoloristError, match="choose an existing, writable folder"):
            atomic_write(tmp_path / "none" / "a.txt", b"x")

    @pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "\N{EYE}" * 63, "a\udcff" * 60])  # 255 bytes and less; one not UTF-8
    def test_long_names(self, tmp_path: Path, name: str) -> None:
        atomic_write(tmp_path / name, b"x")
        assert names(tmp_path) == [name]
        assert not atomic_create(tmp_path / name, b"y")

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


class TestWriteInto:
    """The function below `atomic_write`, `atomic_create` and the outputs of collections."""

    @pytest.mark.parametrize("nameless", [True, False])
    @pytest.mark.parametrize("is_open", [True, False])
    def test_writes_once_unless_it_may_replace(
        self, tmp_path: Path, is_open: bool, nameless: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not nameless:
            monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        handle = os.open(tmp_path, os.O_RDONLY)
        where: int | str = handle if is_open else str(tmp_path)
        attempts = ((b"1", False), (b"2", False), (b"3", True))
        results = [write_into(where, "a", data, replace=replace) for data, replace in attempts]
        os.close(handle)
        assert results == [True, False, True]
        assert (tmp_path / "a").read_bytes() == b"3"
        assert names(tmp_path) == ["a"]

    @pytest.mark.parametrize("replace", [True, False])
    def test_an_open_folder_is_written_into_under_any_name(self, tmp_path: Path, replace: bool) -> None:
        (tmp_path / "old").mkdir()
        handle = os.open(tmp_path / "old", os.O_RDONLY)
        (tmp_path / "old").rename(tmp_path / "new")
        assert write_into(handle, "a", b"x", replace=replace, flush=False)
        os.close(handle)
        assert names(tmp_path) == ["new"]
        assert names(tmp_path / "new") == ["a"]

    @pytest.mark.parametrize("replace", [True, False])
    def test_links_are_not_followed(self, tmp_path: Path, replace: bool) -> None:
        (tmp_path / "mine").write_bytes(b"mine")
        (tmp_path / "link").symlink_to(tmp_path / "mine")
        assert write_into(str(tmp_path), "link", b"x", replace=replace) is replace
        assert (tmp_path / "mine").read_bytes() == b"mine"
        assert (tmp_path / "link").is_symlink() is not replace

    def test_a_file_system_without_hard_links(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_links(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", no_links)
        with pytest.raises(PermissionError):
            write_into(str(tmp_path), "a", b"x", replace=False)
        with pytest.raises(RecoloristError, match="not permitted"):
            atomic_create(tmp_path / "a", b"x")
        assert write_into(str(tmp_path), "a", b"x", replace=True)
        assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("folder", [False, True])
def test_a_process_that_must_end_removes_what_it_is_writing(tmp_path: Path, folder: bool) -> None:
    def write_and_remove() -> None:
        with atomic_path(tmp_path / "a") as part:
            if folder:
                part.mkdir()
                (part / "b").write_bytes(b"half")
            else:
                part.write_bytes(b"half")
            assert names(tmp_path) == [part.name]
            files.remove_parts()

    with pytest.raises(FileNotFoundError):
        write_and_remove()
    assert names(tmp_path) == []
    files.remove_parts()  # nothing is left to remove


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
