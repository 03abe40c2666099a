"""Lost detail: how much of an image's local contrast did not arrive, patch by patch.

A patch is a square of a sixteenth of the shorter side, at least 8 pixels. In each, 64 pixels spread evenly are compared, so
the cost does not grow with the image. A channel takes part where its deviation in the patch is a 64th of the range or more
(4 levels of 255): below that lies the noise of cameras and JPEG. It must also be half of that of the patch's strongest channel:
what a weaker one loses is seen in the others.

The share of the contrast that arrived is a slope, in each patch and channel: that of what was written on what the map would
have written without limits. It is never more than their correlation, which rounding lowers. Values that are clipped to one level
pass nothing on: the slope is the share of the contrast that was not clipped. The loss of a patch is that of its worst channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.image import Opened
from recolorist.core.kernels import fallback_audit

__all__ = [
    "DetailLoss",
    "Patches",
    "compare_levels",
    "compare_patches",
    "draw_map",
    "lay_patches",
    "sample_mask",
    "sample_pixels",
]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_] | None

_PARTS: Final = 16  # patches along the shorter side
_LEAST: Final = 8  # pixels along the side of a patch, at least
_GRID: Final = 8  # pixels compared along the side of a patch
_MOST: Final = 256  # patches along the longer side
_FLOOR: Final = 1.0 / 64.0  # of the range: the deviation from which a channel has detail
_MOST_CHANNELS: Final = 64  # that the compiled loop compares
_ENOUGH: Final = _GRID * _GRID // 4  # compared pixels that must lie inside a mask
_DIGITS: Final = np.frombuffer(b"0123456789.", np.uint8)  # of a map of losses: tenths, and no detail


class Patches(NamedTuple):
    """The patches of an image of one size, and the pixels that stand for them."""

    height: int
    width: int
    rows: int
    columns: int
    lines: NDArray[np.int64]  #: (64, patches): the row of each compared pixel
    places: NDArray[np.int64]  #: (64, patches): its column
    pixels: NDArray[np.int64]  #: (64, patches): its number, counted row by row
    grid: tuple[NDArray[np.int64], NDArray[np.int64]]  #: all rows, 8 for each row of patches, and all columns

    def box(self, patch: int) -> tuple[int, int, int, int]:
        """Return left, top, right and bottom of a patch, in pixels."""
        row, column = divmod(patch, self.columns)
        left, right = round(column * self.width / self.columns), round((column + 1) * self.width / self.columns)
        top, bottom = round(row * self.height / self.rows), round((row + 1) * self.height / self.rows)
        return left, top, right, bottom


@dataclass(frozen=True, slots=True, eq=False)
class DetailLoss:
    """How much detail an image lost, and where.

    Args:
        patches: (rows, columns) the lost share of each patch, rounded to thousandths; NaN where there was no detail.
        by_channel: The share of patches with detail that lost more than half of it in this channel.
        share: The same for any channel.
        worst: The largest lost share of a patch; 0 if no patch had detail.
        worst_box: Left, top, right and bottom of that patch in pixels; None if no patch had detail.
    """

    patches: Array
    by_channel: Array
    share: float
    worst: float
    worst_box: tuple[int, int, int, int] | None

    def figures(self) -> dict[str, Any]:
        """Return what a record keeps of it, with a small map: see :func:`draw_map`."""
        box = None if self.worst_box is None else list(self.worst_box)
        return {"loss_share": self.share, "loss_worst": self.worst, "loss_worst_box": box, "loss_map": draw_map(self.patches)}


def draw_map(patches: Array) -> list[str]:
    """Write a map of losses as text: a line for each row of patches, a digit for the tenths lost, a dot where nothing was.

    Example:
        >>> draw_map(np.array([[0.0, 0.42], [1.0, np.nan]]))
        ['04', '9.']
    """
    tenths = np.where(np.isnan(patches), len(_DIGITS) - 1, np.minimum(10 * patches, 9)).astype(np.intp)
    return [row.tobytes().decode() for row in _DIGITS[tenths]]


@lru_cache(maxsize=64)
def lay_patches(height: int, width: int) -> Patches:
    """Lay out the patches of an image.

    Example:
        >>> patches = lay_patches(363, 360)
        >>> patches.rows, patches.columns, patches.box(0)
        (16, 16, (0, 0, 22, 23))
    """
    side = max(_LEAST, min(height, width) / _PARTS)
    rows, columns = (min(_MOST, max(1, int(length / side))) for length in (height, width))
    lines = (((np.arange(rows * _GRID) + 0.5) * height) / (rows * _GRID)).astype(np.int64)
    places = (((np.arange(columns * _GRID) + 0.5) * width) / (columns * _GRID)).astype(np.int64)
    by_row, by_column = lines.reshape(rows, _GRID).T[:, None, :, None], places.reshape(columns, _GRID).T[None, :, None, :]
    every_line, every_place = (part.reshape(_GRID * _GRID, -1) for part in np.broadcast_arrays(by_row, by_column))
    return Patches(height, width, rows, columns, every_line, every_place, every_line * width + every_place, (lines, places))


def sample_pixels(opened: Opened, patches: Patches) -> Opened:
    """Return the compared pixels as an image of 64 rows with one column for each patch; alpha is left out."""
    array = opened.array
    if array.flags.c_contiguous and array.shape[-1] == opened.channels:  # ten times as fast as two indices
        pixels = np.empty((*patches.pixels.shape, opened.channels), array.dtype)
        kernels.loops.gather(array, pixels[0, 0].nbytes, patches.pixels, pixels)
    else:
        pixels = np.ascontiguousarray(opened.colour[patches.lines, patches.places])
    return Opened(pixels, opened.channels, opened.kind, opened.data_range, pixels.shape, from_pil=False)


def sample_mask(mask: Mask, patches: Patches) -> Mask:
    """Return the mask at the compared pixels."""
    return None if mask is None else mask[patches.lines, patches.places]


def compare_patches(
    before: Opened, after: NDArray[Any], mask: Mask, patches: Patches, expected: Array | Sequence[float] | None = None
) -> DetailLoss:
    """Compare the sampled pixels of an image before and after a map.

    Args:
        before: What :func:`sample_pixels` returned.
        after: What was written there.
        mask: The compared pixels that count; None: all.
        patches: The layout.
        expected: What the map would have written there without limits, or its gain for each channel; None if that is not
            known. Then a patch keeps as much as its correlation says.

    Returns:
        The loss of every patch, the worst one and the share of those that lost more than half.

    Example:
        >>> from recolorist.core.image import open_image
        >>> ramp = open_image(np.arange(256, dtype=np.uint8).reshape(16, 16))
        >>> patches = lay_patches(16, 16)
        >>> sample = sample_pixels(ramp, patches)
        >>> doubled = np.minimum(2.0 * sample.array, 255)
        >>> compare_patches(sample, doubled, None, patches, [2.0]).patches.tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    channels = before.channels
    limits = (_least_variance(before), 0 if mask is None else _ENOUGH)
    counts = None if mask is None else np.maximum(mask.sum(axis=0, dtype=np.int64), 1)
    source, written = _inside(before.array, mask), _inside(after, mask)
    if isinstance(expected, np.ndarray):
        expected = _inside(expected, mask)
    by_level = before.kind == "B" and after.dtype == np.uint8 and not isinstance(expected, np.ndarray)
    loops = kernels.loops if by_level and channels <= _MOST_CHANNELS else fallback_audit
    losses = np.empty((patches.rows, patches.columns))
    return _summarise(loops.patch_losses(source, written, channels, counts, expected, limits, losses), losses, patches)


def compare_levels(image: Opened, patches: Patches, gain: list[float], offset: list[float]) -> DetailLoss:
    """Compare an 8-bit image with what a diagonal map makes of it, without writing that.

    Args:
        image: The image: contiguous, without alpha, with all of its range.
        patches: The layout.
        gain: The factor on each channel.
        offset: What is added.

    Returns:
        The numbers of :func:`compare_patches`.
    """
    losses, numbers = np.empty((patches.rows, patches.columns)), (gain, offset)
    found = kernels.loops.level_losses(
        image.array, image.channels, patches.width, *patches.grid, numbers, _least_variance(image), losses
    )
    return _summarise(found, losses, patches)


def _least_variance(image: Opened) -> float:
    """Return the variance from which a channel of a patch has detail."""
    return 0.0 if math.isinf(image.data_range) else (_FLOOR * image.data_range) ** 2


def _summarise(found: tuple[int, int, tuple[int, ...], int, float], losses: Array, patches: Patches) -> DetailLoss:
    """Turn the counts of a loop into shares."""
    detailed, lost, lost_in, place, most = found
    total, box = max(1, detailed), None if most < 0 else patches.box(place)
    return DetailLoss(losses, np.array([count / total for count in lost_in]), lost / total, max(0.0, round(most, 3)), box)


def _inside(values: NDArray[Any], mask: Mask) -> NDArray[Any]:
    """Return sampled values with zeros outside the mask."""
    return values if mask is None else np.where(mask[..., None], values, values.dtype.type(0))
