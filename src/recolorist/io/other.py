"""NumPy files, DICOM, and whole reads of slides and Zarr arrays."""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.images import Picture, Reading, refuse_dtype, refuse_huge

_MOST_RATIO: Final = 200  # of unpacked to packed size; photographs pack to a tenth, masks to a hundredth
_GREY: Final = ("MONOCHROME1", "MONOCHROME2")


def read_npy(path: Path, reading: Reading) -> Picture:
    """One image, (H, W) or (H, W, C)."""
    with path.open("rb") as file:
        shape, fortran, dtype = npy_header(file)
        _refuse_shape(shape, dtype, reading)
        start, needed = file.tell(), math.prod(shape) * dtype.itemsize
        file.seek(0, 2)
        if file.tell() - start < needed:
            raise ImageError(f"it declares {needed:,} bytes of pixels and holds {file.tell() - start:,}; it is cut off")
        file.seek(start)
        flat = np.fromfile(file, dtype, math.prod(shape))
    pixels = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    return Picture(pixels, reading.range_of(dtype))


def read_npz(path: Path, reading: Reading) -> Picture:
    """An archive with one array in it, which is the image."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) != 1:
            raise ImageError(f"it holds {len(names)} arrays; an image file holds one. Collections go to `bank build` and `audit`")
        refuse_bomb(archive.getinfo(names[0]))
        with archive.open(names[0]) as member:
            shape, _, dtype = npy_header(member)
            _refuse_shape(shape, dtype, reading)
            if math.prod(shape) * dtype.itemsize > archive.getinfo(names[0]).file_size:
                raise ImageError("its array declares more pixels than the archive holds")
        with archive.open(names[0]) as member:
            pixels = np.lib.format.read_array(member, allow_pickle=False)
    return Picture(pixels, reading.range_of(dtype))


def read_dicom(path: Path, reading: Reading) -> Picture:
    """One frame: grey or RGB, unsigned; the range is that of the bits stored."""
    pydicom = optional.load("pydicom", "read DICOM files")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd tags, which are dropped anyway
        data = pydicom.dcmread(path)
        refuse_huge(int(data.Rows) * int(data.Columns) * int(data.get("NumberOfFrames", 1) or 1), reading.max_pixels)
        form, stored = str(data.PhotometricInterpretation), int(data.BitsStored)
        _refuse_dicom(data, form)
        pixels = np.asarray(data.pixel_array)
        if form.startswith("YBR"):
            pixels = np.asarray(pydicom.pixels.convert_color_space(pixels, form, "RGB"))
    refuse_dtype(pixels.dtype)
    high = 2**stored - 1
    if form == "MONOCHROME1":  # written with white as zero
        pixels = (high - pixels).astype(pixels.dtype)
    return Picture(pixels, float(high) if high not in (255, 65535) else None)


def read_strips(path: Path, reading: Reading) -> Picture:
    """A slide or Zarr array small enough to be read as a whole."""
    from recolorist.io.strips import open_strips

    with open_strips(path, reading) as source:
        refuse_huge(source.shape[0] * source.shape[1], reading.max_pixels)
        return Picture(source.rows(0, source.shape[0]), source.data_range)


READERS: Final[dict[str, Callable[[Path, Reading], Picture]]] = {
    "NPY": read_npy,
    "NPZ": read_npz,
    "DICOM": read_dicom,
    "ZARR": read_strips,
    "SLIDE": read_strips,
}


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and dtype that a .npy file declares; the file is left at its first pixel."""
    version = np.lib.format.read_magic(file)  # type: ignore[arg-type,unused-ignore]
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)  # type: ignore[arg-type,unused-ignore]
    if dtype.hasobject or any(side < 0 for side in shape):
        raise ImageError("it holds Python objects, which are never unpacked here")
    return shape, bool(fortran), dtype


def refuse_bomb(info: zipfile.ZipInfo) -> None:
    """A small file must not unpack to a huge one."""
    if info.file_size > _MOST_RATIO * max(info.compress_size, 1):
        raise ImageError(
            f"{info.filename!r} would unpack to {info.file_size:,} bytes, over {_MOST_RATIO} times its size; refused"
        )


def npy_stack(path: Path) -> NDArray[Any]:
    """A .npy of many images (N, H, W) or (N, H, W, C), mapped into memory and not read."""
    try:
        stack = np.load(path, mmap_mode="r", allow_pickle=False)
        refuse_dtype(stack.dtype)
    except (OSError, ValueError) as error:
        raise ImageError(f"{path} cannot be read as a stack of images: {error}") from error
    if stack.ndim not in (3, 4):
        raise ImageError(f"{path} has shape {stack.shape}; a stack of images is (N, H, W) or (N, H, W, C)")
    return np.asarray(stack)


def _refuse_shape(shape: tuple[int, ...], dtype: np.dtype[Any], reading: Reading) -> None:
    if len(shape) not in (2, 3):
        raise ImageError(f"its shape is {shape}; an image is (H, W) or (H, W, C)")
    refuse_dtype(dtype)
    refuse_huge(shape[0] * shape[1] * max(1, math.prod(shape[2:]) // 4), reading.max_pixels)


def _refuse_dicom(data: Any, form: str) -> None:
    if int(data.get("NumberOfFrames", 1) or 1) > 1:
        raise ImageError(f"it holds {data.NumberOfFrames} frames; save them as files of one frame")
    if int(data.get("PixelRepresentation", 0)):
        raise ImageError("its pixels are signed; shift them to start at 0 first, saying what zero means")
    if form not in (*_GREY, "RGB", "YBR_FULL", "YBR_FULL_422"):
        raise ImageError(f"its photometric interpretation is {form}; accepted are grey, RGB and YBR_FULL")
