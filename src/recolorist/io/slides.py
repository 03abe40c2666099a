"""Whole slides through OpenSlide."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.reading import Reading, describe_error
from recolorist.io.strips import Strips

__all__ = ["SlideStrips"]

_COLUMNS: Final = 2048  # read at a time
_ROWS: Final = 256


class SlideStrips(Strips):
    """One level of a whole slide. Where nothing was scanned it has the slide's background colour."""

    def __init__(self, path: Path, reading: Reading) -> None:
        """Open the slide; raise ImageError if OpenSlide cannot read it or it lacks the level."""
        openslide = optional.load("openslide", "read whole slides")
        try:
            self._slide = openslide.OpenSlide(str(path))
            width, height = self._slide.level_dimensions[reading.level]
        except IndexError as error:
            raise ImageError(f"it has {self._slide.level_count} level(s), and level {reading.level} was asked for") from error
        except Exception as error:  # OpenSlide's own errors, which share no base with ours
            raise ImageError(f"OpenSlide cannot read it: {describe_error(error)}") from error
        self._level, self._scale = reading.level, float(self._slide.level_downsamples[reading.level])
        colour = self._slide.properties.get("openslide.background-color", "ffffff")
        self._background = tuple(int(colour[at : at + 2], 16) for at in (0, 2, 4))
        self.shape, self.dtype, self.step, self.packed = (height, width, 3), np.dtype(np.uint8), _ROWS, True

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read the rows in pieces of a few columns.

        Args:
            start: The first row.
            stop: The row after the last one.

        Returns:
            The pixels, (stop - start, W, 3).

        Raises:
            ImageError: They cannot be decoded.
        """
        out = np.empty((stop - start, self.shape[1], 3), np.uint8)
        try:
            for left in range(0, self.shape[1], _COLUMNS):
                out[:, left : left + _COLUMNS] = self._region(left, start, min(_COLUMNS, self.shape[1] - left), stop - start)
        except Exception as error:  # as above
            raise ImageError(f"rows {start} to {stop} cannot be decoded: {describe_error(error)}") from error
        return out

    def close(self) -> None:
        """Close the slide."""
        self._slide.close()

    def _region(self, left: int, top: int, width: int, height: int) -> NDArray[Any]:
        corner = (round(left * self._scale), round(top * self._scale))  # OpenSlide counts in pixels of the finest level
        region = self._slide.read_region(corner, self._level, (width, height))
        plain = Image.new("RGB", region.size, self._background)
        plain.paste(region, mask=region.getchannel("A"))
        return np.asarray(plain)
