"""NumPy files: .npy whole and by rows, .npz with one array, and stacks of images."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import ImageError
from recolorist.io.reading import Picture, Reading, display_path, refuse_dtype, refuse_huge_shape
from recolorist.io.strips import Strips
from recolorist.io.zips import refuse_lost_members

__all__ = ["NpyStrips", "encode_npy", "npy_header", "npy_stack", "read_npy", "read_npz", "refuse_bomb", "write_npy"]

_MOST_HEADER: Final = 2**16  # bytes; NumPy itself takes headers of 10,000
_MOST_RATIO: Final = 200  # of unpacked to packed size; photographs pack to a tenth, masks to a hundredth


def read_npy(path: Path, reading: Reading) -> Picture:
    """Read one image, (H, W) or (H, W, C); raise ImageError for any other array and for a file that is cut off.

    Args:
        path: The file.
        reading: The options of reading.

    Returns:
        The pixels and their range.

    Raises:
        ImageError: It is no image, or cut off.
    """
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
    """Read an archive with one array in it, which is the image.

    Args:
        path: The file.
        reading: The options of reading.

    Returns:
        The pixels and their range.

    Raises:
        ImageError: It holds several arrays, no image, or more than it declares.
    """
    with zipfile.ZipFile(path) as archive:
        refuse_lost_members(archive)
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


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, Fortran order and dtype of a .npy file, and leave the file at its first pixel.

    Args:
        file: The file, at its start.

    Returns:
        Shape, whether columns come first, and dtype.

    Raises:
        ImageError: Its header cannot be read, or it holds Python objects.
    """
    start = file.tell()
    head = io.BytesIO(file.read(_MOST_HEADER))  # a damaged header may declare a length of gigabytes
    try:
        version = np.lib.format.read_magic(head)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(head)
    except (ValueError, SyntaxError, tokenize.TokenError) as error:
        raise ImageError(f"its header cannot be read ({error}); save the array again") from error
    file.seek(start + head.tell())
    if dtype.hasobject or any(side < 0 for side in shape):
        raise ImageError("it holds Python objects, which are never unpacked here")
    return shape, bool(fortran), dtype


def refuse_bomb(info: zipfile.ZipInfo) -> None:
    """Raise ImageError for a member of an archive that would unpack to far more than its size.

    Args:
        info: The entry of the archive.

    Raises:
        ImageError: It would unpack to over 200 times its size.
    """
    if info.file_size > _MOST_RATIO * max(info.compress_size, 1):
        raise ImageError(
            f"{info.filename!r} would unpack to {info.file_size:,} bytes, over {_MOST_RATIO} times its size; refused"
        )


def npy_stack(path: Path) -> NDArray[Any]:
    """Map a .npy of many images (N, H, W) or (N, H, W, C) into memory without reading it.

    Args:
        path: The file.

    Returns:
        The array, mapped.

    Raises:
        ImageError: It cannot be read, or is no stack of images.
    """
    try:
        with path.open("rb") as file:
            shape, fortran, dtype = npy_header(file)
            start = file.tell()
        refuse_dtype(dtype)
        if path.stat().st_size - start < math.prod(shape) * dtype.itemsize:
            raise ImageError("it declares more pixels than it holds; it is cut off")
        stack = np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C") if 0 not in shape else np.empty(shape, dtype)
    except (OSError, ValueError) as error:
        raise ImageError(f"{display_path(path)} cannot be read as a stack of images: {error}") from error
    if stack.ndim not in (3, 4):
        raise ImageError(f"{display_path(path)} has shape {stack.shape}; a stack of images is (N, H, W) or (N, H, W, C)")
    return np.asarray(stack)


def encode_npy(pixels: NDArray[Any]) -> bytes:
    r"""Encode an array as the bytes of a .npy file.

    Args:
        pixels: The array.

    Returns:
        The bytes of the file.

    Example:
        >>> encode_npy(np.zeros((2, 3), np.uint8))[:6]
        b'\x93NUMPY'
    """
    buffer = io.BytesIO()
    np.save(buffer, pixels, allow_pickle=False)
    return buffer.getvalue()


class NpyStrips(Strips):
    """A .npy file, (H, W) or (H, W, C), read with plain reads: mapped pages would count as memory in use."""

    def __init__(self, path: Path, reading: Reading) -> None:
        """Read the header only; raise ImageError if it does not declare a whole image."""
        self._file = path.open("rb")
        try:
            shape, fortran, self.dtype = npy_header(self._file)
            self._start = self._file.tell()
            needed = self._start + math.prod(shape) * self.dtype.itemsize
            if len(shape) not in (2, 3) or fortran or path.stat().st_size < needed:
                raise ImageError(f"its shape is {shape}; expected is a whole image (H, W) or (H, W, C), rows first")
            refuse_dtype(self.dtype)
        except (ValueError, OSError) as error:
            self._file.close()
            raise error if isinstance(error, ImageError) else ImageError(f"it cannot be read as NPY: {error}") from error
        self.shape = (shape[0], shape[1], shape[2] if len(shape) == 3 else 1)
        self.data_range = reading.range_of(self.dtype)
        self.step = 1

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read the rows.

        Args:
            start: The first row.
            stop: The row after the last one.

        Returns:
            The pixels, (stop - start, W, C).
        """
        _, width, depth = self.shape
        self._file.seek(self._start + start * width * depth * self.dtype.itemsize)
        count = (stop - start) * width * depth
        data = np.frombuffer(self._file.read(count * self.dtype.itemsize), self.dtype)
        return data.reshape(stop - start, width, depth).astype(self.dtype.newbyteorder("="), copy=False)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_npy(path: Path, bands: Iterator[NDArray[Any]], like: Strips) -> None:
    """Write bands of rows as one array.

    Args:
        path: The file.
        bands: The rows of the image, from top to bottom.
        like: An image of the same shape and dtype.
    """
    shape = like.shape if like.shape[2] > 1 else like.shape[:2]
    with path.open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(like.dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        for band in bands:
            file.write(np.ascontiguousarray(band, dtype=like.dtype).tobytes())


def _refuse_shape(shape: tuple[int, ...], dtype: np.dtype[Any], reading: Reading) -> None:
    if len(shape) not in (2, 3):
        raise ImageError(f"its shape is {shape}; an image is (H, W) or (H, W, C)")
    refuse_dtype(dtype)
    refuse_huge_shape(shape, reading.max_pixels)
