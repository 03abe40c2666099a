"""Minimal files that once got through, or that any reader must refuse, and the words of the refusal.

Each is made by code from a valid file. A fault that fuzzing finds is added here.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import zlib
from collections.abc import Callable
from typing import Final

import numpy as np
from PIL import Image

from tests.hostile.files import seed_of
from tests.io.kit import bare_tiff

__all__ = ["CORPUS", "bank_with"]


def _element(number: int, old: int, new: int) -> bytes:
    """Overwrite a whole number of group 0028 of a DICOM file."""
    tag = struct.pack("<HH2sH", 0x0028, number, b"US", 2)
    before, after, data = tag + struct.pack("<H", old), tag + struct.pack("<H", new), seed_of("dcm")
    if before not in data:
        raise AssertionError(f"there is no element {number:#06x} of {old}")
    return data.replace(before, after, 1)


def _tiff_tag(tag: int, value: int) -> bytes:
    """Overwrite the value of a tag of a classic little-endian TIFF, where it is stored in the directory."""
    data = bytearray(seed_of("tif strips"))
    (place,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, place)
    for entry in range(place + 2, place + 2 + 12 * count, 12):
        number, kind, many = struct.unpack_from("<HHI", data, entry)
        if number == tag:
            form = {3: "<H", 4: "<I"}[kind]
            inside = many * struct.calcsize(form) <= 4
            struct.pack_into(form, data, entry + 8 if inside else struct.unpack_from("<I", data, entry + 8)[0], value)
    return bytes(data)


def _tiff_directories(count: int) -> bytes:
    """A TIFF whose directory is followed by so many empty ones, the last of which leads back to the first."""
    data = bytearray(seed_of("tif strips"))
    (first,) = struct.unpack_from("<I", data, 4)
    (tags,) = struct.unpack_from("<H", data, first)
    ends = [first + 2 + 12 * tags, *(len(data) + 6 * number + 2 for number in range(count))]
    data += bytes(6 * count)
    for end, offset in zip(ends, [*(end - 2 for end in ends[1:]), first], strict=True):
        struct.pack_into("<I", data, end, offset)
    return bytes(data)


def _tiff_levels(count: int) -> bytes:
    """A TIFF that says it has so many levels, all of them its own directory."""
    data = bytearray(seed_of("tif strips"))
    (first,) = struct.unpack_from("<I", data, 4)
    (tags,) = struct.unpack_from("<H", data, first)
    levels = struct.pack("<HHII", 330, 4, count, len(data))
    end, old = len(data) + 4 * count, data[first + 2 : first + 2 + 12 * tags]
    data += struct.pack("<I", first) * count
    struct.pack_into("<I", data, 4, end)
    return bytes(data + struct.pack("<H", tags + 1) + old + levels + bytes(4))


def _npy(shape: tuple[int, ...], descr: str = "|u1") -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(64)


def _png_header(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + body
        + struct.pack(">I", zlib.crc32(body))
        + struct.pack(">I", 20)
        + b"IDAT"
        + bytes(40)
    )


def _short_png() -> bytes:
    """Half of the rows, in chunks whose checksums fit."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 16, 12, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(17) * 6)), (b"IEND", b"")]
    chunks = (struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _longer(data: bytes, mark: bytes, distance: int) -> bytes:
    """Overwrite the high byte of a height of the seeds, 12, which stands at a distance from a mark, with 2."""
    changed = bytearray(data)
    changed[data.index(mark) + distance] = 2
    return bytes(changed)


def _tiles(kept: int) -> bytes:
    """A JPEG 2000 image with some of its four tiles."""
    buffer = io.BytesIO()
    Image.new("L", (16, 16), 200).save(buffer, "JPEG2000", no_jp2=True, tile_size=(8, 8))
    first, *tiles = buffer.getvalue().removesuffix(b"\xff\xd9").split(b"\xff\x90")
    return b"\xff\x90".join([first, *tiles[:kept]]) + b"\xff\xd9"


def _jpeg_2000_in_tiff() -> bytes:
    data = bytearray(_tiles(4))
    struct.pack_into(">II", data, 8, 1 << 16, 1 << 16)  # the size, and that of a tile
    struct.pack_into(">II", data, 24, 1 << 16, 1 << 16)
    return bare_tiff(bytes(data), (16, 16), 8, t259=34712)


def bank_with(**entries: object) -> bytes:
    """A bank with other entries and a checksum that fits them."""
    plain = {name: value for name, value in json.loads(seed_of("json")).items() if name != "sha256"} | entries
    return json.dumps(plain | {"sha256": hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()}).encode()


def _cut(kind: str, count: int) -> bytes:
    return seed_of(kind)[:-count]


def _flip_content() -> bytes:
    """One wrong bit in the content of a stored .tar.gz, far from every header."""
    data = bytearray(seed_of("tar.gz stored"))
    data[data.index(bytes(range(100, 150))) + 7] ^= 1
    return bytes(data)


#: Name of the attack: ending of the file, its bytes, words of the refusal.
CORPUS: Final[dict[str, tuple[str, Callable[[], bytes], str]]] = {
    "dicom: fewer bits stored than used": ("dcm", lambda: _element(0x0101, 12, 8), "highest bit 11 for 8 bits stored"),
    "dicom: signed": ("dcm", lambda: _element(0x0103, 0, 1), "signed"),
    "dicom: a control character in a name": ("dcm", lambda: seed_of("dcm").replace(b"MONO", b"M\x1bNO"), r"M\\x1bNOCHROME2"),
    "dicom: cut in its deflated part": ("dcm", lambda: _cut("dcm deflated", 9), "cut off"),
    "dicom: more rows than pixels": ("dcm", lambda: _element(0x0010, 12, 65535), "cannot be read as DICOM"),
    "tiff: directories in a circle": ("tif", lambda: _tiff_directories(0), "form a circle"),
    "tiff: very many directories": ("tif", lambda: _tiff_directories(1_000), "more than 1,000"),
    "tiff: very many levels": ("tif", lambda: _tiff_levels(100_000), "more than 1,000"),
    "tiff: a directory that is cut": ("tif", lambda: _tiff_directories(3)[:-2], "leaves the file"),
    "tiff: rows without strips": ("tif", lambda: _tiff_tag(257, 400), "would cover it"),
    "tiff: a strip without bytes": ("tif", lambda: _tiff_tag(279, 0), "hold no pixels"),
    "tiff: strips beyond the file": ("tif", lambda: _tiff_tag(273, 1 << 30), "cut off"),
    "tiff: a JPEG 2000 of 16 GiB in 450 bytes": ("tif", _jpeg_2000_in_tiff, "holds an image of 65536 x 65536"),
    "jpeg: more rows than data": ("jpg", lambda: _longer(seed_of("jpg"), b"\xff\xc0", 5), "end before its last row"),
    "jpeg 2000: a tile is missing": ("j2k", lambda: _tiles(3), "holds 3 tiles, and 4 would cover it"),
    "gif: a frame smaller than the screen": ("gif", lambda: _longer(seed_of("gif"), b"GIF87a", 9), "does not cover"),
    "npy: 10^12 pixels in 192 bytes": ("npy", lambda: _npy((10**6, 10**6)), "limit"),
    "npy: more pixels than bytes": ("npy", lambda: _npy((100, 100, 3)), "cut off"),
    "npy: objects": ("npy", lambda: _npy((4, 4), "|O"), "objects"),
    "png: 50,000 x 50,000 in 100 bytes": ("png", lambda: _png_header(50_000, 50_000), "limit"),
    "png: fewer rows than declared": ("png", _short_png, "bytes of rows, and"),
    "eps named png": ("png", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n" + bytes(200), "png"),
    "tar.gz: six bytes short": ("tar.gz", lambda: _cut("tar.gz stored", 6), "nothing of it was written"),
    "tar.gz: one wrong bit": ("tar.gz", _flip_content, "nothing of it was written"),
    "tar.gz: something after the end": ("tar.gz", lambda: gzip.compress(gzip.decompress(seed_of("tar.gz")) + b"more"), "goes on"),
    "zip: four bytes short": ("zip", lambda: _cut("zip", 4), "nothing of it was written"),
    "json: a mean of 7": ("json", lambda: bank_with(mean=[[7.0, 0.5, 0.5]] * 2), "scale of 0 to 1"),
    "json: a correlation of 2": ("json", lambda: bank_with(cov=[[0.01, 0.02, 0.0, 0.01, 0.0, 0.01]] * 2), "positive semi"),
    "json: the format without a checksum": ("json", lambda: bank_with(format="recolorist.bank/1"), "format"),
    "json: 100,000 brackets": ("json", lambda: b"[" * 100_000, "not a bank in JSON"),
    "rcb: cut": ("rcb", lambda: _cut("rcb", 30), "cannot be read as a style bank"),
}  # fmt: skip
