"""Images and files that the tests of io share."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.commands import picture

Pixels = NDArray[Any]
SECRETS = (b"Jane Q. Patient", b"GPSMARK", b"SECRETCOMMENT")


def sixteen(seed: int = 0, depth: int = 3) -> NDArray[np.uint16]:
    """Noise over all 16 bits, not square."""
    return np.random.default_rng(seed).integers(0, 65536, (31, 23, depth)).astype(np.uint16)


def save(path: Path, pixels: Pixels, **options: Any) -> Path:
    """Save pixels through Pillow."""
    Image.fromarray(pixels).save(path, **options)
    return path


def save_bytes(form: str, pixels: Pixels | None = None, **options: Any) -> bytes:
    """Encode pixels through Pillow."""
    buffer = io.BytesIO()
    Image.fromarray(picture() if pixels is None else pixels).save(buffer, form, **options)
    return buffer.getvalue()


def save_tiff(path: Path, pixels: Pixels, **options: Any) -> Path:
    """Save pixels through tifffile."""
    import tifffile

    if options.get("compression") not in (None, "zlib"):
        pytest.importorskip("imagecodecs")
    tifffile.imwrite(path, pixels, **options)
    return path


def exif(orientation: int) -> Image.Exif:
    """An EXIF block with an orientation."""
    block = Image.Exif()
    block[0x0112] = orientation
    return block


def profile() -> bytes:
    """A real colour profile."""
    from PIL import ImageCms

    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def bare_tiff(data: bytes, size: tuple[int, int], bits: int, samples: int = 1, **tags: int) -> bytes:
    """A TIFF with one strip of these bytes, ``size`` wide and high; ``tags`` are ``t262=0`` and the like."""
    entries = {256: size[0], 257: size[1], 258: bits, 259: 1, 262: 1 if samples == 1 else 2, 266: 1, 277: samples, 278: size[1]}
    entries |= {279: len(data)} | {int(name[1:]): value for name, value in tags.items()}
    start = 8 + 2 + 12 * (len(entries) + 1) + 4
    entries[273] = start + 2 * samples
    body = struct.pack("<H", len(entries))
    for tag, value in sorted(entries.items()):
        many = tag == 258 and samples > 2  # too long for its place in the directory
        body += struct.pack("<HHII", tag, 3 if many else 4, samples if many else 1, start if many else value)
    return b"II*\0" + struct.pack("<I", 8) + body + bytes(4) + struct.pack("<H", bits) * samples + data


def pack_bits(values: Pixels, bits: int) -> bytes:
    """Whole numbers of so many bits each, every row from a byte of its own."""
    rows = ("".join(format(value, f"0{bits}b") for value in row.ravel().tolist()) for row in values)
    return b"".join(int(row + "0" * (-len(row) % 8), 2).to_bytes(-(-len(row) // 8), "big") for row in rows)


def jpeg_2000(pixels: Pixels, **options: Any) -> bytes:
    """A JPEG 2000 codestream without a file around it."""
    return save_bytes("JPEG2000", pixels, no_jp2=True, **options)


def drop_tile(data: bytes, tile: int) -> bytes:
    """Take one tile out of a codestream."""
    place = data.index(b"\xff\x90\x00\x0a" + struct.pack(">H", tile))
    return data[:place] + data[place + struct.unpack_from(">I", data, place + 6)[0] :]
