"""Encode pixels as files: nothing but the pixels goes in, and a colour profile only on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import ImageError
from recolorist.io.jpeg import QUALITY, encode_jpeg
from recolorist.io.npy import encode_npy
from recolorist.io.png import encode_png
from recolorist.io.strips import Strips

__all__ = ["OUTPUT_SUFFIX", "QUALITY", "encode", "format_of", "output_name", "refuse_suffix_of_bands", "write_bands"]

_WRITTEN: Final = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF", ".npy": "NPY"}
#: The suffix of an output where its source is of a format that is not written.
OUTPUT_SUFFIX: Final = {
    "BMP": ".png",
    "DICOM": ".png",
    "GIF": ".png",
    "JPEG2000": ".png",
    "NPZ": ".npy",
    "SLIDE": ".tif",
    "WEBP": ".png",
    "ZARR": ".tif",
}


def encode(pixels: NDArray[Any], suffix: str, *, icc: bytes | None = None, quality: int = QUALITY) -> bytes:
    r"""Encode pixels in the format of a suffix.

    Args:
        pixels: An array (H, W) or (H, W, C).
        suffix: The suffix of the file, with its dot.
        icc: A colour profile to embed; NumPy files have none.
        quality: Of JPEG files.

    Returns:
        The bytes of the file.

    Raises:
        ImageError: If the format cannot hold such pixels, or files of this suffix are not written.
        MissingExtraError: If PNG files with 16-bit colour are asked for and imagecodecs is not installed.

    Example:
        >>> encode(np.zeros((2, 3, 3), np.uint8), ".png")[:8]
        b'\x89PNG\r\n\x1a\n'
    """
    form = format_of(suffix)
    pixels = np.ascontiguousarray(pixels[..., 0] if pixels.ndim == 3 and pixels.shape[-1] == 1 else pixels)
    if form == "JPEG":
        return encode_jpeg(pixels, icc, quality)
    if form == "PNG":
        return encode_png(pixels, icc)
    if form == "NPY":
        return encode_npy(pixels)
    from recolorist.io.tiff import encode_tiff

    return encode_tiff(pixels, icc)


def format_of(suffix: str) -> str:
    """Return the format of a suffix.

    Args:
        suffix: The suffix of a file name.

    Returns:
        The name of the format.

    Raises:
        ImageError: If files of this suffix are not written.

    Example:
        >>> format_of(".JPG")
        'JPEG'
    """
    form = _WRITTEN.get(suffix.lower())
    if form is None:
        raise ImageError(f"files named {suffix or 'without a suffix'} are not written; choose from {', '.join(_WRITTEN)}")
    return form


def output_name(source: str, form: str | None = None) -> str:
    """Return the name of an output: the source's own, or with another suffix where its format is only read.

    Args:
        source: The name of the source.
        form: Its format; None if it is not known.

    Returns:
        The name.

    Example:
        >>> output_name("a/scan.dcm", "DICOM"), output_name("a/photo.jpg", "JPEG")
        ('a/scan.png', 'a/photo.jpg')
    """
    path = Path(source)
    suffix = OUTPUT_SUFFIX.get(form or "")
    return source if suffix is None or path.suffix.lower() in _WRITTEN else path.with_suffix(suffix).as_posix()


def refuse_suffix_of_bands(suffix: str) -> None:
    """Raise ImageError for a suffix whose format cannot be written by rows.

    Args:
        suffix: The suffix of the output.

    Raises:
        ImageError: Its format is decoded as a whole.
    """
    if suffix not in (".tif", ".tiff", ".npy", ".zarr"):
        raise ImageError(f"images that go through in strips are written as .tif, .npy or .zarr, not as {suffix or 'this'}")


def write_bands(path: Path, suffix: str, bands: Iterator[NDArray[Any]], like: Strips, *, pyramid: bool = False) -> None:
    """Write bands of rows as tiled TIFF, NPY or Zarr, by the suffix.

    Args:
        path: Where to write; its own suffix is not looked at, as it may be a temporary name.
        suffix: The suffix of the final name.
        bands: The rows of the image, from top to bottom.
        like: An image of the same shape and dtype.
        pyramid: Whether a TIFF gets smaller levels.

    Raises:
        ImageError: If the format cannot be written by rows.
    """
    refuse_suffix_of_bands(suffix)
    if suffix == ".npy":
        from recolorist.io.npy import write_npy

        write_npy(path, bands, like)
    elif suffix == ".zarr":
        from recolorist.io.zarr import write_zarr

        write_zarr(path, bands, like)
    else:
        from recolorist.io.tiff import write_tiff

        write_tiff(path, bands, like, pyramid=pyramid)
