"""Which files of a folder are images."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recolorist.errors import ImageError
from recolorist.io.listing import list_images, list_names
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

    def test_hidden_and_other_files_are_passed_over(self, tmp_path: Path) -> None:
        for name in (".hidden.png", "notes.txt", "b.PNG", "a.jpeg"):
            (tmp_path / name).write_bytes(b"x")
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git" / "c.png").write_bytes(b"x")
        (tmp_path / "store.zarr").mkdir()
        (tmp_path / "store.zarr" / "d.png").write_bytes(b"x")
        assert [path.name for path in list_images(tmp_path)] == ["a.jpeg", "b.PNG", "store.zarr"]

    def test_not_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="is not a folder"):
            list_images(tmp_path / "none")

    def test_sorted_folder_by_folder(self, tmp_path: Path) -> None:
        for name in ("b.png", "a-b/c.png", "a/z.png", "a/b/c.png", "a.png"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(b"x")
        assert list_names(tmp_path) == ["a/b/c.png", "a/z.png", "a-b/c.png", "a.png", "b.png"]
        assert list_images(tmp_path) == [Path(tmp_path, name) for name in list_names(tmp_path)] == sorted(list_images(tmp_path))

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
    def test_pipes_are_not_listed(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.png")
        assert list_images(tmp_path) == []
