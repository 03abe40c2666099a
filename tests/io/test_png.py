"""PNG: every depth comes back as it was written, and other modes are refused or converted."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from recolorist.errors import ImageError
from recolorist.io.images import HugeError, Reading, read_image
from recolorist.io.png import encode_png, read_png
from recolorist.optional import MissingExtraError
from tests.commands import picture
from tests.io.kit import SECRETS, exif, profile, save_bytes, sixteen

CONVERT = Reading(convert=True)


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def stored_png(grey: Any, rows: int, bits: int) -> bytes:
    """A grey PNG that declares all rows and holds the first of them."""
    lines = grey[:rows].astype(f">u{bits // 8}")
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], bits, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + line.tobytes() for line in lines)))
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")


class TestDepths:
    @pytest.mark.parametrize("depth", [1, 3, 4])
    @pytest.mark.parametrize("bits", [8, 16])
    def test_what_is_written_is_read(self, depth: int, bits: int) -> None:
        if bits == 16 and depth > 1:
            pytest.importorskip("imagecodecs")
        pixels = sixteen(depth=depth) if bits == 16 else (sixteen(depth=depth) >> 8).astype(np.uint8)
        pixels = pixels[..., 0] if depth == 1 else pixels
        read = read_png(encode_png(pixels), Reading()).pixels
        assert read.dtype == pixels.dtype
        assert np.array_equal(read, pixels)

    def test_sixteen_bits_equal_another_reader(self) -> None:
        cv2 = pytest.importorskip("cv2")
        pytest.importorskip("imagecodecs")
        decoded = cv2.imdecode(np.frombuffer(encode_png(sixteen()), np.uint8), cv2.IMREAD_UNCHANGED)
        assert np.array_equal(decoded[..., ::-1], sixteen())
        _, data = cv2.imencode(".png", np.ascontiguousarray(sixteen()[..., ::-1]))
        assert np.array_equal(read_png(data.tobytes(), Reading()).pixels, sixteen())

    def test_almost_black_sixteen_bits_stay_sixteen_bits(self) -> None:
        pytest.importorskip("imagecodecs")
        read = read_png(encode_png(sixteen() >> 12), Reading()).pixels
        assert (read.dtype.name, int(read.max())) == ("uint16", 15)

    def test_declared_bits(self) -> None:
        data = encode_png(sixteen()[..., 0] >> 4)
        assert read_png(data, Reading(bits=12)).data_range == 4095.0
        assert read_png(data, Reading()).data_range is None
        assert read_png(encode_png(picture()), Reading(bits=12)).data_range is None

    def test_big_endian_arrays(self) -> None:
        pytest.importorskip("imagecodecs")
        pixels = sixteen()
        assert encode_png(pixels.astype(">u2")) == encode_png(pixels)

    @pytest.mark.parametrize(
        "pixels", [np.zeros((3, 3, 5), np.uint16), np.zeros((3, 3, 2), np.uint8), np.zeros((3, 3), np.float32)]
    )
    def test_what_png_cannot_hold(self, pixels: Any) -> None:
        with pytest.raises(ImageError, match=r"PNG cannot hold .* write a \.tif or \.npy instead"):
            encode_png(pixels)

    @pytest.mark.parametrize("write", [True, False])
    def test_sixteen_bit_colour_without_imagecodecs(self, monkeypatch: pytest.MonkeyPatch, write: bool) -> None:
        pytest.importorskip("imagecodecs")
        data = encode_png(sixteen())

        def missing(name: str) -> Any:
            raise ImportError(f"No module named {name!r}")

        monkeypatch.setattr("importlib.import_module", missing)
        with pytest.raises(MissingExtraError, match=r"imagecodecs is needed to .* PNG files with 16-bit colour.*pip install"):
            encode_png(sixteen()) if write else read_png(data, Reading())

    def test_grey_of_sixteen_bits_needs_no_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recolorist.optional.load", lambda *_: pytest.fail("an extra was asked for"))
        grey = sixteen()[..., 0]
        assert np.array_equal(read_png(encode_png(grey), Reading()).pixels, grey)


class TestModes:
    @pytest.mark.parametrize(("mode", "dimensions"), [("P", 3), ("1", 2), ("LA", 2)])
    def test_refused_unless_conversion_is_asked_for(self, mode: str, dimensions: int) -> None:
        buffer = io.BytesIO()
        Image.fromarray(picture()).convert(mode).save(buffer, "PNG")
        with pytest.raises(ImageError, match=r"it has mode .*pass convert=True"):
            read_png(buffer.getvalue(), Reading())
        assert read_png(buffer.getvalue(), CONVERT).pixels.ndim == dimensions

    def test_a_palette_becomes_its_colours(self) -> None:
        buffer = io.BytesIO()
        image = Image.fromarray(picture()).quantize(16)
        image.save(buffer, "PNG")
        assert np.array_equal(read_png(buffer.getvalue(), CONVERT).pixels, np.asarray(image.convert("RGB")))

    def test_sixteen_bit_grey_with_alpha(self) -> None:
        cells = b"".join(b"\0" + row.astype(">u2").tobytes() for row in sixteen(depth=2))
        head = struct.pack(">IIBBBBB", 23, 31, 16, 4, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(cells)) + chunk(b"IEND", b"")
        with pytest.raises(ImageError, match="16-bit PNG of grey with alpha"):
            read_png(data, Reading())


class TestHeaders:
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_orientation_is_applied(self, orientation: int) -> None:
        from PIL import ImageOps

        data = save_bytes("PNG", exif=exif(orientation))
        with Image.open(io.BytesIO(data)) as image:
            assert np.array_equal(read_png(data, Reading()).pixels, np.asarray(ImageOps.exif_transpose(image)))

    @pytest.mark.parametrize("wide", [False, True], ids=["8 bits", "16 bits"])
    def test_a_profile_is_read_and_written_on_request(self, wide: bool) -> None:
        if wide:
            pytest.importorskip("imagecodecs")
        pixels = sixteen() if wide else picture()
        assert read_png(encode_png(pixels), Reading()).icc is None
        found = read_png(encode_png(pixels, profile()), Reading())
        assert found.icc == profile()
        assert np.array_equal(found.pixels, pixels)

    def test_text_is_not_written(self) -> None:
        text = PngInfo()
        text.add_text("Author", "Jane Q. Patient")
        text.add_itxt("Comment", "SECRETCOMMENT")
        source = save_bytes("PNG", pnginfo=text)
        assert b"Jane Q. Patient" in source  # or the test would show nothing
        written = encode_png(read_png(source, Reading()).pixels)
        assert not [secret for secret in SECRETS if secret in written]


class TestDamage:
    def test_a_huge_header_is_refused_before_decoding(self) -> None:
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0))
        data = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 20)) + chunk(b"IEND", b"")
        with pytest.raises(HugeError, match=r"declares 2,500,000,000 pixels, over the limit of 89,478,485"):
            read_png(data, Reading())

    def test_cut_off(self) -> None:
        with pytest.raises(ImageError, match="its end is missing"):
            read_png(encode_png(picture())[:-12], Reading())

    def test_bytes_after_the_end_are_no_damage(self) -> None:
        data = encode_png(picture()) + b"\0" * 100
        assert np.array_equal(read_png(data, Reading()).pixels, picture())

    def test_a_wrong_checksum(self, tmp_path: Path) -> None:
        data = bytearray(encode_png(picture()))
        data[60] ^= 0xFF
        (tmp_path / "a.png").write_bytes(bytes(data))
        with pytest.raises(ImageError, match=r"a\.png cannot be read as PNG"):
            read_image(tmp_path / "a.png")

    @pytest.mark.parametrize("bits", [8, 16])
    @pytest.mark.parametrize("rows", [1, 20, 36])
    def test_fewer_rows_than_declared(self, bits: int, rows: int) -> None:
        """Pillow leaves the rest black."""
        data = stored_png(np.full((37, 53), 200, "u1"), rows, bits)
        with pytest.raises(ImageError, match="bytes of rows, and"):
            read_png(data, Reading())

    def test_black_corners_are_no_damage(self) -> None:
        black = np.zeros((37, 53), "u1")
        for bits in (8, 16):
            assert not read_png(stored_png(black, 37, bits), Reading()).pixels.any()
        pixels = picture()
        pixels[-1] = 0
        for mode in ("RGB", "RGBA", "L"):
            image = Image.fromarray(pixels).convert(mode)
            buffer = io.BytesIO()
            image.save(buffer, "PNG")
            assert np.array_equal(read_png(buffer.getvalue(), Reading()).pixels, np.asarray(image))

    @pytest.mark.parametrize("size", [(1, 1), (3, 2), (8, 8), (53, 37)])
    def test_interlaced(self, size: tuple[int, int]) -> None:
        """One value throughout: the passes differ in nothing but their sizes."""
        width, height = size
        steps = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
        passes = [np.ones((height, width))[top::down, left::across].shape for left, top, across, down in steps]
        raw = b"".join(b"\0" + bytes([9] * columns) for rows, columns in passes if columns for _ in range(rows))
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 1))
        last = 1 + next(columns for rows, columns in reversed(passes) if rows and columns)
        for missing in (0, last) if last < len(raw) else (0,):  # of no rows at all Pillow itself says so
            body = chunk(b"IDAT", zlib.compress(raw[: len(raw) - missing]))
            data = b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")
            if missing:
                with pytest.raises(ImageError, match=f"holds {len(raw) - last:,} bytes of rows, and {len(raw):,} would cover it"):
                    read_png(data, Reading())
            else:
                assert (read_png(data, Reading()).pixels == 9).all()
