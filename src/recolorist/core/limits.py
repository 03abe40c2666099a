"""Limits of a match: how much may be clipped, and in how many patches detail may be lost.

A match that exceeds a limit keeps the style's mean and gets less of its contrast, down to a half. If that is not enough, its
strength is reduced as well. At strength 0 the image stays as it is, so the limits can always be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core.apply import apply_opened, limits, write_affine
from recolorist.core.clipping import colour_values, predicted_share, unclipped_values
from recolorist.core.detail import (
    DetailLoss,
    Patches,
    compare_levels,
    compare_patches,
    lay_patches,
    sample_mask,
    sample_pixels,
)
from recolorist.core.gains import Pairs
from recolorist.core.image import NATURAL_RANGE, Opened
from recolorist.core.moments import Moments
from recolorist.core.options import MatchOptions
from recolorist.core.plan import ChannelMap, Plan, plan_map

__all__ = [
    "Fit",
    "ImageLimits",
    "LimitCheck",
    "channel_loss",
    "channel_numbers",
    "fit_to_limits",
    "measure_loss",
    "reduce_contrast",
    "sampled_loss",
]

Mask = NDArray[np.bool_] | None
LimitCheck = Callable[[ChannelMap | Plan], bool]

_LEAST_CONTRAST: Final = 0.5  # of the style's; measured on real pairs, see docs/loss.md
_LEAST_GAIN: Final = 0.25  # from here on rounding alone cannot take half of the contrast from a patch with detail
_MOST_CHANNELS: Final = 16  # whose patches one compiled call maps and compares
_HALVINGS: Final = 8  # contrast and strength are found to half a hundredth


class Fit(NamedTuple):
    """A map that keeps its limits, and what was given up for that."""

    numbers: ChannelMap | Plan
    strength: float
    contrast: float = 1.0  #: factor on the deviations of the style
    chosen: int = 0  #: which of the styles was taken


class ImageLimits:
    """The limits of one image in memory; calling it says whether a map keeps them.

    Args:
        content: The image.
        changed: The pixels that the map changes; None: all.
        options: The options that hold the limits.
    """

    def __init__(self, content: Opened, changed: Mask, options: MatchOptions) -> None:
        self.content, self.changed, self.options = content, changed, options

    def __call__(self, numbers: ChannelMap | Plan) -> bool:
        """Return whether a map keeps the limits."""
        clipped = predicted_share(self.content, numbers, self.changed)
        if self.options.max_clip is not None and clipped > self.options.max_clip:
            return False
        if self.options.max_loss is None or (clipped == 0 and _passes_detail(numbers)):
            return True
        patches, sample, mask = self._sample
        return sampled_loss(sample, numbers, mask, patches).share <= self.options.max_loss

    @cached_property
    def _sample(self) -> tuple[Patches, Opened, Mask]:
        patches = lay_patches(*self.content.array.shape[:2])
        return patches, sample_pixels(self.content, patches), sample_mask(self.changed, patches)


def fit_to_limits(
    content: Pairs | Moments, styles: Sequence[Pairs | Moments], options: MatchOptions, data_range: float, is_kept: LimitCheck
) -> Fit:
    """Plan the map to the first style that keeps the limits, else to the last one as closely as they allow.

    Args:
        content: The measured content, as for :func:`recolorist.core.plan.plan_map`.
        styles: The measured styles, in the order in which they are tried.
        options: How to match; its strength is the largest that is tried.
        data_range: The range of the content.
        is_kept: Returns whether a map keeps the limits.

    Returns:
        The map, its strength, the share of the style's contrast that it gives, and the place of the style.
    """
    strength, last = options.strength, len(styles) - 1

    def plan_at(style: Pairs | Moments, contrast: float = 1.0, weaker: float = strength) -> ChannelMap | Plan:
        weakened = style if contrast == 1 else reduce_contrast(style, contrast)
        return plan_map(content, weakened, options.at_strength(weaker), data_range)

    for place, style in enumerate(styles):
        numbers = plan_at(style)
        if is_kept(numbers):
            return Fit(numbers, strength, 1.0, place)
    style = styles[last]
    if is_kept(plan_at(style, _LEAST_CONTRAST)):
        contrast = _search(_LEAST_CONTRAST, 1.0, lambda middle: is_kept(plan_at(style, middle)))
        return Fit(plan_at(style, contrast), strength, contrast, last)
    weaker = _search(0.0, strength, lambda middle: is_kept(plan_at(style, _LEAST_CONTRAST, middle)))
    return Fit(plan_at(style, _LEAST_CONTRAST, weaker), weaker, _LEAST_CONTRAST, last)


def reduce_contrast(style: Pairs | Moments, contrast: float) -> Pairs | Moments:
    """Return a style with the same mean and its deviations times a factor.

    Example:
        >>> reduce_contrast([(100.0, 16.0)], 0.5)
        [(100.0, 4.0)]
    """
    square = contrast * contrast
    if isinstance(style, Moments):
        return Moments(style.count, style.mean, style.cov * square, style.data_range, style.space)
    return [(mean, variance * square) for mean, variance in style]


def measure_loss(content: Opened, numbers: ChannelMap | Plan, mask: Mask) -> DetailLoss:
    """Measure the detail that a map takes from an image, without writing it."""
    alone = channel_numbers(numbers, content.data_range)
    if alone is not None:
        return channel_loss(content, *alone, mask)
    patches = lay_patches(*content.array.shape[:2])
    return sampled_loss(sample_pixels(content, patches), numbers, sample_mask(mask, patches), patches)


def channel_loss(content: Opened, gain: list[float], offset: list[float], mask: Mask) -> DetailLoss:
    """Measure the detail that a map of each channel by itself takes from an image."""
    array = content.array
    patches = lay_patches(*array.shape[:2])
    if (
        mask is None
        and content.kind == "B"
        and array.shape[-1] == content.channels <= _MOST_CHANNELS
        and array.flags.c_contiguous
        and content.data_range == NATURAL_RANGE["B"]
    ):
        return compare_levels(content, patches, gain, offset)
    return _compare_channels(sample_pixels(content, patches), gain, offset, sample_mask(mask, patches), patches)


def _compare_channels(sample: Opened, gain: list[float], offset: list[float], mask: Mask, patches: Patches) -> DetailLoss:
    target: NDArray[Any] = np.empty_like(sample.array)
    write_affine(sample, target, gain, offset, limits(sample, clip=True))
    return compare_patches(sample, target, mask, patches, gain)


def sampled_loss(sample: Opened, numbers: ChannelMap | Plan, mask: Mask, patches: Patches) -> DetailLoss:
    """Measure the detail that a map takes from the sampled pixels of an image."""
    alone = channel_numbers(numbers, sample.data_range)
    if alone is not None:
        return _compare_channels(sample, *alone, mask, patches)
    plan = numbers if isinstance(numbers, Plan) else numbers.plan()
    target: NDArray[Any] = np.empty_like(sample.array)
    apply_opened(sample, plan, target, None, clip=True)
    expected = unclipped_values(colour_values(sample, None), sample, plan).reshape(sample.array.shape)
    if not plan.is_linear_space:  # one colour far outside the gamut must not hide the others
        expected = np.clip(expected, -sample.data_range, 2.0 * sample.data_range)
    return compare_patches(sample, target, mask, patches, expected)


def channel_numbers(numbers: ChannelMap | Plan, data_range: float) -> tuple[list[float], list[float]] | None:
    """Return gain and offset of each channel in the units of an image; None for a map that does not act on RGB alone."""
    if isinstance(numbers, ChannelMap):
        return (numbers.gain, numbers.offset) if numbers.options.space == "rgb" else None
    gain, offset = numbers.numbers
    if len(gain) != numbers.channels or not numbers.is_linear_space:
        return None
    return gain, offset if data_range == numbers.data_range else numbers.offset_for(data_range).tolist()


def _search(low: float, high: float, is_kept: Callable[[float], bool]) -> float:
    """Return the largest tried number for which the limits are kept; ``low`` keeps them."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low


def _passes_detail(numbers: ChannelMap | Plan) -> bool:
    """Return whether a map that clips nothing leaves every patch more than half of its detail."""
    if isinstance(numbers, ChannelMap):
        return numbers.options.space == "rgb" and min(numbers.gain) >= _LEAST_GAIN
    return numbers.is_linear_space and numbers.is_diagonal and bool(numbers.gain.min() >= _LEAST_GAIN)
