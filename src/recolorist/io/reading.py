"""Options, limits and checks that all formats share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import ImageError

__all__ = [
    "DEFAULT",
    "MAX_PIXELS",
    "HugeError",
    "Picture",
    "Reading",
    "describe_error",
    "display_path",
    "refuse_dtype",
    "refuse_huge",
]

MAX_PIXELS: Final = 89_478_485  # a quarter of a gibibyte of RGB; larger files are read in strips


@dataclass(frozen=True, slots=True)
class Reading:
    """Options for reading files.

    Attributes:
        max_pixels: The largest image that is decoded as a whole.
        convert: Whether palette, CMYK, black-and-white and grey-with-alpha files are turned into RGB or grey.
        bits: How many of 16 bits are used (12, say); None for all.
        data_range: The value of white in float files; None if it is not declared.
        level: The level of a slide or pyramid, 0 for the finest.
    """

    max_pixels: int = MAX_PIXELS
    convert: bool = False
    bits: int | None = None
    data_range: float | None = None
    level: int = 0

    def range_of(self, dtype: np.dtype[Any]) -> float | None:
        """Return the range to declare for pixels of this dtype; None for the dtype's own.

        Example:
            >>> Reading(bits=12).range_of(np.dtype(np.uint16)), Reading(bits=12).range_of(np.dtype(np.uint8))
            (4095.0, None)
        """
        if self.bits is not None and dtype == np.uint16:
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


def refuse_huge(pixels: int, limit: int) -> None:
    """Raise HugeError if a header declares more pixels than the limit."""
    if pixels > limit:
        raise HugeError(f"it declares {pixels:,} pixels, over the limit of {limit:,}; raise max_pixels if you trust it")


def refuse_dtype(dtype: np.dtype[Any]) -> None:
    """Raise ImageError for pixels that cannot be matched, while the name of the file is still known."""
    if dtype.kind not in "uf" or dtype.itemsize > (2 if dtype.kind == "u" else 8):
        raise ImageError(f"its pixels are {dtype}; accepted are unsigned integers of 8 or 16 bits and floats")


def describe_error(error: BaseException) -> str:
    """Return the message of an error, or its class name if it has none.

    Example:
        >>> describe_error(KeyError()), describe_error(OSError("full"))
        ('KeyError', 'full')
    """
    return str(error) or type(error).__name__


def display_path(path: str | Path) -> str:
    r"""Return a path as printable text on one line, whatever characters its name holds.

    Example:
        >>> display_path("a\nb.png")
        'a\\nb.png'
    """
    text = os.fspath(path)
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")
