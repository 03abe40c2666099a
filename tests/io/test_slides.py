"""Whole slides through OpenSlide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recolorist.errors import ImageError
from recolorist.io.images import Reading, open_strips, read_image, read_picture
from tests.commands import picture
from tests.io.kit import save_tiff

pytest.importorskip("openslide")


def save_slide(path: Path, size: tuple[int, int] = (300, 500)) -> Path:
    """A generic tiled TIFF, which OpenSlide reads as a slide of one level."""
    return save_tiff(path, picture(0, size), tile=(64, 64), compression="zlib", photometric="rgb")


def test_whole(tmp_path: Path) -> None:
    assert np.array_equal(read_image(save_slide(tmp_path / "a.svs")), picture(0, (300, 500)))


def test_rows(tmp_path: Path) -> None:
    with open_strips(save_slide(tmp_path / "a.svs"), Reading()) as strips:
        assert (strips.shape, strips.dtype.name, strips.packed) == ((300, 500, 3), "uint8", True)
        assert np.array_equal(strips.rows(111, 222), picture(0, (300, 500))[111:222])


def test_wider_than_what_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recolorist.io.slides._COLUMNS", 128)
    assert np.array_equal(read_image(save_slide(tmp_path / "a.svs")), picture(0, (300, 500)))


def test_a_level_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"it has 1 level\(s\), and level 3 was asked for"):
        read_picture(save_slide(tmp_path / "a.svs"), Reading(level=3))


def test_not_a_slide(tmp_path: Path) -> None:
    (tmp_path / "a.svs").write_bytes(b"nothing of the kind")
    with pytest.raises(ImageError, match="OpenSlide cannot read it"):
        read_image(tmp_path / "a.svs")
