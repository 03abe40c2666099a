"""What was drawn for one image as one map of its pixels: the seam between Colorist and the routes of this package.

Torch hosts bring their own memory layout, channels first; everything else is :class:`recolorist.Colorist`'s.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.colorist import Colorist, Draw
from recolorist.core import image as check
from recolorist.core.gains import Pairs, diagonal_map, mean_and_variance
from recolorist.core.moments import integer_pairs


class Affine(NamedTuple):
    """A map of pixels: one gain per channel, or a matrix row by row, and offsets in units of 0 to ``data_range``."""

    gain: list[float]
    offset: list[float]
    data_range: float


def affine(colorist: Colorist, pixels: NDArray[Any], drawn: Draw, mask: Any = None) -> Affine | None:
    """What was drawn as one map of RGB for an array with channels last; None where it is not one map of all pixels."""
    if mask is None and is_plain(colorist, pixels):
        return plain_affine(colorist, pixels, drawn)
    inside = colorist.mask_of(pixels, mask)
    if inside is not None and colorist.apply_to == "mask":
        return None
    plan = colorist.decide(pixels, drawn, inside).plan
    if plan is None or not plan.is_linear_space:
        return None
    gain = plan.matrix.diagonal() if plan.is_diagonal else plan.matrix.ravel()
    return Affine(gain.tolist(), plan.offset.tolist(), plan.data_range)


def is_plain(colorist: Colorist, pixels: NDArray[Any]) -> bool:
    """Whether mean and deviation per channel of integer pixels are all that is needed: nearly always in training."""
    usual = colorist.method == "mean_std" and colorist.space == "rgb" and colorist.max_clip is None and colorist.mask is None
    # four channels mean alpha to the core, which knows what to do with it
    fits = pixels.ndim == 3 and pixels.shape[-1] != 4 and pixels[..., 0].size > 0
    integer = pixels.dtype in (np.uint8, np.uint16) and pixels.dtype.isnative
    return usual and fits and integer and colorist.data_range is None and pixels.shape[-1] == colorist.bank.channels


def plain_affine(colorist: Colorist, pixels: NDArray[Any], drawn: Draw) -> Affine:
    """The usual case with as little ado as possible; the same numbers as `match`."""
    colorist.warn_once_of_size(pixels)
    data_range = check.NATURAL_RANGE[pixels.dtype.char]
    goal = mean_and_variance(drawn.style.moments, data_range)
    gain, offset, _ = diagonal_map(level_pairs(pixels), goal, colorist.options.at_strength(drawn.strength))
    return Affine(gain, offset, data_range)


def level_pairs(pixels: NDArray[Any]) -> Pairs:
    """Exact mean and variance of each channel of integer pixels (H, W, C), whose memory may be channel first.

    >>> level_pairs(np.array([[[0], [10], [20], [30]]], np.uint8))
    [(15.0, 125.0)]
    """
    return integer_pairs(check.open_image(pixels, alpha=False), None, "image")
