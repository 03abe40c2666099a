"""Read image files of any format: whole, or by rows.

The first bytes of a file decide on its format, a limit is applied before decoding, and metadata are left behind.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from recolorist.errors import ImageError, RecoloristError
from recolorist.io.formats import FORMATS, HUGE_FORMATS, WHOLE_FORMATS, format_from_start, sniff
from recolorist.io.listing import list_folder, list_images
from recolorist.io.reading import (
    DEFAULT,
    MAX_PIXELS,
    HugeError,
    Picture,
    Reading,
    describe_error,
    describe_unopened,
    display_path,
    refuse_huge_shape,
    refuse_large_file,
    spread_grey,
)
from recolorist.io.strips import ArrayStrips, ColourStrips, Strips, refuse_bomb

__all__ = [
    "DEFAULT",
    "FORMATS",
    "HUGE_FORMATS",
    "MAX_PIXELS",
    "HugeError",
    "Picture",
    "Reading",
    "decode",
    "list_folder",
    "list_images",
    "open_file",
    "open_strips",
    "read_bytes",
    "read_image",
    "read_picture",
    "sniff",
]

_BINARY: Final = getattr(os, "O_BINARY", 0)
_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)  # a pipe must not block


def read_image(path: str | Path, max_pixels: int = MAX_PIXELS) -> NDArray[Any]:
    """Decode one file to an array.

    Args:
        path: A file of one of the `FORMATS`, or a Zarr folder.
        max_pixels: The largest image that is decoded.

    Returns:
        The pixels, upright, (H, W) or (H, W, C).

    Raises:
        ImageError: If the file cannot be read, with its name and the reason.
        MissingExtraError: If a library that the format needs is not installed.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (5, 4), "red").save(f"{folder}/a.png")
        ...     read_image(f"{folder}/a.png").shape
        (4, 5, 3)
    """
    return read_picture(path, Reading(max_pixels=max_pixels)).pixels


def read_picture(path: str | Path, reading: Reading = DEFAULT) -> Picture:
    """Decode one file as a whole; :func:`open_strips` reads huge ones.

    Args:
        path: A file of one of the `FORMATS`, or a Zarr folder.
        reading: The options.

    Returns:
        The pixels, their range and the colour profile.

    Raises:
        ImageError: If the file cannot be read, with its name and the reason.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("P", (5, 4)).save(f"{folder}/a.png")
        ...     read_picture(f"{folder}/a.png", Reading(convert=True)).pixels.shape
        (4, 5, 3)
    """
    form, data = open_file(path, reading)
    return decode(path, form, reading, data)


def open_file(path: str | Path, reading: Reading = DEFAULT) -> tuple[str, bytes | None]:
    """Return the format of a file and, for `WHOLE_FORMATS`, its bytes: opened once for sniffing, hashing and decoding.

    Args:
        path: The file.
        reading: The options of reading.

    Returns:
        The format, and the bytes of formats that are decoded as a whole; else None.
    """
    declared = FORMATS.get("." + os.fspath(path).rpartition(".")[2].lower())
    data = _read_regular(path, reading.max_pixels) if declared in WHOLE_FORMATS else None
    if data is None:
        return sniff(path), None
    form = format_from_start(data[:132], declared, path)
    return form, data if form in WHOLE_FORMATS else None


def decode(path: str | Path, form: str, reading: Reading, data: bytes | None = None) -> Picture:
    """Decode a file whose format is known; ``data`` are its bytes if the caller has them already.

    Args:
        path: The file.
        form: Its format.
        reading: The options of reading.
        data: Its bytes, if they were read already.

    Returns:
        The pixels, their range and the colour profile.

    Raises:
        ImageError: The file cannot be decoded; the message names it.
        HugeError: It has more pixels than the limit.
    """
    try:
        picture = _decode(Path(path), form, reading, data)
        return picture._replace(pixels=spread_grey(picture.pixels, reading))
    except RecoloristError as error:
        raise type(error)(f"{display_path(path)}: {display_path(str(error))}") from error
    except Exception as error:  # decoders raise nearly anything on a damaged file
        raise ImageError(f"{display_path(path)} cannot be read as {form}: {display_path(describe_error(error))}") from error


def _decode(path: Path, form: str, reading: Reading, data: bytes | None) -> Picture:
    if form in WHOLE_FORMATS:
        return _decode_bytes(read_bytes(path, reading.max_pixels) if data is None else data, form, reading)
    if form == "TIFF":
        from recolorist.io.tiff import read_tiff

        return read_tiff(path, reading)
    if form == "NPY":
        from recolorist.io.npy import read_npy

        return read_npy(path, reading)
    if form == "NPZ":
        from recolorist.io.npy import read_npz

        return read_npz(path, reading)
    if form == "DICOM":
        from recolorist.io.dicom import read_dicom

        return read_dicom(path, reading)
    with _open_rows(path, form, reading) as source:
        refuse_huge_shape(source.shape, reading.max_pixels)
        return Picture(source.rows(0, source.shape[0]), source.data_range)


def _decode_bytes(data: bytes, form: str, reading: Reading) -> Picture:
    if form == "JPEG":
        from recolorist.io.jpeg import read_jpeg

        return read_jpeg(data, reading)
    if form == "PNG":
        from recolorist.io.png import read_png

        return read_png(data, reading)
    from recolorist.io.raster import read_raster

    return read_raster(data, form, reading)


def open_strips(path: str | Path, reading: Reading, *, always: bool = False) -> Strips:
    """Open a file for reading by rows.

    Args:
        path: A TIFF, NPY, Zarr or slide.
        reading: The options.
        always: Whether other formats are accepted too, decoded as a whole.

    Returns:
        The open image, to be closed by the caller or used in a `with` block.

    Raises:
        ImageError: If the file cannot be read, with its name and the reason.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.save(f"{folder}/a.npy", np.zeros((600, 4, 3), np.uint8))
        ...     with open_strips(f"{folder}/a.npy", Reading()) as strips:
        ...         strips.rows(590, 600).shape
        (10, 4, 3)
    """
    form = sniff(path)
    if form not in HUGE_FORMATS and always:
        picture = decode(path, form, reading)
        return ArrayStrips(picture.pixels, picture.data_range)
    try:
        source = _open_rows(Path(path), form, reading)
        if 0 in source.shape:
            source.close()
            raise ImageError(f"its shape is {source.shape}; it has no pixels")
        if form in ("TIFF", "NPY"):
            refuse_bomb(source, Path(path).stat().st_size)
    except RecoloristError as error:
        raise type(error)(f"{display_path(path)}: {display_path(str(error))}") from error
    return ColourStrips(source) if reading.grey == "rgb" and source.shape[2] == 1 else source


def _open_rows(path: Path, form: str, reading: Reading) -> Strips:
    if form == "TIFF":
        from recolorist.io.tiff import TiffStrips

        return TiffStrips(path, reading)
    if form == "ZARR":
        from recolorist.io.zarr import ZarrStrips

        return ZarrStrips(path, reading)
    if form == "SLIDE":
        from recolorist.io.slides import SlideStrips

        return SlideStrips(path, reading)
    if form == "NPY":
        from recolorist.io.npy import NpyStrips

        return NpyStrips(path, reading)
    raise ImageError(f"{form} files are decoded as a whole; save huge images as tiled TIFF, NPY or Zarr")


def read_bytes(path: str | Path, max_pixels: int) -> bytes:
    """Read the whole file, unless it is larger than any image within the limit.

    Args:
        path: The file.
        max_pixels: The largest number of pixels.

    Returns:
        The bytes.

    Raises:
        HugeError: The file is larger than any image within the limit.
    """
    handle = os.open(path, os.O_RDONLY | _BINARY)
    try:
        return _read_all(handle, os.fstat(handle).st_size, max_pixels)
    finally:
        os.close(handle)


def _read_all(handle: int, size: int, max_pixels: int) -> bytes:
    refuse_large_file(size, max_pixels)
    data = os.read(handle, size)
    while len(data) < size and (more := os.read(handle, size - len(data))):  # one read may return less than was asked for
        data += more
    return data


def _read_regular(path: str | Path, max_pixels: int) -> bytes | None:
    """Read a regular file; return None for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | _BINARY | _NO_WAIT)
        try:
            facts = os.fstat(handle)
            return _read_all(handle, facts.st_size, max_pixels) if stat.S_ISREG(facts.st_mode) else None
        finally:
            os.close(handle)
    except OSError as error:
        raise ImageError(describe_unopened(path, error)) from error
    except HugeError as error:
        raise HugeError(f"{display_path(path)}: {error}") from error
