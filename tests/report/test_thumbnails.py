"""Small pictures: any image becomes 8-bit RGB, reduced, alone or in a row."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from recolorist.report.thumbnails import data_uri, outline_losses, side_by_side, to_rgb


@pytest.mark.parametrize(
    ("pixels", "shown"),
    [
        (np.array([[[1, 2, 3]]], np.uint8), [1, 2, 3]),
        (np.array([[[1, 2, 3, 4]]], np.uint8), [1, 2, 3]),
        (np.array([[[7, 200]]], np.uint8), [7, 7, 7]),
        (np.array([[7]], np.uint8), [7, 7, 7]),
        (np.array([[[0, 32768, 65535]]], np.uint16), [0, 128, 255]),
        (np.array([[[0.0, 0.5, 1.0]]], np.float32), [0, 128, 255]),
        (np.array([[[-1.0, 2.0, np.nan]]], np.float64), [0, 255, 0]),
    ],
)
def test_any_image_becomes_eight_bit_rgb(pixels: NDArray[Any], shown: list[int]) -> None:
    picture = to_rgb(pixels)
    assert picture.dtype == np.uint8
    assert picture[0, 0].tolist() == shown


def test_a_declared_range_decides_what_is_white() -> None:
    assert to_rgb(np.array([[4095]], np.uint16), 4095.0)[0, 0].tolist() == [255, 255, 255]


def test_pictures_in_a_row_have_one_height_and_keep_their_shapes() -> None:
    small, large = np.full((20, 10, 3), 50, np.uint8), np.full((40, 80), 200, np.uint8)
    sheet = side_by_side([("small", small), ("large", large)])
    assert sheet.shape == (40 + 42, 20 + 80 + 3 * 12, 3)
    assert (sheet[30:70, 12:32] == 50).all()
    assert (sheet[30:70, 44:124] == 200).all()
    assert (sheet[:30] < 128).any()  # the names


def test_large_pictures_are_reduced() -> None:
    assert side_by_side([("a", np.zeros((2000, 1000, 3), np.uint8))]).shape == (512 + 42, 256 + 24, 3)


def test_an_address_holds_a_jpeg_within_the_side() -> None:
    address = data_uri(np.full((300, 200, 3), 90, np.uint8), 64)
    head, _, data = address.partition(",")
    assert head == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
        assert (picture.format, max(picture.size)) == ("JPEG", 64)
        assert np.abs(np.asarray(picture).astype(int) - 90).max() <= 2


class TestOutlines:
    """Patches that lost more than half of their detail."""

    LOST = (255, 0, 200)

    @pytest.mark.parametrize(("digit", "is_outlined"), [("0", False), ("4", False), ("5", True), ("9", True), (".", False)])
    def test_from_the_half_on(self, digit: str, is_outlined: bool) -> None:
        picture = Image.new("RGB", (20, 10))
        outline_losses(picture, ["0" + digit])
        assert (picture.getpixel((10, 0)) == self.LOST) is is_outlined
        assert picture.getpixel((0, 0)) == (0, 0, 0)

    def test_each_patch_has_its_own_place_and_no_pixel_outside_it_changes(self) -> None:
        picture = Image.new("RGB", (30, 20))
        outline_losses(picture, ["000", "090"])
        changed = np.argwhere(np.asarray(picture).any(axis=-1))
        assert changed.min(axis=0).tolist() == [10, 10]
        assert changed.max(axis=0).tolist() == [19, 19]
        assert picture.getpixel((15, 15)) == (0, 0, 0)  # an outline, not an area

    def test_patches_smaller_than_a_pixel_are_no_error(self) -> None:
        picture = Image.new("RGB", (2, 2))
        outline_losses(picture, ["9" * 7] * 5)
        assert np.asarray(picture).any()

    def test_without_a_map_the_picture_stays_as_it_is(self) -> None:
        picture = Image.new("RGB", (9, 9), "white")
        outline_losses(picture, [])
        assert (np.asarray(picture) == 255).all()


@pytest.mark.parametrize("shape", [(1, 3000, 3), (2, 400, 3), (4, 9000)])
def test_a_picture_much_wider_than_high_is_not_enlarged_to_the_height_of_the_others(shape: tuple[int, ...]) -> None:
    """A style of 2 x 200 pixels beside a content of 400 became a sheet of 40,000 pixels."""
    sheet = side_by_side([("style", np.full(shape, 9, np.uint8)), ("content", np.full((400, 400, 3), 200, np.uint8))])
    assert sheet.shape[0] == 400 + 42
    assert sheet.shape[1] <= 2048 + 400 + 3 * 12
    assert (sheet[30, 12:40] == 9).all()
    assert (sheet[30:430, -412:-12] == 200).all()


def test_a_picture_much_higher_than_wide_keeps_a_pixel_of_width() -> None:
    assert side_by_side([("a", np.zeros((5000, 1), np.uint8))]).shape == (512 + 42, 1 + 24, 3)


@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (700, 1, 3), (3, 3, 4)])
def test_an_address_of_any_shape_is_a_picture(shape: tuple[int, ...]) -> None:
    data = data_uri(np.full(shape, 30, np.uint8), 64).partition(",")[2]
    with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
        assert max(picture.size) == min(64, max(shape[:2]))
        assert min(picture.size) >= 1


def test_a_declared_range_reaches_the_address() -> None:
    pixels = np.full((4, 4), 100, np.uint16)
    bright, dark = (data_uri(pixels, 16, data_range) for data_range in (100.0, None))
    shown = [np.asarray(Image.open(io.BytesIO(base64.b64decode(text.partition(",")[2])))) for text in (bright, dark)]
    assert (int(shown[0].min()), int(shown[1].max())) == (255, 0)
