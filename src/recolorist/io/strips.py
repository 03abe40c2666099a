"""Images read a few rows at a time: the interface that TIFF, NPY, Zarr and slides implement."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import ImageError

__all__ = ["BAND_BYTES", "MOST_BAND_BYTES", "TILE", "ArrayStrips", "ColourStrips", "Strips", "refuse_bomb"]

BAND_BYTES: Final = 8 << 20  # what is worked on at a time
MOST_BAND_BYTES: Final = 512 << 20  # the most that one row of tiles may need
TILE: Final = 256  # side of the tiles that are written
_MOST_RATIO: Final = 500  # of declared pixels to the bytes of the file; blank slides compress well, but not endlessly


class Strips(ABC):
    """An image that is read by rows: (H, W, C), upright unless ``orientation`` says otherwise."""

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    data_range: float | None = None
    step: int = 256  #: rows that are stored together, so that no tile is decoded twice
    packed: bool = False  #: whether the file is compressed; an output is compressed if its source is
    orientation: int = 1  #: as in EXIF; other values than 1 are possible in TIFF only

    @abstractmethod
    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows from start to stop, (stop - start, W, C).

        Args:
            start: The first row.
            stop: The row after the last one.

        Returns:
            The pixels.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self:
        """Return the open image."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the file."""
        self.close()

    @property
    def band(self) -> int:
        """Rows per step: whole rows of tiles, as many as fit `BAND_BYTES`."""
        row = self.shape[1] * self.shape[2] * self.dtype.itemsize
        if row * self.step > MOST_BAND_BYTES:
            raise ImageError(
                f"its pixels are stored in blocks of {self.step:,} rows, {row * self.step >> 20:,} MiB that must be decoded at "
                "once; save it in tiles first"
            )
        rows = max(self.step, BAND_BYTES // row // self.step * self.step)
        return rows // TILE * TILE if rows > TILE and self.step == 1 else rows  # whole tiles of the output, where one is free

    def bands(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the whole image: the first row of each band, and its pixels.

        Yields:
            The first row of each band, and its pixels.
        """
        for start in range(0, self.shape[0], self.band):
            yield start, self.rows(start, min(start + self.band, self.shape[0]))


class ArrayStrips(Strips):
    """An array, in memory or mapped, as strips.

    Example:
        >>> [start for start, _ in ArrayStrips(np.zeros((600, 4, 3), np.uint8), step=200).bands()]
        [0]
    """

    def __init__(self, array: NDArray[Any], data_range: float | None = None, step: int = 64) -> None:
        """Take an array (H, W) or (H, W, C)."""
        self._array: NDArray[Any] = array if array.ndim == 3 else array[..., None]
        height, width, depth = self._array.shape
        self.shape, self.dtype, self.data_range, self.step = (height, width, depth), array.dtype, data_range, step

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Return a copy of the rows, so that a mapped file does not stay in memory.

        Args:
            start: The first row.
            stop: The row after the last one.

        Returns:
            The pixels.
        """
        return np.array(self._array[start:stop])

    def close(self) -> None:
        """Do nothing; a mapping is closed with its last reference."""


class ColourStrips(Strips):
    """A grey image read as three equal channels.

    Example:
        >>> ColourStrips(ArrayStrips(np.zeros((6, 4), np.uint8))).rows(0, 2).shape
        (2, 4, 3)
    """

    def __init__(self, grey: Strips) -> None:
        """Take an image of one channel."""
        self._grey = grey
        self.shape, self.dtype, self.data_range = (*grey.shape[:2], 3), grey.dtype, grey.data_range
        self.step, self.packed, self.orientation = grey.step, grey.packed, grey.orientation

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows.

        Args:
            start: The first row.
            stop: The row after the last one.

        Returns:
            The pixels, with three equal channels.
        """
        return np.repeat(self._grey.rows(start, stop), 3, axis=2)

    def close(self) -> None:
        """Close the file."""
        self._grey.close()


def refuse_bomb(source: Strips, size: int) -> None:
    """Close the source and raise ImageError if it declares far more pixels than a file of this size can hold.

    Args:
        source: The image, read by rows.
        size: Bytes of the file.

    Raises:
        ImageError: It declares over 500 times its own size.
    """
    declared = math.prod(source.shape) * source.dtype.itemsize
    if declared > _MOST_RATIO * size:
        source.close()
        raise ImageError(f"it declares {declared:,} bytes of pixels, over {_MOST_RATIO} times its own size; refused")
