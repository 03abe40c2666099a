"""JPEG: plain files are decoded to the pixels that Pillow's file object gives, and other files by that object."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from recolorist.errors import ImageError
from recolorist.io import jpeg as module
from recolorist.io.images import HugeError, Reading
from recolorist.io.jpeg import plain_size, read_jpeg
from recolorist.io.write import encode
from tests.commands import picture


def jpeg(pixels: NDArray[Any] | None = None, **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture() if pixels is None else pixels).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def exif(orientation: int) -> Image.Exif:
    block = Image.Exif()
    block[0x0112] = orientation
    return block


class TestPlainFiles:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"subsampling": 0},
            {"subsampling": 2},
            {"progressive": True},
            {"optimize": True},
            {"comment": b"x" * 300},
            {"restart_marker_rows": 1},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("size", [(37, 53), (1, 1), (8, 64), (64, 8)])
    def test_equal_to_the_file_object(self, options: dict[str, Any], size: tuple[int, int]) -> None:
        data = jpeg(picture(size=size), **options)
        pixels = read_jpeg(data, Reading()).pixels
        assert plain_size(data) == size[::-1]
        assert (pixels.shape, pixels.dtype.name, pixels.flags.c_contiguous) == ((*size, 3), "uint8", True)
        assert np.array_equal(pixels, np.asarray(JpegImageFile(io.BytesIO(data))))

    def test_pixels_outlive_the_image(self) -> None:
        files = [encode(picture(seed), ".jpg") for seed in range(20)]
        kept = [read_jpeg(data, Reading()).pixels for data in files]
        for data, pixels in zip(files, kept, strict=True):
            assert np.array_equal(pixels, np.asarray(JpegImageFile(io.BytesIO(data))))

    def test_the_limit_holds(self) -> None:
        with pytest.raises(HugeError, match="declares 1,961 pixels"):
            read_jpeg(encode(picture(), ".jpg"), Reading(max_pixels=1960))


class TestOtherFiles:
    def test_grey(self) -> None:
        data = jpeg(picture()[..., 0])
        assert plain_size(data) is None
        assert np.array_equal(read_jpeg(data, Reading()).pixels, np.asarray(JpegImageFile(io.BytesIO(data))))

    def test_orientation_is_applied(self) -> None:
        data = jpeg(exif=exif(6))
        assert plain_size(data) is None
        upright = np.rot90(np.asarray(JpegImageFile(io.BytesIO(data))), -1)
        assert np.array_equal(read_jpeg(data, Reading()).pixels, upright)

    def test_profile_is_returned(self) -> None:
        data = jpeg(icc_profile=b"p" * 200)
        assert plain_size(data) is None
        assert read_jpeg(data, Reading()).icc == b"p" * 200

    @pytest.mark.parametrize("data", [b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n" + bytes(50), jpeg()[:20]])
    def test_not_a_whole_header(self, data: bytes) -> None:
        assert plain_size(data) is None


def test_damaged_files_give_the_same_pixels_or_the_same_message(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.frombuffer(encode(picture(), ".jpg"), np.uint8)
    rng = np.random.default_rng(5)
    for _ in range(150):
        bad = whole.copy()
        places = rng.integers(0, len(bad), 3)
        bad[places] = rng.integers(0, 256, 3)
        data = bad.tobytes()[: len(bad) - int(rng.integers(0, 3)) * 40]
        fast = outcome(data)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_read_plain", lambda *_: None)
            assert outcome(data) == fast


def outcome(data: bytes) -> tuple[str, bytes]:
    """The shape and pixels that come out, or the error and its message."""
    try:
        pixels = read_jpeg(data, Reading(max_pixels=10**6)).pixels
    except Exception as error:  # noqa: BLE001 - decoders raise anything
        return f"{type(error).__name__}: {error}", b""
    return str(pixels.shape), pixels.tobytes()


class TestMissingRows:
    """A file that declares more rows than its data hold is not filled with grey."""

    @pytest.mark.parametrize("subsampling", [0, 2])
    @pytest.mark.parametrize("mode", ["RGB", "L"])
    @pytest.mark.parametrize("restart", [0, 5])
    def test_more_rows_than_data(self, subsampling: int, mode: str, restart: int) -> None:
        buffer = io.BytesIO()
        options = {"subsampling": subsampling} if mode == "RGB" else {}
        Image.fromarray(picture()).convert(mode).save(buffer, "JPEG", restart_marker_blocks=restart, **options)
        data = bytearray(buffer.getvalue())
        struct.pack_into(">H", data, data.index(b"\xff\xc0") + 5, 400)
        with pytest.raises(ImageError, match="end before its last row"):
            read_jpeg(bytes(data), Reading())

    @pytest.mark.parametrize("level", [127, 128, 129])
    @pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"restart_marker_blocks": 3}], ids=str)
    def test_grey_images_are_no_damage(self, level: int, options: dict[str, Any]) -> None:
        pixels = picture()
        pixels[20:] = level
        for image in (Image.fromarray(pixels), Image.new("RGB", (53, 37), (level,) * 3), Image.new("L", (8, 8), level)):
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", **options)
            buffer.seek(0)
            assert np.array_equal(read_jpeg(buffer.getvalue(), Reading()).pixels, np.asarray(Image.open(buffer)))
