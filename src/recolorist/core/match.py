"""Matching: measure, plan, apply. Everything that gives an image other colours goes through :func:`match_opened`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core.apply import (
    apply_opened,
    finished,
    keep_outside,
    limits,
    make_target,
    refuse_overflow,
    refuse_unclipped_integers,
    usable_pixels,
    write_affine,
)
from recolorist.core.blank import blank_map, is_blank
from recolorist.core.clipping import clipped_share
from recolorist.core.converted import are_levels
from recolorist.core.gains import Flags, Pairs
from recolorist.core.image import OnNonFinite, Opened, open_image, open_mask
from recolorist.core.limits import Fit, ImageLimits, fit_to_limits
from recolorist.core.moments import Moments, level_pairs, measure_opened
from recolorist.core.options import MATCHERS, EpsMode, MatchOptions, Ties, match_options
from recolorist.core.plan import ChannelMap, Plan, plan_map
from recolorist.core.spaces import SPACES
from recolorist.core.style_change import StyleChange, resolve_style
from recolorist.core.sums import float_pairs, integer_pairs
from recolorist.errors import ImageError, StatisticsError

__all__ = [
    "MATCHERS",
    "AffineMap",
    "StylePixels",
    "changed_pixels",
    "leave_blank",
    "match",
    "match_opened",
    "measure_for",
    "plan_opened",
    "write_map",
]

Mask = NDArray[np.bool_] | None


class StylePixels(NamedTuple):
    """A style that came as an image."""

    opened: Opened
    mask: Mask = None


@dataclass(slots=True)  # not frozen: that would double the cost of a small call
class AffineMap:
    """The map one image went through; its plan and the share it clipped are worked out when asked for."""

    numbers: ChannelMap | Plan
    content: Opened
    mask: Mask  #: the pixels that were open to change; None: all
    contrast: float = 1.0  #: factor on the deviations of the style that the limits left
    chosen: int = 0  #: which of the alternatives was taken; 0 is the style itself

    @property
    def strength(self) -> float:
        """The strength that was used."""
        return self.numbers.strength if isinstance(self.numbers, Plan) else self.numbers.options.strength

    @property
    def flags(self) -> Flags:
        """What was unusual, per channel of the matching space."""
        return self.numbers.flags

    @property
    def is_blank(self) -> bool:
        """Whether the image was left as it is because it is blank."""
        return "blank" in self.numbers.flags[0]

    def plan(self) -> Plan:
        """Return the plan: what provenance records."""
        return self.numbers if isinstance(self.numbers, Plan) else self.numbers.plan()

    def to_json(self) -> str:
        """Return the plan as one line of JSON, without making the plan."""
        return self.numbers.to_json()

    def clipped_share(self) -> list[float]:
        """Count the exact share of values, per channel, that were driven out of the range."""
        return clipped_share(self.content, self.numbers, self.mask)


def match(
    content: Any,
    style: Any,
    method: str = "mean_std",
    space: str = "rgb",
    mask: Any = None,
    style_mask: Any = None,
    strength: float = 1.0,
    *,
    max_gain: float = 10.0,
    eps_mode: EpsMode = "exact",
    strict: bool = False,
    data_range: float | None = None,
    style_range: float | None = None,
    clip: bool = True,
    apply_to: str = "all",
    on_nonfinite: OnNonFinite = "raise",
    alpha: bool | None = None,
    out: NDArray[Any] | None = None,
    ties: Ties = "neighbours",
) -> Any:
    """Give the content the colour statistics of the style; what cannot be used is refused with a RecoloristError.

    Args:
        content: An image, or a batch (N, H, W, C).
        style: An image, or the :class:`Moments` of one; for a batch also one for each image.
        method: A key of :data:`recolorist.MATCHERS`.
        space: A key of :data:`recolorist.SPACES`.
        mask: The pixels of the content that are measured.
        style_mask: The pixels of the style that are measured.
        strength: 0 leaves the image as it is, 1 matches it fully.
        max_gain: Largest factor on a channel.
        eps_mode: ``"exact"``, or ``"paper"`` for equation (1) of the paper as printed.
        strict: Refuse a style with a flat channel.
        data_range: Largest value that a float content may hold; 1.0 unless declared.
        style_range: The same for the style.
        clip: Clip outputs to the range. False is for float images only.
        apply_to: Change ``"all"`` pixels, or only those of the ``"mask"``.
        on_nonfinite: ``"raise"`` for NaN and infinite pixels, or ``"mask"`` to leave them out.
        alpha: Whether the last channel is alpha; None: if there are four.
        out: An array to write to; it must overlap no input.
        ties: How ``exact_histogram`` orders equal pixels: by their ``"neighbours"``, or by ``"position"`` alone.

    Returns:
        An image of the same type, shape, dtype and memory layout as the content.

    Raises:
        ImageError: An image, a mask or ``out`` cannot be used.
        OptionError: An option is unknown, or a number lies outside its limits.
        StatisticsError: The style does not fit the content, the space or the method.

    Example:
        >>> content, style = np.random.default_rng(0).integers(60, 180, (2, 32, 48, 3), dtype=np.uint8)
        >>> bool(abs(match(content, style).mean() - style.mean()) < 0.1)
        True
    """
    options = match_options(
        method, space, strength, max_gain, eps_mode, strict, clip, apply_to, on_nonfinite, "match", None, None, ties
    )
    opened = open_image(content, data_range, alpha, "content", padded=options.by_channel)
    inside = None if mask is None else open_mask(mask, opened)
    count = len(opened.array) if opened.is_batch else None
    styles = _open_styles(style, style_mask, style_range, alpha, options, count)
    result, target = make_target(opened, out, style, mask, style_mask)
    if count is None:
        match_opened(opened, inside, styles[0], target, options)
    else:
        for i, each in enumerate(styles):
            match_opened(opened[i], None if inside is None else inside[i], each, target[i], options)
    return finished(opened, result, out)


def match_opened(
    content: Opened,
    mask: Mask,
    style: Moments | StyleChange | StylePixels,
    target: NDArray[Any],
    options: MatchOptions,
    alternatives: Sequence[Moments | StyleChange] = (),
) -> AffineMap | None:
    """Match one opened image and write it to ``target``: measure, plan, apply.

    Args:
        content: The image.
        mask: The pixels that are measured and, with ``apply_to="mask"``, changed.
        style: The moments of the style, a change of the image's own, or the pixels of a style.
        target: Where to write, shaped like ``content.array``.
        options: How to match.
        alternatives: Styles that are tried in turn where one before exceeds a limit of the options.

    Returns:
        The map that was applied, for records; None for the methods that need the pixels of the style. A blank image that was
        left as it is has a map that changes nothing, with the flag ``blank``.

    Example:
        >>> grey = open_image(np.array([[0, 2]], np.uint8))
        >>> target = np.empty_like(grey.array)
        >>> done = match_opened(grey, None, Moments(1, [20.0], [[100.0]], 255.0), target, MatchOptions())
        >>> target.ravel().tolist(), done.plan().gain.tolist(), done.clipped_share()
        ([10, 30], [10.0], [0.0])
    """
    if not options.clip:
        refuse_unclipped_integers(content, clip=False)
    if options.needs_pixels:
        if not isinstance(style, StylePixels):
            raise StatisticsError(f"method={options.method!r} needs the style's pixels, and moments were given; pass the image")
        if options.blank == "keep" and is_blank(content, mask):
            return leave_blank(content, target)
        from recolorist.core.histograms import match_pixels

        match_pixels(content, mask, *style, target, options)
        return None
    fit = plan_opened(content, mask, style, options, alternatives)
    if fit is None:
        return leave_blank(content, target)
    numbers, _, contrast, chosen = fit
    return AffineMap(numbers, content, write_map(content, mask, numbers, target, options), contrast, chosen)


def plan_opened(
    content: Opened,
    mask: Mask,
    style: Moments | StyleChange | StylePixels,
    options: MatchOptions,
    alternatives: Sequence[Moments | StyleChange] = (),
) -> Fit | None:
    """Measure one opened image and plan its map: what :func:`match_opened` does before it writes.

    Returns:
        The map, and what was given up to keep the limits; None for a blank image that is to be left as it is.
    """
    keeps_blank = options.blank == "keep"
    if keeps_blank and mask is not None and not mask.any():
        return None
    measured = measure_for(content, mask, options)
    in_rgb = options.measured_space == "rgb"
    if keeps_blank and is_blank(content, mask, measured if in_rgb else None):
        return None
    unit = content.data_range if in_rgb else 1.0  # other spaces have units of their own
    if isinstance(style, StylePixels):
        goal = _measure_style(style, measured, content.data_range, options)
    else:
        goal = resolve_style(style, measured, unit, options)
    if not options.is_limited:
        return Fit(plan_map(measured, goal, options, unit), options.strength)
    keeps = ImageLimits(content, changed_pixels(content, mask, options), options)
    others = [resolve_style(other, measured, unit, options) for other in alternatives]
    return fit_to_limits(measured, [goal, *others], options, unit, keeps)


def leave_blank(content: Opened, target: NDArray[Any]) -> AffineMap:
    """Copy a blank image to ``target``; returns the map that changes nothing, with the flag ``blank``."""
    target[...] = content.array
    return AffineMap(blank_map(content), content, None)


def measure_for(opened: Opened, mask: Mask, options: MatchOptions) -> Pairs | Moments:
    """Measure what the options need: mean and variance of each channel where these are enough, else the full covariance.

    Nothing else decides between the two. The numbers they share are equal to the last bit.
    """
    pairs = _measure_channels(opened, mask, options, "content")
    if pairs is not None:
        return pairs
    if options.clip or not SPACES[options.space].is_linear:
        return measure_opened(opened, mask, options.space, options.on_nonfinite, "content")
    free = Opened(opened.array, opened.channels, opened.kind, math.inf, opened.shape, opened.from_pil)  # no range to enforce
    moments = measure_opened(free, mask, options.space, options.on_nonfinite, "content")
    if moments.data_range == opened.data_range:
        return moments
    return Moments(moments.count, moments.mean, moments.cov, opened.data_range, moments.space)


def write_map(content: Opened, mask: Mask, numbers: ChannelMap | Plan, target: NDArray[Any], options: MatchOptions) -> Mask:
    """Write one image through a planned map; returns the pixels that were open to change, None for all."""
    keep = changed_pixels(content, mask, options)
    if isinstance(numbers, Plan) or options.space != "rgb":
        plan = numbers if isinstance(numbers, Plan) else numbers.plan()
        apply_opened(content, plan, target, keep, clip=options.clip)
        return keep
    gain, offset = numbers.gain, numbers.offset
    if gain.count(1.0) == len(gain) and not any(offset) and not content.is_integer:
        target[...] = content.array  # as it is, the sign of a zero included
        return keep
    bounds = limits(content, clip=options.clip)
    write_affine(content, target, gain, offset, bounds)
    if keep is not None:
        keep_outside(content, target, keep)
    if bounds[1] == math.inf:
        refuse_overflow(content, target)
    return keep


def changed_pixels(content: Opened, mask: Mask, options: MatchOptions) -> Mask:
    """Return the pixels that a match changes, None for all: those of the mask if it says so, and of floats the finite ones."""
    if mask is None and options.on_nonfinite == "raise":
        return None
    keep = mask if options.apply_to == "mask" else None
    if not content.is_integer and (options.on_nonfinite == "mask" or (mask is not None and keep is None)):
        return usable_pixels(content, keep, options.on_nonfinite, checked_range=options.clip)  # pixels that were not measured
    return keep


def _measure_channels(opened: Opened, mask: Mask, options: MatchOptions, name: str) -> Pairs | None:
    """Measure each channel on its own: all integers, and floats that lie in memory as the loops count; None for others."""
    if not options.by_channel:
        alone = options.method == "mean_std" and options.measured_space != "rgb" and are_levels(opened)
        return level_pairs(opened, mask, options.space, name) if alone else None
    if opened.is_integer:
        return integer_pairs(opened, mask, name)
    array = opened.array
    plain = mask is None and opened.kind in "fd" and array.dtype.isnative and options.clip and options.on_nonfinite == "raise"
    if plain and array.flags.c_contiguous and array.shape[-1] == opened.channels:
        return float_pairs(array, opened.data_range, name)
    if plain and array[..., 0].flags.c_contiguous:  # channel-first memory seen channel-last
        return float_pairs(opened.colour, opened.data_range, name)
    return None


def _measure_style(style: StylePixels, content: Pairs | Moments, data_range: float, options: MatchOptions) -> Pairs | Moments:
    """Measure the style as the content was, where it is in the same units."""
    opened, mask = style
    pairs = None
    if isinstance(content, list) and (opened.data_range == data_range or options.measured_space != "rgb"):
        pairs = _measure_channels(opened, mask, options, "style")
    if pairs is not None:
        return pairs
    return measure_opened(opened, mask, options.space, options.on_nonfinite, "style")


def _open_styles(
    style: Any, style_mask: Any, style_range: float | None, alpha: bool | None, options: MatchOptions, count: int | None
) -> Sequence[Moments | StylePixels]:
    """Return one style for each content image; a single style for a batch is measured once."""
    if isinstance(style, (Moments, tuple, list)) and style_mask is not None:
        raise StatisticsError("style_mask was given with moments, which have no pixels to mask; measure(style, mask) instead")
    if isinstance(style, Moments):
        return [style] * (1 if count is None else count)
    if isinstance(style, (tuple, list)):
        if not all(isinstance(moments, Moments) for moments in style):
            raise ImageError(
                f"the style is a {type(style).__name__} of something else than moments; accepted are NumPy arrays, PIL images, "
                "and what measure() returns. Pass a batch of images as one array (N, H, W, C)."
            )
        _refuse_count(len(style), count)
        return style
    opened = open_image(style, style_range, alpha, "style", padded=options.by_channel)
    inside = open_mask(style_mask, opened, "style_mask")
    if opened.is_batch:
        _refuse_count(len(opened.array), count)
        return [StylePixels(opened[i], None if inside is None else inside[i]) for i in range(len(opened.array))]
    if count is not None and not options.needs_pixels:
        return [measure_opened(opened, inside, options.space, options.on_nonfinite, "style")] * count
    return [StylePixels(opened, inside)] * (1 if count is None else count)


def _refuse_count(styles: int, count: int | None) -> None:
    if styles != count:
        contents = "one image" if count is None else f"{count} images"
        raise ImageError(f"{styles} styles for {contents}; give one style, or a batch with one for each image of a batch")
