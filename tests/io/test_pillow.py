"""Orientation, colour modes and what a format can hold."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageOps

from recolorist.errors import ImageError
from recolorist.io.pillow import encode_image, pixels_of, read_orientation, refuse_mode, turn_upright
from recolorist.io.reading import Reading
from tests.commands import picture
from tests.io.kit import Pixels, exif


class TestOrientation:
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_as_pillow_turns(self, orientation: int) -> None:
        image = Image.fromarray(picture())
        image.getexif()[0x0112] = orientation
        assert np.array_equal(turn_upright(picture(), orientation), np.asarray(ImageOps.exif_transpose(image)))

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_read_from_a_block(self, orientation: int) -> None:
        assert read_orientation(exif(orientation).tobytes()) == orientation

    @pytest.mark.parametrize("order", ["<", ">"])
    def test_either_byte_order(self, order: str) -> None:
        import struct

        start = b"II*\0" if order == "<" else b"MM\0*"
        entries = struct.pack(f"{order}IHHHIHHHHIHH", 8, 2, 0x0100, 3, 1, 9, 0, 0x0112, 3, 1, 8, 0)
        assert read_orientation(start + entries) == 8

    @pytest.mark.parametrize("block", [b"", b"II", b"MM\0*\xff\xff\xff\xff", b"Exif\0\0II*\0\x08\0\0\0\xff\xff", b"garbage" * 9])
    def test_damaged_blocks_say_upright(self, block: bytes) -> None:
        assert read_orientation(block) == 1

    @pytest.mark.parametrize("orientation", [0, 9, 65535])
    def test_numbers_without_a_meaning_change_nothing(self, orientation: int) -> None:
        assert read_orientation(exif(orientation).tobytes()) == 1
        assert np.array_equal(turn_upright(picture(), orientation), picture())

    def test_turned_arrays_are_contiguous(self) -> None:
        assert all(turn_upright(picture(), orientation).flags.c_contiguous for orientation in range(1, 9))


class TestModes:
    @pytest.mark.parametrize(("mode", "shape"), [("L", (37, 53)), ("RGB", (37, 53, 3)), ("RGBA", (37, 53, 4))])
    def test_accepted(self, mode: str, shape: tuple[int, ...]) -> None:
        image = Image.fromarray(picture()).convert(mode)
        assert pixels_of(image, Reading()).shape == shape
        assert np.array_equal(pixels_of(image, Reading()), np.asarray(image))

    @pytest.mark.parametrize(("mode", "target"), [("P", "RGB"), ("CMYK", "RGB"), ("1", "L"), ("LA", "L"), ("YCbCr", "RGB")])
    def test_converted_on_request(self, mode: str, target: str) -> None:
        image = Image.fromarray(picture()).convert(mode)
        assert np.array_equal(pixels_of(image, Reading(convert=True)), np.asarray(image.convert(target)))
        with pytest.raises(ImageError, match=rf"it has mode '{mode}'.*pass convert=True"):
            pixels_of(image, Reading())

    def test_never_converted(self) -> None:
        with pytest.raises(ImageError, match=r"it has mode 'HSV'.*convert it first"):
            refuse_mode("HSV", Reading(convert=True))


@pytest.mark.parametrize(
    ("pixels", "words"), [(np.zeros((3, 3, 4), np.uint8), "4 channel"), (np.zeros((3, 3), np.uint16), "uint16")]
)
def test_what_a_format_cannot_hold(pixels: Pixels, words: str) -> None:
    with pytest.raises(ImageError, match=rf"JPEG cannot hold .*{words}"):
        encode_image(pixels, "JPEG", (1, 3), ("uint8",))
