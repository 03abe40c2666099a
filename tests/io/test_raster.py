"""BMP, GIF, WebP and JPEG 2000: the pixels that were saved, upright and unscaled, or a sentence."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recolorist.errors import ImageError, RecoloristError
from recolorist.io.images import read_picture
from recolorist.io.raster import RASTER_FORMATS, read_raster
from recolorist.io.reading import HugeError, Reading
from tests.commands import picture
from tests.io.kit import drop_tile, exif, jpeg_2000, profile, save_bytes, sixteen

LOSSLESS: dict[str, dict[str, Any]] = {"BMP": {}, "WEBP": {"lossless": True, "exact": True}, "JPEG2000": {}}
RGBA = np.dstack([picture(), picture(1)[..., :1]])


def bitmap_with_alpha() -> bytes:
    """A 32-bit BMP whose header (V5) says where alpha is; Pillow does not write these."""
    height, width = RGBA.shape[:2]
    masks = struct.pack("<4I", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    info = struct.pack("<IiiHHIIiiII", 124, width, -height, 1, 32, 3, RGBA.size, 0, 0, 0, 0) + masks + b"BGRs" + bytes(64)
    body = np.ascontiguousarray(RGBA[..., [2, 1, 0, 3]]).tobytes()
    return b"BM" + struct.pack("<IHHI", 14 + len(info) + len(body), 0, 0, 14 + len(info)) + info + body


class TestPixels:
    @pytest.mark.parametrize("form", LOSSLESS)
    def test_colour(self, form: str) -> None:
        data = save_bytes(form, **LOSSLESS[form])
        assert np.array_equal(read_raster(data, form, Reading()).pixels, picture())

    @pytest.mark.parametrize(("form", "data"), [
        ("BMP", bitmap_with_alpha()),
        ("WEBP", save_bytes("WEBP", RGBA, **LOSSLESS["WEBP"])),
        ("JPEG2000", save_bytes("JPEG2000", RGBA)),
    ])  # fmt: skip
    def test_alpha(self, form: str, data: bytes) -> None:
        assert np.array_equal(read_raster(data, form, Reading()).pixels, RGBA)

    @pytest.mark.parametrize("form", ["BMP", "GIF", "JPEG2000"])
    def test_grey_stays_grey(self, form: str) -> None:
        grey = picture()[..., 0]
        assert np.array_equal(read_raster(save_bytes(form, grey), form, Reading()).pixels, grey)

    @pytest.mark.parametrize("orientation", [2, 3, 5, 6, 8])
    def test_webp_is_turned_upright(self, orientation: int) -> None:
        from PIL import ImageOps

        image = Image.fromarray(picture())
        image.getexif()[0x0112] = orientation
        upright = np.asarray(ImageOps.exif_transpose(image))
        data = save_bytes("WEBP", exif=exif(orientation), **LOSSLESS["WEBP"])
        assert np.array_equal(read_raster(data, "WEBP", Reading()).pixels, upright)

    def test_profiles_are_found(self) -> None:
        assert read_raster(save_bytes("WEBP", icc_profile=profile()), "WEBP", Reading()).icc == profile()


class TestGif:
    def test_the_first_frame_of_an_animation(self) -> None:
        frames = [Image.fromarray(picture(seed)).quantize() for seed in range(3)]
        buffer = io.BytesIO()
        frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
        assert np.array_equal(read_raster(buffer.getvalue(), "GIF", Reading()).pixels, np.asarray(frames[0].convert("RGB")))

    def test_transparency_becomes_alpha(self) -> None:
        buffer = io.BytesIO()
        Image.fromarray(picture()).quantize(colors=8).save(buffer, "GIF", transparency=3)
        pixels = read_raster(buffer.getvalue(), "GIF", Reading()).pixels
        assert pixels.shape[-1] == 4
        assert set(np.unique(pixels[..., 3])) == {0, 255}


class TestRefused:
    def test_a_gif_whose_frame_is_smaller_than_its_screen(self) -> None:
        data = bytearray(save_bytes("GIF"))
        data[6:10] = struct.pack("<HH", 300, 200)
        with pytest.raises(ImageError, match="first frame does not cover its 300 x 200 pixels"):
            read_raster(bytes(data), "GIF", Reading())

    def test_a_bitmap_of_run_lengths(self) -> None:
        """Two pixels are skipped in its first row, and its second row ends early."""
        body = bytes([2, 100, 0, 2, 2, 0, 0, 0, 1, 100, 0, 0, 4, 100, 0, 1])
        palette = b"".join(bytes([level, level, level, 0]) for level in range(256))
        head = struct.pack("<IiiHHIIiiII", 40, 4, 3, 1, 8, 1, len(body), 0, 0, 256, 0)
        data = b"BM" + struct.pack("<IHHI", 1078 + len(body), 0, 0, 1078) + head + palette + body
        with pytest.raises(ImageError, match="may leave pixels out"):
            read_raster(data, "BMP", Reading(convert=True))

    @pytest.mark.parametrize("tile", [0, 5, 11])
    @pytest.mark.parametrize("is_deep", [False, True])
    def test_a_jpeg_2000_without_one_of_its_tiles(self, tile: int, is_deep: bool) -> None:
        data = jpeg_2000(sixteen()[..., 0] if is_deep else picture(), tile_size=(8, 8) if is_deep else (16, 16))
        assert read_raster(data, "JPEG2000", Reading()).pixels.size
        with pytest.raises(ImageError, match="holds 11 tiles, and 12 would cover it"):
            read_raster(drop_tile(data, tile), "JPEG2000", Reading())

    def test_palettes_and_single_bits_need_leave(self) -> None:
        image = Image.fromarray(picture())
        for mode, depth in (("P", 3), ("1", None)):
            buffer = io.BytesIO()
            image.convert(mode).save(buffer, "BMP")
            with pytest.raises(ImageError, match="convert"):
                read_raster(buffer.getvalue(), "BMP", Reading())
            pixels = read_raster(buffer.getvalue(), "BMP", Reading(convert=True)).pixels
            assert pixels.shape == (picture().shape[:2] if depth is None else picture().shape)

    def test_animated_webp(self) -> None:
        frames = [Image.fromarray(picture(seed)) for seed in range(2)]
        buffer = io.BytesIO()
        frames[0].save(buffer, "WEBP", save_all=True, append_images=frames[1:])
        with pytest.raises(ImageError, match="animated WebP; save the one frame you mean"):
            read_raster(buffer.getvalue(), "WEBP", Reading())

    @pytest.mark.parametrize("form", RASTER_FORMATS)
    def test_files_that_are_cut_off(self, form: str, tmp_path: Path) -> None:
        data = save_bytes(form)
        for length in (len(data) * 2 // 3, 22, 13):
            (tmp_path / f"a.{form}").write_bytes(data[:length])
            with pytest.raises(RecoloristError, match=r"a\."):
                read_picture(tmp_path / f"a.{form}")

    @pytest.mark.parametrize("form", RASTER_FORMATS)
    def test_the_limit_comes_before_decoding(self, form: str) -> None:
        with pytest.raises(HugeError, match="1,961 pixels, over the limit of 100"):
            read_raster(save_bytes(form), form, Reading(max_pixels=100))

    def test_a_webp_that_declares_a_huge_canvas_reserves_nothing(self) -> None:
        data = save_bytes("WEBP", RGBA)
        assert data[12:16] == b"VP8X"
        huge = data[:24] + (b"\xff\xff\x00" * 2) + data[30:]
        with pytest.raises(HugeError, match="4,294,967,296 pixels"):
            read_raster(huge, "WEBP", Reading())

    def test_a_lossless_webp_says_its_size_in_another_place(self) -> None:
        data = save_bytes("WEBP", lossless=True)
        assert data[12:16] == b"VP8L"
        with pytest.raises(HugeError, match="1,961 pixels"):
            read_raster(data, "WEBP", Reading(max_pixels=100))


class TestDeepJpeg2000:
    def encode(self, pixels: Any, **options: Any) -> bytes:
        imagecodecs = pytest.importorskip("imagecodecs")
        return bytes(imagecodecs.jpeg2k_encode(pixels, level=0, reversible=True, codecformat="jp2", **options))

    @pytest.mark.parametrize("depth", [None, 3, 4])
    def test_sixteen_bits_are_kept(self, depth: int | None) -> None:
        shape = (31, 23) if depth is None else (31, 23, depth)
        pixels = np.random.default_rng(0).integers(0, 65536, shape).astype(np.uint16)
        read = read_raster(self.encode(pixels), "JPEG2000", Reading())
        assert np.array_equal(read.pixels, pixels)
        assert read.data_range is None

    def test_twelve_bits_are_not_scaled_and_declare_their_range(self) -> None:
        pixels = np.random.default_rng(0).integers(0, 4096, (31, 23, 3)).astype(np.uint16)
        read = read_raster(self.encode(pixels, bitspersample=12), "JPEG2000", Reading())
        assert np.array_equal(read.pixels, pixels)
        assert read.data_range == 4095.0

    def test_two_components(self) -> None:
        pixels = np.zeros((31, 23, 2), np.uint16)
        with pytest.raises(ImageError, match="only grey, RGB and RGBA with equal components"):
            read_raster(self.encode(pixels), "JPEG2000", Reading())

    def test_signed(self) -> None:
        data = bytearray(save_bytes("JPEG2000"))
        place = data.find(b"\xff\x4f\xff\x51") + 4 + 38
        assert data[place] == 7
        data[place] |= 0x80
        with pytest.raises(ImageError, match="signed"):
            read_raster(bytes(data), "JPEG2000", Reading())
