"""Headers of compressed images: what they declare is what Pillow finds, and damaged ones declare nothing."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from recolorist.errors import ImageError
from recolorist.io.frames import codestream_of, frame_size, refuse_long_runs, refuse_missing_tiles, refuse_other_bits, webp_header
from tests.commands import picture
from tests.io.kit import drop_tile, jpeg_2000, save_bytes, sixteen


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True, "comment": b"\xff\xc0" * 40}),
        ("PNG", {}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"icc_profile": b"x" * 200}),
        ("JPEG2000", {}),
        ("JPEG2000", {"no_jp2": True, "offset": (3, 5), "tile_offset": (2, 1), "tile_size": (16, 16)}),
    ],
    ids=str,
)
def test_the_size_of_every_kind(form: str, options: dict[str, Any]) -> None:
    width, height = picture().shape[1], picture().shape[0]
    assert frame_size(save_bytes(form, **options)) == (width, height)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "JPEG2000"])
def test_a_header_that_is_cut_declares_nothing(form: str) -> None:
    data = save_bytes(form)
    sizes = {frame_size(data[:length]) for length in range(len(data))}
    assert sizes == {None, (53, 37)}
    assert frame_size(b"\xff\xd8" + data) is None


def test_padding_before_a_marker() -> None:
    data = save_bytes("JPEG")
    assert frame_size(data[:2] + b"\xff" * 7 + data[2:]) == (53, 37)


def test_what_a_codestream_declares() -> None:
    header = codestream_of(jpeg_2000(sixteen()[..., 0], tile_size=(8, 16)))
    assert (header.size, header.bits, header.is_signed, header.is_subsampled) == ((23, 31), (16,), False, False)
    assert header.tiles == 3 * 2


@pytest.mark.parametrize("place", [18, 22])  # width and height of a tile
def test_tiles_without_a_size(place: int) -> None:
    data = bytearray(jpeg_2000(picture()))
    struct.pack_into(">I", data, 4 + place + 2, 0)
    with pytest.raises(ImageError, match="no tiles that cover it"):
        codestream_of(bytes(data))


def test_missing_tiles() -> None:
    data = jpeg_2000(picture(), tile_size=(16, 16))
    refuse_missing_tiles(data, codestream_of(data))
    for tile in range(12):
        with pytest.raises(ImageError, match="holds 11 tiles, and 12 would cover it"):
            refuse_missing_tiles(drop_tile(data, tile), codestream_of(data))


def test_a_part_that_goes_on_to_the_end() -> None:
    data = bytearray(jpeg_2000(picture()))
    struct.pack_into(">I", data, data.index(b"\xff\x90") + 6, 0)
    refuse_missing_tiles(bytes(data), codestream_of(bytes(data)))


def test_other_bits() -> None:
    refuse_other_bits(jpeg_2000(picture()), 8)
    with pytest.raises(ImageError, match="declares 12 bits, and the JPEG 2000 frame in it has components of 8 bits"):
        refuse_other_bits(jpeg_2000(picture()), 12)


def test_an_animated_webp() -> None:
    body = b"VP8X" + struct.pack("<I", 10) + bytes([2, 0, 0, 0]) + (52).to_bytes(3, "little") + (36).to_bytes(3, "little")
    assert webp_header(b"RIFF" + bytes(4) + b"WEBP" + body) == (53, 37, True)


def runs(plane: bytes, planes: int = 1) -> bytes:
    """A DICOM frame of run lengths."""
    starts = [64 + number * len(plane) for number in range(planes)]
    return struct.pack("<16I", planes, *starts, *[0] * (15 - planes)) + plane * planes


class TestLongRuns:
    def test_what_fits_is_accepted(self) -> None:
        refuse_long_runs(runs(b"\x81\0" * 50, 3), 50 * 128)
        refuse_long_runs(runs(b"\x81\0" * (1 << 19)), 64 << 20)  # as long as its pixels

    def test_large_frames_are_counted(self) -> None:
        """Literal bytes, which do not unpack to more than they are, although as many bytes of runs would."""
        refuse_long_runs(runs((b"\x7f" + bytes(128)) * 10_000), 1_280_000)

    def test_more_than_the_pixels(self) -> None:
        with pytest.raises(ImageError, match="run lengths unpack to over 67,108,964 bytes for 100 pixels; it is damaged"):
            refuse_long_runs(runs(b"\x81\0" * ((1 << 19) + 2), 2), 100)

    def test_a_header_that_is_cut_off(self) -> None:
        with pytest.raises(ImageError, match="header of its run lengths is cut off"):
            refuse_long_runs(bytes(63), 100)
