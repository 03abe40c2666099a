"""The folder that is written into: files appear whole, inside it, and replace nothing unless forced."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

import recolorist as rc
from recolorist import collections as batch
from recolorist.collections import target as target_module
from recolorist.collections.journal import Journal, read_records
from recolorist.collections.target import OutputError, Target
from recolorist.errors import ImageError, OptionError
from recolorist.io.files import HAS_OPEN_FOLDERS, PART_SUFFIX
from tests.commands import contents


class TestTarget:
    def test_a_relative_folder_is_that_of_the_present_working_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            monkeypatch.chdir(tmp_path / name)
            Target(".").place("out.png", name.encode())
        assert contents(tmp_path) == {"first/out.png": b"first", "second/out.png": b"second"}

    @pytest.mark.parametrize("name", ["../x", "/x", "a/../b", "a//b", "", "a/./b", "nul\0"])
    def test_names_that_lead_elsewhere(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(OptionError, match="cannot be the name of an output"):
            Target(str(tmp_path)).place(name, b"x")

    def test_links_below_the_target_are_not_followed(self, tmp_path: Path) -> None:
        out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
        out.mkdir()
        elsewhere.mkdir()
        (out / "sub").symlink_to(elsewhere, target_is_directory=True)
        (elsewhere / "victim").write_bytes(b"mine")
        (out / "link").symlink_to(elsewhere / "victim")
        for force in (False, True):
            with pytest.raises(ImageError, match="links there are not followed"):
                Target(str(out), force).place("sub/x", b"data")
        with pytest.raises(ImageError, match="exists in the target"):
            Target(str(out)).place("link", b"data")
        Target(str(out), force=True).place("link", b"data")  # replaces the link, not what it leads to
        assert contents(elsewhere) == {"victim": b"mine"}
        assert not (out / "link").is_symlink()

    def test_the_same_bytes_again_are_as_good_as_written(self, tmp_path: Path) -> None:
        target = Target(str(tmp_path))
        target.place("a/b", b"data")
        target.place("a/b", b"data")
        with pytest.raises(ImageError, match="with other content"):
            target.place("a/b", b"other")
        assert contents(tmp_path) == {"a/b": b"data"}

    def test_long_names(self, tmp_path: Path) -> None:
        Target(str(tmp_path)).place("x" * 255, b"data")
        with pytest.raises(ImageError, match="was not written"):
            Target(str(tmp_path)).place("x" * 256, b"data")

    def test_a_file_system_without_hard_links(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_links(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", no_links)
        target = Target(str(tmp_path))
        target.place("a", b"data")
        target.place("a", b"data")
        with pytest.raises(ImageError, match="with other content"):
            target.place("a", b"other")
        assert contents(tmp_path) == {"a": b"data"}

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
    def test_read_only(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o555)
        with pytest.raises(OutputError):
            Target(str(tmp_path)).place("x", b"data")

    def test_a_failing_disk_is_an_error_at_once_and_leaves_nothing(
        self, tmp_path: Path, folder: Path, bank: rc.StyleBank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written = 0

        def full(handle: int, data: Any) -> int:
            nonlocal written
            written += 1
            if written > 2:
                raise OSError(28, "No space left on device")
            return len(memoryview(data)) if handle < 0 else real(handle, data)

        real = os.write
        monkeypatch.setattr("recolorist.io.files.os.write", full)
        with pytest.raises(OutputError, match="No space left"):
            batch.augment(folder, tmp_path / "out", bank)
        monkeypatch.undo()
        left = contents(tmp_path / "out")
        assert sum(name.endswith(".png") for name in left) == 2
        assert not [name for name in left if "part" in name]
        result = batch.augment(folder, tmp_path / "out", bank, resume=True)
        assert (len(result.records), result.failures) == (6, [])

    def test_records_that_are_not_ours(self, tmp_path: Path) -> None:
        target = Target(str(tmp_path))
        journal = Journal(target)
        journal.add(['{"source": "a", "output": "b", "sha256": "c"}'])
        journal.close(None)
        (tmp_path / "provenance.jsonl").write_bytes(b'{"x": 1}\n[1]\nnonsense\n\xff\n')
        assert [record["output"] for record in read_records(target)] == ["b"]


class TestMade:
    """Large files and folders, which a function writes."""

    def test_appear_under_their_name_when_they_are_whole(self, tmp_path: Path) -> None:
        def make(path: Path) -> None:
            assert not (tmp_path / "a" / "x.tif").exists()
            path.write_bytes(b"whole")

        Target(str(tmp_path)).place_made("a/x.tif", make)
        assert (tmp_path / "a" / "x.tif").read_bytes() == b"whole"

    def test_replace_only_by_force(self, tmp_path: Path) -> None:
        (tmp_path / "x.zarr").mkdir()
        (tmp_path / "x.zarr" / "old").write_bytes(b"old")

        def make(path: Path) -> None:
            path.mkdir()
            (path / "new").write_bytes(b"new")

        with pytest.raises(ImageError, match=r"x\.zarr exists in the target; pass force=True to replace it"):
            Target(str(tmp_path)).place_made("x.zarr", make)
        assert [path.name for path in (tmp_path / "x.zarr").iterdir()] == ["old"]
        Target(str(tmp_path), force=True).place_made("x.zarr", make)
        assert [path.name for path in (tmp_path / "x.zarr").iterdir()] == ["new"]
        assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"]

    def test_an_error_leaves_nothing(self, tmp_path: Path) -> None:
        def make(path: Path) -> None:
            path.write_bytes(b"half")
            raise ImageError("the file is damaged")

        with pytest.raises(ImageError, match="damaged"):
            Target(str(tmp_path)).place_made("x.tif", make)
        assert list(tmp_path.iterdir()) == []


class TestDigest:
    def test_is_that_of_the_content(self, tmp_path: Path) -> None:
        Target(str(tmp_path)).place("a/b.png", b"pixels")
        assert Target(str(tmp_path)).digest("a/b.png") == hashlib.sha256(b"pixels").hexdigest()

    def test_of_nothing_of_a_folder_and_of_a_link_there_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_bytes(b"x")
        (tmp_path / "link").symlink_to(tmp_path / "file")
        assert [Target(str(tmp_path)).digest(name) for name in ("none", "folder", "link")] == [None, None, None]


def test_what_a_kill_left_is_swept_away_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / f".x.png.1234{PART_SUFFIX}").write_bytes(b"half")
    (tmp_path / f".y.zarr.1234{PART_SUFFIX}").mkdir()
    (tmp_path / f".y.zarr.1234{PART_SUFFIX}" / "chunk").write_bytes(b"half")
    (tmp_path / "a" / "x.png").write_bytes(b"whole")
    (tmp_path / ".hidden").write_bytes(b"not ours")
    assert Target(str(tmp_path)).sweep() == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".hidden", "a", "x.png"]
    assert Target(str(tmp_path)).sweep() == 0


class TestWithoutOpenFolders:
    """Systems that cannot take paths relative to an open folder, such as Windows."""

    @pytest.fixture(autouse=True)
    def no_open_folders(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(target_module, "HAS_OPEN_FOLDERS", False)

    def test_files_appear_in_folders_that_are_made(self, tmp_path: Path) -> None:
        Target(str(tmp_path), force=False).place("a/b/c.txt", b"whole")
        assert contents(tmp_path) == {"a/b/c.txt": b"whole"}

    def test_a_link_that_leads_out_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "link").symlink_to(tmp_path / "out", target_is_directory=True)
        with pytest.raises(OutputError, match="leads out of the target folder; remove the link"):
            Target(str(tmp_path / "in"), force=False).place("link/c.txt", b"whole")
        assert not list((tmp_path / "out").iterdir())


def test_a_folder_that_cannot_be_made_is_an_error_of_the_output(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match=r"cannot be made: .*; choose another folder"):
        Target(str(tmp_path / "file" / "out"), force=False).prepare()


def test_a_folder_that_another_worker_makes_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = os.mkdir

    def make_twice(path: Any, *arguments: Any, **options: Any) -> None:
        make(path, *arguments, **options)
        make(path, *arguments, **options)  # as if the other one had been faster: raises FileExistsError

    monkeypatch.setattr(os, "mkdir", make_twice)
    Target(str(tmp_path), force=False).place("new/a.txt", b"whole")
    assert contents(tmp_path) == {"new/a.txt": b"whole"}


def test_more_folders_than_stay_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "_MOST_FOLDERS", 2)
    target = Target(str(tmp_path), force=False)
    for number in (0, 1, 2, 3, 0):
        target.place(f"{number}/a.txt", b"whole")
        assert len(target_module._folders) <= 2
    assert sorted(contents(tmp_path)) == [f"{number}/a.txt" for number in range(4)]


@pytest.mark.skipif(not HAS_OPEN_FOLDERS, reason="folders are opened by name there")
def test_a_folder_with_a_name_that_is_too_long_costs_its_own_image_only(tmp_path: Path) -> None:
    target = Target(str(tmp_path))
    with pytest.raises(ImageError, match="was not written: File name too long"):
        target.place(f"{'x' * 300}/a.png", b"1")
    target.place("b.png", b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["b.png"]
