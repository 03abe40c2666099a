"""Options, limits and checks that all formats share."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core.image import option
from recolorist.errors import ImageError, OptionError

__all__ = [
    "DEFAULT",
    "MAX_PIXELS",
    "HugeError",
    "Picture",
    "Reading",
    "check_whole",
    "describe_error",
    "describe_unopened",
    "display_path",
    "refuse_dtype",
    "refuse_huge",
    "refuse_huge_shape",
    "refuse_huge_tiles",
    "refuse_large_file",
    "refuse_packed_rows",
    "spread_grey",
]

MAX_PIXELS: Final = 89_478_485  # a quarter of a gibibyte of RGB; larger files are read in strips


_MOST_BYTES_PER_PIXEL: Final = 16  # 16-bit RGBA that does not compress at all needs half of this
_CHANNELS_PER_PIXEL: Final = 4
_FEW_ROWS, _MOST_ROWS_PER_BYTE = 100_000, 8  # of a Parquet table; a million paths, all different, take more than a megabyte
_FEW_BYTES, _MOST_RATIO = 16 << 20, 200  # of the cells of a Parquet table, as of .npz
_HEADER_BYTES: Final = 16 << 20  # what profiles, thumbnails and comments may add to a file


def check_whole(value: Any, low: int, high: int | None, name: str) -> None:
    """Raise OptionError unless the value is a whole number within the limits.

    Args:
        value: What was given.
        low: The least number.
        high: The largest; None: any.
        name: The name of the option.

    Raises:
        OptionError: It is something else.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < low or (high is not None and value > high):
        raise OptionError(f"{name}={value!r}; accepted are whole numbers from {low}{'' if high is None else f' to {high}'}")


@dataclass(frozen=True, slots=True)
class Reading:
    """Options for reading files.

    Attributes:
        max_pixels: The largest image that is decoded as a whole.
        convert: Whether palette, CMYK, black-and-white and grey-with-alpha files are turned into RGB or grey.
        bits: How many of 16 bits are used (12, say); None for all.
        data_range: The value of white in float files; None if it is not declared.
        level: The level of a slide or pyramid, 0 for the finest.
        grey: ``"rgb"`` reads grey files as three equal channels, ``"keep"`` as they are.

    Raises:
        OptionError: If a value lies outside its limits.

    Example:
        >>> Reading(bits=20)
        Traceback (most recent call last):
        recolorist.errors.OptionError: bits=20; accepted are whole numbers from 9 to 16
    """

    max_pixels: int = MAX_PIXELS
    convert: bool = False
    bits: int | None = None
    data_range: float | None = None
    level: int = 0
    grey: Literal["keep", "rgb"] = "keep"

    def __post_init__(self) -> None:
        """Check every value."""
        check_whole(self.max_pixels, 1, None, "max_pixels")
        check_whole(self.level, 0, None, "level")
        if self.bits is not None:
            check_whole(self.bits, 9, 16, "bits")
        option(self.grey, ("keep", "rgb"), "grey")

    def range_of(self, dtype: np.dtype[Any]) -> float | None:
        """Return the range to declare for pixels of this dtype; None for the dtype's own.

        Args:
            dtype: The dtype of the pixels.

        Returns:
            The value of white, or None.

        Example:
            >>> Reading(bits=12).range_of(np.dtype(np.uint16)), Reading(bits=12).range_of(np.dtype(np.uint8))
            (4095.0, None)
        """
        if self.bits is not None and (dtype.kind, dtype.itemsize) == ("u", 2):  # in either byte order
            return float(2**self.bits - 1)
        return self.data_range if dtype.kind == "f" else None


DEFAULT: Final = Reading()


class HugeError(ImageError):
    """An image has more pixels than may be decoded as a whole; some formats can still be read in strips."""


class Picture(NamedTuple):
    """A decoded file: upright pixels (H, W) or (H, W, C), their range where it is not the dtype's, and the colour profile."""

    pixels: NDArray[Any]
    data_range: float | None = None
    icc: bytes | None = None


def spread_grey(pixels: NDArray[Any], reading: Reading) -> NDArray[Any]:
    """Return grey pixels (H, W) or (H, W, 1) as three equal channels, if ``reading`` asks for it; all others as they are.

    Args:
        pixels: The pixels, (H, W) or (H, W, C).
        reading: The options of reading.

    Returns:
        The pixels, (H, W, 3) if they were grey.

    Example:
        >>> spread_grey(np.zeros((2, 3), np.uint8), Reading(grey="rgb")).shape
        (2, 3, 3)
    """
    if reading.grey == "keep" or (pixels.ndim == 3 and pixels.shape[2] != 1):
        return pixels
    return np.repeat(pixels[..., None] if pixels.ndim == 2 else pixels, 3, axis=2)


def refuse_huge(pixels: int, limit: int) -> None:
    """Raise HugeError if a header declares more pixels than the limit.

    Args:
        pixels: The number of pixels.
        limit: The largest number of pixels.

    Raises:
        HugeError: It is over the limit.
    """
    if pixels > limit:
        raise HugeError(f"it declares {pixels:,} pixels, over the limit of {limit:,}; raise max_pixels if you trust it")


def refuse_huge_shape(shape: Sequence[int], limit: int) -> None:
    """Raise HugeError if a shape (H, W) or (H, W, C) has more pixels than the limit; every four channels count as a pixel.

    Args:
        shape: The shape.
        limit: The largest number of pixels.

    Raises:
        HugeError: It is over the limit.

    Example:
        >>> refuse_huge_shape((10, 10, 400), 5_000)
        Traceback (most recent call last):
        recolorist.io.reading.HugeError: it declares 10,000 pixels, over the limit of 5,000; raise max_pixels if you trust it
    """
    refuse_huge(shape[0] * shape[1] * max(1, -(-math.prod(shape[2:]) // _CHANNELS_PER_PIXEL)), limit)


def refuse_huge_tiles(pixels: int, limit: int) -> None:
    """Raise HugeError if a file stores its pixels in tiles or chunks so large that one of them exceeds the limit.

    Args:
        pixels: Pixels of one tile.
        limit: The largest number of pixels.

    Raises:
        HugeError: It is over the limit.
    """
    if pixels > limit:
        raise HugeError(f"its tiles have {pixels:,} pixels each, over the limit of {limit:,}; raise max_pixels if you trust it")


def refuse_large_file(size: int, max_pixels: int) -> None:
    """Raise HugeError if a file has more bytes than any image within the limit needs.

    Args:
        size: Bytes of the file.
        max_pixels: The largest number of pixels.

    Raises:
        HugeError: It has more bytes than any image within the limit needs.
    """
    if size > _MOST_BYTES_PER_PIXEL * max_pixels + _HEADER_BYTES:
        raise HugeError(f"it has {size:,} bytes, more than an image of {max_pixels:,} pixels can need; raise max_pixels")


def refuse_packed_rows(metadata: Any, size: int) -> None:
    """Raise ImageError if a Parquet table would unpack to far more than its file.

    Args:
        metadata: What pyarrow reads at the end of the file.
        size: Bytes of the file.

    Raises:
        ImageError: It declares very many rows, or very long ones, for its size.
    """
    unpacked = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    rows = metadata.num_rows
    if rows > max(_FEW_ROWS, _MOST_ROWS_PER_BYTE * size) or unpacked > max(_FEW_BYTES, _MOST_RATIO * size):
        raise ImageError(f"{size:,} bytes declare {rows:,} rows and {unpacked:,} bytes of cells; save it as CSV if that is right")


def refuse_dtype(dtype: np.dtype[Any]) -> None:
    """Raise ImageError for pixels that cannot be matched, while the name of the file is still known.

    Args:
        dtype: The dtype of the pixels.

    Raises:
        ImageError: Pixels of this dtype cannot be matched.
    """
    if dtype.kind not in "uf" or dtype.itemsize > (2 if dtype.kind == "u" else 8):
        raise ImageError(f"its pixels are {dtype}; accepted are unsigned integers of 8 or 16 bits and floats")


def describe_error(error: BaseException) -> str:
    """Return the message of an error, or its class name if it has none.

    Args:
        error: The error.

    Returns:
        A text that is not empty.

    Example:
        >>> describe_error(KeyError()), describe_error(OSError("full"))
        ('KeyError', 'full')
    """
    return str(error) or type(error).__name__


def describe_unopened(path: str | Path, error: OSError) -> str:
    """Return the sentence for a file that cannot be opened.

    Args:
        path: The file.
        error: The error of the system.

    Returns:
        A sentence without a full stop. For a missing file it says that it does not exist.

    Example:
        >>> describe_unopened("a.png", FileNotFoundError(2, "No such file or directory"))
        'a.png does not exist; check its name and its folder'
    """
    if isinstance(error, FileNotFoundError):
        return f"{display_path(path)} does not exist; check its name and its folder"
    return f"{display_path(path)} cannot be opened: {error.strerror or error}"


def display_path(path: str | Path) -> str:
    r"""Return a path as printable text on one line, whatever characters its name holds.

    Args:
        path: The path.

    Returns:
        The text.

    Example:
        >>> display_path("a\nb.png")
        'a\\nb.png'
    """
    text = os.fspath(path)
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")
