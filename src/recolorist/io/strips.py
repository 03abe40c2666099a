"""Read huge images a few rows at a time, never the whole image in memory."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import ImageError
from recolorist.io.images import Reading, decode, shown, sniff

BAND_BYTES: Final = 8 << 20  # what is worked on at a time
MOST_BAND_BYTES: Final = 512 << 20  # a single row of tiles may need more than that, but not anything
_MOST_RATIO: Final = 500  # of declared pixels to the bytes of the file; blank slides pack well, but not endlessly
TILE: Final = 256  # side of the tiles that are written
HUGE_FORMATS: Final = ("TIFF", "NPY", "ZARR", "SLIDE")


class Strips(ABC):
    """An image that is read by rows: (H, W, C), upright."""

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    data_range: float | None = None
    step: int = 256  #: rows that are stored together, so that no tile is decoded twice
    packed: bool = False  #: whether the file is compressed; an output is compressed if its source is

    @abstractmethod
    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """The rows from start to stop, (stop - start, W, C)."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""

    def __enter__(self) -> Self:
        """Open for a `with` block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close."""
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
        """The whole image: first row of each band, and its pixels."""
        for start in range(0, self.shape[0], self.band):
            yield start, self.rows(start, min(start + self.band, self.shape[0]))


class ArrayStrips(Strips):
    """An array, in memory or mapped, as strips.

    >>> [start for start, _ in ArrayStrips(np.zeros((600, 4, 3), np.uint8), step=200).bands()]
    [0]
    """

    def __init__(self, array: NDArray[Any], data_range: float | None = None, step: int = 64) -> None:
        """Take (H, W) or (H, W, C)."""
        self._array: NDArray[Any] = array if array.ndim == 3 else array[..., None]
        height, width, depth = self._array.shape
        self.shape, self.dtype, self.data_range, self.step = (height, width, depth), array.dtype, data_range, step

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """A copy, so that a mapped file does not stay in memory through it."""
        return np.array(self._array[start:stop])

    def close(self) -> None:
        """Nothing to close; a mapping goes with its last reference."""


def open_strips(path: str | Path, reading: Reading, *, always: bool = False) -> Strips:
    """Open a TIFF, NPY, Zarr or slide for reading by rows; ``always`` also takes PNG and JPEG, decoded as a whole."""
    form = sniff(path)
    if form not in HUGE_FORMATS and always:
        picture = decode(path, form, reading)
        return ArrayStrips(picture.pixels, picture.data_range)
    try:
        source = _opened(Path(path), form, reading)
        if form in ("TIFF", "NPY"):
            _refuse_bomb(source, Path(path).stat().st_size)
    except ImageError as error:
        raise type(error)(f"{shown(path)}: {error}") from error
    return source


def _opened(path: Path, form: str, reading: Reading) -> Strips:
    if form == "TIFF":
        from recolorist.io.strips_tiff import TiffStrips

        return TiffStrips(path, reading)
    if form in ("ZARR", "SLIDE"):
        from recolorist.io.strips_other import SlideStrips, ZarrStrips

        return ZarrStrips(path, reading) if form == "ZARR" else SlideStrips(path, reading)
    if form == "NPY":
        from recolorist.io.strips_other import NpyStrips

        return NpyStrips(path, reading)
    raise ImageError(f"{form} files are decoded as a whole; save huge images as tiled TIFF, NPY or Zarr")


def _refuse_bomb(source: Strips, size: int) -> None:
    declared = math.prod(source.shape) * source.dtype.itemsize
    if declared > _MOST_RATIO * size:
        source.close()
        raise ImageError(f"it declares {declared:,} bytes of pixels, over {_MOST_RATIO} times its own size; refused")
