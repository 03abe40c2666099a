"""Which files of a folder are images."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recolorist.errors import ImageError
from recolorist.io.listing import Ignored, list_folder, list_images
from tests.commands import picture
from tests.io.kit import save


class TestListing:
    def test_links_out_are_not_followed(self, tmp_path: Path) -> None:
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        for folder in (inside / "deep", outside):
            folder.mkdir(parents=True)
        save(inside / "deep" / "a.png", picture())
        save(outside / "b.png", picture())
        (inside / "link.png").symlink_to(outside / "b.png")
        (inside / "own.png").symlink_to(inside / "deep" / "a.png")
        (inside / "folder").symlink_to(outside, target_is_directory=True)
        (inside / "loop.png").symlink_to(inside / "loop.png")
        (inside / "up").symlink_to(inside, target_is_directory=True)
        assert [path.relative_to(inside).as_posix() for path in list_images(inside)] == ["deep/a.png", "own.png"]
        assert list_folder(inside).ignored.links == ("folder", "link.png", "loop.png")
        followed = list_folder(inside, follow_links=True)
        assert followed.names == ["deep/a.png", "folder/b.png", "link.png", "own.png"]
        assert followed.ignored.links == ("loop.png",)

    def test_a_link_between_two_folders_is_no_endless_loop(self, tmp_path: Path) -> None:
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        inside.mkdir()
        outside.mkdir()
        save(outside / "b.png", picture())
        (inside / "there").symlink_to(outside, target_is_directory=True)
        (outside / "back").symlink_to(inside, target_is_directory=True)
        assert list_folder(inside, follow_links=True).names == ["there/b.png"]

    def test_hidden_and_other_files_are_passed_over(self, tmp_path: Path) -> None:
        for name in (".hidden.png", "notes.txt", "b.PNG", "a.jpeg"):
            (tmp_path / name).write_bytes(b"x")
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git" / "c.png").write_bytes(b"x")
        (tmp_path / "store.zarr").mkdir()
        (tmp_path / "store.zarr" / "d.png").write_bytes(b"x")
        assert [path.name for path in list_images(tmp_path)] == ["a.jpeg", "b.PNG", "store.zarr"]
        assert list_folder(tmp_path).ignored == Ignored({".txt": 1})

    def test_not_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="is not a folder"):
            list_images(tmp_path / "none")

    def test_a_folder_that_cannot_be_opened_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It ended in an error of the system."""
        (tmp_path / "locked").mkdir()
        scan = os.scandir

        def refuse(folder: str) -> object:
            if folder.endswith("locked"):
                raise PermissionError(13, "Permission denied", folder)
            return scan(folder)

        monkeypatch.setattr(os, "scandir", refuse)
        with pytest.raises(ImageError, match="locked cannot be opened: Permission denied"):
            list_folder(tmp_path)

    def test_sorted_folder_by_folder(self, tmp_path: Path) -> None:
        for name in ("b.png", "a-b/c.png", "a/z.png", "a/b/c.png", "a.png"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(b"x")
        assert list_folder(tmp_path).names == ["a/b/c.png", "a/z.png", "a-b/c.png", "a.png", "b.png"]
        assert (
            list_images(tmp_path)
            == [Path(tmp_path, name) for name in list_folder(tmp_path).names]
            == sorted(list_images(tmp_path))
        )

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
    def test_pipes_are_not_listed(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.png")
        assert list_images(tmp_path) == []


def test_what_was_passed_over_is_counted_and_named(tmp_path: Path) -> None:
    for name in ("a.txt", "deep/b.TXT", "deep/c.csv", "README"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    ignored = list_folder(tmp_path).ignored
    assert ignored.sentences() == [
        "4 files of other kinds were ignored: .txt 2, without a suffix 1, .csv 1",
        "1 link leads out of the folder or nowhere (gone.png) and was not followed; pass follow_links=True to read them",
    ]
    assert ignored.to_dict() == {"kinds": {".txt": 2, ".csv": 1, "": 1}, "links": ["gone.png"]}
    assert Ignored().sentences() == []
