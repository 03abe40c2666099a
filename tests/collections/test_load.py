"""One item in memory or in strips, its digest, and the name of its output."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from recolorist.collections.items import Item
from recolorist.collections.load import load, name_of, rule_mask, source_digest
from recolorist.core import image as check
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import HugeError, Reading
from tests.commands import picture


def item(path: Path) -> Item:
    return Item(path.name, str(path))


@pytest.fixture
def png(tmp_path: Path) -> Path:
    path = tmp_path / "a.png"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(picture()).save(path, icc_profile=profile)
    return path


@pytest.fixture
def tiled(tmp_path: Path) -> Path:
    path = tmp_path / "t.tif"
    tifffile.imwrite(path, picture(), photometric="rgb", tile=(16, 16))
    return path


class TestLoad:
    def test_a_file_is_decoded_with_its_profile(self, png: Path) -> None:
        loaded = load(item(png), Reading())
        assert loaded.pixels is not None
        assert np.array_equal(loaded.pixels, picture())
        assert (loaded.form, loaded.digest, loaded.strips) == ("PNG", "", None)
        assert loaded.icc

    def test_the_digest_is_that_of_the_file_if_asked_for(self, png: Path, tiled: Path) -> None:
        for path, reading in ((png, Reading()), (tiled, Reading()), (tiled, Reading(max_pixels=300))):
            expected = hashlib.sha256(path.read_bytes()).hexdigest()
            loaded = load(item(path), reading, digest=True)
            if loaded.strips is not None:
                loaded.strips.__exit__(None, None, None)
            assert loaded.digest == source_digest(item(path), reading) == expected

    def test_a_large_file_that_can_be_read_by_rows_is_not_decoded(self, tiled: Path) -> None:
        loaded = load(item(tiled), Reading(max_pixels=300))
        assert loaded.pixels is None
        assert loaded.strips is not None
        with loaded.strips as source:
            assert source.shape == (37, 53, 3)

    def test_a_large_file_of_another_format_is_refused(self, png: Path) -> None:
        with pytest.raises(HugeError):
            load(item(png), Reading(max_pixels=300))

    def test_an_item_of_a_stack_is_its_pixels(self, tmp_path: Path) -> None:
        stack = np.stack([picture(i) for i in range(3)])
        np.save(tmp_path / "s.npy", stack)
        second = Item("1", str(tmp_path / "s.npy"), index=1)
        loaded = load(second, Reading(), digest=True)
        assert loaded.pixels is not None
        assert np.array_equal(loaded.pixels, stack[1])
        assert loaded.digest == source_digest(second, Reading()) == hashlib.sha256(stack[1].tobytes()).hexdigest()

    def test_declared_bits_are_the_range_of_the_pixels(self, tmp_path: Path) -> None:
        np.save(tmp_path / "w.npy", picture().astype(np.uint16) * 16)
        assert load(item(tmp_path / "w.npy"), Reading(bits=12)).opened.data_range == 4095
        assert load(item(tmp_path / "w.npy"), Reading()).opened.data_range == 65535

    @pytest.mark.parametrize("content", [b"", b"nothing", b"\x89PNG\r\n\x1a\n"])
    def test_what_is_no_image_is_refused_by_name(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "x.png").write_bytes(content)
        with pytest.raises(ImageError, match=r"x\.png"):
            load(item(tmp_path / "x.png"), Reading())


def test_the_digest_of_a_folder_follows_its_files(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    store = zarr.open_array(str(tmp_path / "a.zarr"), mode="w", shape=(37, 53, 3), chunks=(16, 16, 3), dtype="uint8")
    store[:] = picture()
    digests = [source_digest(item(tmp_path / "a.zarr"), Reading()) for _ in range(2)]
    store[30, 50, 0] = 255 - picture()[30, 50, 0]
    assert digests[0] == digests[1] != source_digest(item(tmp_path / "a.zarr"), Reading())


@pytest.mark.parametrize(
    ("given", "copy", "expected"),
    [
        (Item("a/x.png", ""), None, "a/x.png"),
        (Item("a/x.JPG", ""), 3, "a/x_3.JPG"),
        (Item("x.dcm", ""), 1, "x_1.png"),
        (Item("a.b/x.y.png", ""), 1, "a.b/x.y_1.png"),
        (Item("12", "", index=12), 2, "000012_2.png"),
    ],
)
def test_an_output_keeps_its_folder_and_gets_a_suffix_that_can_be_written(given: Item, copy: int | None, expected: str) -> None:
    assert name_of(given, copy) == expected


def test_masks_by_rule() -> None:
    pixels = picture()
    pixels[:, :20] = 255  # glass
    opened = check.open_image(pixels)
    assert rule_mask(opened, None) is None
    mask = rule_mask(opened, "tissue")
    assert mask is not None
    assert mask.shape == (37, 53)
    assert not mask[:, :20].any()
    with pytest.raises(OptionError, match="mask='liver'"):
        rule_mask(opened, "liver")
