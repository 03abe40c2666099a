"""Make the smaller levels of a pyramid while the finest one is written, and keep them in temporary files until it is done."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spool", "halve"]

_SMALLEST: Final = 512  # the longer side of the last level is at most this
_ROWS: Final = 256


class Spool:
    """Temporary files with the smaller levels: bands pass through, are halved, and are read again level by level."""

    def __init__(self, folder: Path, shape: tuple[int, int, int], dtype: np.dtype[Any], *, enabled: bool) -> None:
        """Compute the shapes of the levels; ``enabled=False`` makes none."""
        self._folder, self._dtype = folder, dtype
        self._shapes = _shapes(shape) if enabled else []
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        """Open one unnamed file per level."""
        self._files = [tempfile.TemporaryFile(dir=self._folder) for _ in self._shapes]  # noqa: SIM115 - closed in __exit__
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the files, which removes them."""
        for file in self._files:
            file.close()

    @property
    def count(self) -> int:
        """Levels beside the finest."""
        return len(self._shapes)

    def through(self, bands: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Yield the bands unchanged and keep their halves.

        Args:
            bands: The rows of the image, from top to bottom.

        Yields:
            The same bands.
        """
        halver = _Halver(self._files)
        for band in bands:
            halver.add(band, 0)
            yield band
        halver.finish()

    def levels(self) -> Iterator[tuple[tuple[int, int, int], Iterator[NDArray[Any]]]]:
        """Yield shape and rows of each smaller level, the largest first.

        Yields:
            A shape and the rows of it.
        """
        for file, shape in zip(self._files, self._shapes, strict=True):
            yield shape, self._rows(file, shape)

    def _rows(self, file: IO[bytes], shape: tuple[int, int, int]) -> Iterator[NDArray[Any]]:
        file.seek(0)
        height, width, depth = shape
        for start in range(0, height, _ROWS):
            rows = min(_ROWS, height - start)
            data = file.read(rows * width * depth * self._dtype.itemsize)
            yield np.frombuffer(data, self._dtype).reshape(rows, width, depth)


class _Halver:
    """Halves every level into the next; an odd last row waits for the next band."""

    def __init__(self, files: list[IO[bytes]]) -> None:
        self._files = files
        self._odd: list[NDArray[Any] | None] = [None for _ in files]

    def add(self, band: NDArray[Any], level: int) -> None:
        if level == len(self._files):
            return
        waiting = self._odd[level]
        rows = band if waiting is None else np.concatenate([waiting, band])
        even = len(rows) // 2 * 2
        self._odd[level] = rows[even:].copy() if len(rows) > even else None
        if even:
            self._keep(halve(rows[:even]), level)

    def finish(self) -> None:
        for level in range(len(self._files)):
            waiting = self._odd[level]
            if waiting is not None:
                self._odd[level] = None
                self._keep(halve(np.concatenate([waiting, waiting])), level)

    def _keep(self, small: NDArray[Any], level: int) -> None:
        self._files[level].write(np.ascontiguousarray(small).tobytes())
        self.add(small, level + 1)


def halve(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the means of 2 x 2 pixels, rounded half to even; an odd last column is used twice.

    Args:
        rows: An even number of rows, (H, W, C).

    Returns:
        Half as many rows and columns.

    Example:
        >>> halve(np.array([[[0], [2], [9]], [[2], [4], [9]]], np.uint8))[..., 0].tolist()
        [[2, 9]]
    """
    if rows.shape[1] % 2:
        rows = np.concatenate([rows, rows[:, -1:]], axis=1)
    exact = np.float64 if rows.dtype == np.float64 else np.float32
    total = rows[0::2, 0::2].astype(exact) + rows[0::2, 1::2] + rows[1::2, 0::2] + rows[1::2, 1::2]
    mean = total / 4
    return np.asarray(np.rint(mean) if rows.dtype.kind == "u" else mean).astype(rows.dtype)


def _shapes(shape: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    shapes = []
    height, width, depth = shape
    while max(height, width) > _SMALLEST:
        height, width = (height + 1) // 2, (width + 1) // 2
        shapes.append((height, width, depth))
    return shapes
