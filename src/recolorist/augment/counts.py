"""Counting blank images, and a warning where nearly all are: then the range is wrong, not the images."""

from __future__ import annotations

import warnings
from typing import Final

__all__ = ["BlankCounts", "BlankWarning"]

_FIRST: Final = 64  # images after which the share is looked at
_MOST: Final = 0.75  # share of blank images that no training set has


class BlankWarning(UserWarning):
    """Nearly all images are blank and stay as they are."""


class BlankCounts:
    """How many images came and how many of them were blank, in this process.

    Example:
        >>> counts = BlankCounts()
        >>> counts.add(is_blank=True)
        >>> counts.add(is_blank=False)
        >>> counts.images, counts.blank
        (2, 1)
    """

    __slots__ = ("blank", "images")

    def __init__(self) -> None:
        """Begin with none."""
        self.images = self.blank = 0

    def add(self, *, is_blank: bool) -> None:
        """Count one image; the 64th warns if more than three quarters of them were blank.

        Args:
            is_blank: Whether the image is blank.
        """
        self.images += 1
        self.blank += is_blank
        if self.images == _FIRST and self.blank > _MOST * _FIRST:
            warnings.warn(
                f"{self.blank} of the first {_FIRST} images are blank and stay as they are. If they are not, their range is "
                "wrong: declare it (data_range=4095 for 12 bits), or pass blank='match' to match every image.",
                BlankWarning,
                stacklevel=2,
            )

    def __reduce__(self) -> tuple[type[BlankCounts], tuple[()]]:
        """A copy begins with none, so that a hash of its owner does not change with use."""
        return BlankCounts, ()
