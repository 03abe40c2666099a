"""Encoding pixels as files: nothing but the pixels goes in, so nothing else can come out. An ICC profile only on request."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist import optional
from recolorist.errors import ImageError

QUALITY: Final = 95
_WRITTEN: Final = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF", ".npy": "NPY"}
#: What an output is called where its source is of a format that is not written.
OUTPUT_SUFFIX: Final = {"DICOM": ".png", "NPZ": ".npy", "SLIDE": ".tif", "ZARR": ".tif"}


def encode(pixels: NDArray[Any], suffix: str, *, icc: bytes | None = None, quality: int = QUALITY) -> bytes:
    r"""The bytes of a file with these pixels, in the format of the suffix.

    >>> encode(np.zeros((2, 3, 3), np.uint16), ".png")[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    form = format_of(suffix)
    pixels = np.ascontiguousarray(pixels[..., 0] if pixels.ndim == 3 and pixels.shape[-1] == 1 else pixels)
    if form == "NPY":
        buffer = io.BytesIO()
        np.save(buffer, pixels, allow_pickle=False)
        return buffer.getvalue()
    if form == "PNG" and pixels.dtype == np.uint16 and pixels.ndim == 3:
        return _png16(pixels, icc)
    if form == "TIFF" and pixels.dtype != np.uint8 and pixels.ndim == 3:
        return _tiff(pixels, icc)
    return _pillow(pixels, form, icc, quality)


def format_of(suffix: str) -> str:
    """The format a suffix stands for, if it is one that is written.

    >>> format_of(".JPG")
    'JPEG'
    """
    form = _WRITTEN.get(suffix.lower())
    if form is None:
        raise ImageError(f"files named {suffix or 'without a suffix'} are not written; choose from {', '.join(_WRITTEN)}")
    return form


def output_name(source: str, form: str | None = None) -> str:
    """The name of an output: the source's own, or with another suffix where its format is only read.

    >>> output_name("a/scan.dcm", "DICOM"), output_name("a/photo.jpg", "JPEG")
    ('a/scan.png', 'a/photo.jpg')
    """
    path = Path(source)
    suffix = OUTPUT_SUFFIX.get(form or "")
    return source if suffix is None or path.suffix.lower() in _WRITTEN else path.with_suffix(suffix).as_posix()


def _pillow(pixels: NDArray[Any], form: str, icc: bytes | None, quality: int) -> bytes:
    depth = pixels.shape[2] if pixels.ndim == 3 else 1
    fits = {"JPEG": (1, 3), "PNG": (1, 3, 4), "TIFF": (1, 3, 4)}[form]
    kinds = {"JPEG": ("uint8",), "PNG": ("uint8", "uint16"), "TIFF": ("uint8", "uint16", "float32")}[form]
    if depth not in fits or pixels.dtype.name not in kinds:
        raise ImageError(f"{form} cannot hold {depth} channel(s) of {pixels.dtype}; write a .tif or .npy instead")
    image = Image.fromarray(pixels.astype(pixels.dtype.newbyteorder("="), copy=False))
    if form == "JPEG":
        return _saved(image, form, _jpeg(icc, quality))
    packed = {"compression": "tiff_adobe_deflate"} if form == "TIFF" else {}
    return _saved(image, form, packed | _profile(icc))


def _jpeg(icc: bytes | None, quality: int) -> dict[str, Any]:
    """Colour is what was changed, so colour is kept in full."""
    return {"quality": quality, "subsampling": 0} | _profile(icc)


def _profile(icc: bytes | None) -> dict[str, Any]:
    return {} if icc is None else {"icc_profile": icc}


def _saved(image: Image.Image, form: str, options: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def _png16(pixels: NDArray[Any], icc: bytes | None) -> bytes:
    """16-bit colour, which Pillow does not write. Each row is stored as differences from the pixel before."""
    height, width, depth = pixels.shape
    if depth not in (3, 4):
        raise ImageError(f"PNG cannot hold {depth} channels; write a .tif or .npy instead")
    rows = np.ascontiguousarray(pixels, dtype=">u2").view(np.uint8).reshape(height, width, 2 * depth)
    filtered = np.empty((height, 1 + rows[0].size), np.uint8)
    filtered[:, 0] = 1
    differences = rows.copy()
    differences[:, 1:] -= rows[:, :-1]
    filtered[:, 1:] = differences.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 16, {3: 2, 4: 6}[depth], 0, 0, 0)
    profile = b"" if icc is None else _chunk(b"iCCP", b"icc\0\0" + zlib.compress(icc))
    body = _chunk(b"IDAT", zlib.compress(filtered.tobytes(), 6))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + profile + body + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _tiff(pixels: NDArray[Any], icc: bytes | None) -> bytes:
    """16-bit and float colour, which Pillow does not write."""
    tifffile = optional.load("tifffile", "write TIFF files with 16-bit or float colour")
    buffer = io.BytesIO()
    with tifffile.TiffWriter(buffer) as writer:
        writer.write(pixels, iccprofile=icc, compression="zlib", **tiff_facts(pixels.shape))
    return buffer.getvalue()


def tiff_facts(shape: tuple[int, ...]) -> dict[str, Any]:
    """What a TIFF says of itself: how to show its pixels, and nothing else."""
    depth = shape[2] if len(shape) == 3 else 1
    alpha = {"extrasamples": ["unassalpha"]} if depth == 4 else {}
    colour = "rgb" if depth in (3, 4) else "minisblack"
    planar = {"planarconfig": "contig"} if depth > 1 else {}
    return {"photometric": colour, "metadata": None, "software": False, "datetime": None, **alpha, **planar}
