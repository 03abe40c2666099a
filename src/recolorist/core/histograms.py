"""The two histogram methods: per-channel CDF matching, and exact specification by strict ordering (Coltuc 2006)."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core.apply import keep_outside, limits, unit_pixels, usable_pixels, write_floats
from recolorist.core.clipping import level_counts
from recolorist.core.image import Opened, refuse_unknown_white
from recolorist.core.moments import measure_opened
from recolorist.core.options import MatchOptions
from recolorist.core.plan import refuse_channels
from recolorist.core.spaces import SPACES
from recolorist.errors import StatisticsError

__all__ = ["cdf_curve", "is_flat", "level_table", "match_exactly", "match_levels", "match_pixels"]

Mask = NDArray[np.bool_] | None
Channel = NDArray[np.float64]

# Coltuc's neighbourhoods grow by these rings; comparing means over growing discs in turn is comparing ring sums in turn
_RINGS: Final = (
    ((0, 1), (0, -1), (1, 0), (-1, 0)),
    ((1, 1), (1, -1), (-1, 1), (-1, -1)),
    ((0, 2), (0, -2), (2, 0), (-2, 0)),
    ((1, 2), (1, -2), (-1, 2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1)),
    ((2, 2), (2, -2), (-2, 2), (-2, -2)),
)


_NOISE: Final = 1e-7  # of the largest value: coefficients are published to eight digits, and 16-bit levels lie further apart


def match_pixels(
    content: Opened, mask: Mask, style: Opened, style_mask: Mask, target: NDArray[Any], options: MatchOptions
) -> None:
    """Match one image by a histogram method, channel by channel, and write it to ``target``."""
    refuse_channels(content.channels, style.channels, options.space)
    if options.space != "rgb":
        refuse_unknown_white(content, options.space, "content")
        refuse_unknown_white(style, options.space, "style")
    if math.isinf(content.data_range) != math.isinf(style.data_range):
        raise StatisticsError("only one of content and style declares a range; declare data_range and style_range for both")
    measure_opened(content, mask, "rgb", options.on_nonfinite, "content")  # refuses what cannot be measured
    measure_opened(style, style_mask, "rgb", options.on_nonfinite, "style")
    inside = mask if content.is_integer else usable_pixels(content, mask, options.on_nonfinite, checked_range=options.clip)
    style_inside = style_mask if style.is_integer else usable_pixels(style, style_mask, options.on_nonfinite, checked_range=True)
    target[...] = content.array
    if options.strength > 0 and not _same_pixels(content, inside, style, style_inside):
        changed = _by_table if content.is_integer and style.is_integer and _plain_histogram(options) else _by_channel
        changed(content, inside, style, style_inside, target, options)
    finite = None if inside is mask else np.isfinite(content.colour).all(axis=-1)
    keep_outside(content, target, inside if options.apply_to == "mask" else finite)


def _plain_histogram(options: MatchOptions) -> bool:
    return options.method == "histogram" and options.space == "rgb"


def _same_pixels(content: Opened, mask: Mask, style: Opened, style_mask: Mask) -> bool:
    """An image matched to itself stays as it is, in every space."""
    same_type = content.kind == style.kind and content.data_range == style.data_range
    return same_type and mask is None and style_mask is None and np.array_equal(content.colour, style.colour)


def _by_table(content: Opened, mask: Mask, style: Opened, style_mask: Mask, target: NDArray[Any], options: MatchOptions) -> None:
    counts, style_counts = level_counts(content, mask), level_counts(style, style_mask)
    levels = np.arange(counts.shape[1])
    scale = content.data_range / style.data_range
    for c in range(content.channels):
        table = level_table(counts[c], style_counts[c], scale)
        blended = levels + options.strength * (table - levels) if options.strength < 1 else table
        rounded = np.clip(np.rint(blended), 0, content.data_range).astype(content.array.dtype)
        target[..., c] = rounded[content.array[..., c]]


def _by_channel(
    content: Opened, mask: Mask, style: Opened, style_mask: Mask, target: NDArray[Any], options: MatchOptions
) -> None:
    """Convert to the space, match each channel, convert back."""
    pixels = _working_pixels(content, options.space)
    style_pixels = _working_pixels(style, options.space)
    if options.space == "rgb" and content.data_range != style.data_range:  # both finite, or they would be equal
        style_pixels = style_pixels * (content.data_range / style.data_range)
    chosen = style_pixels.reshape(-1, style.channels) if style_mask is None else style_pixels[style_mask]
    matched = np.empty(pixels.shape, np.float64)
    for c in range(content.channels):
        if options.method == "histogram":
            matched[..., c] = match_levels(pixels[..., c], mask, chosen[:, c])
        else:
            matched[..., c] = match_exactly(pixels[..., c], mask, chosen[:, c])
    if options.strength < 1:
        matched = pixels + options.strength * (matched - pixels)
    if options.space != "rgb":
        matched = SPACES[options.space].inverse(matched) * content.data_range
    write_floats(content, target[..., : content.channels], matched, limits(content, clip=options.clip))
    if options.method == "exact_histogram":
        keep_outside(content, target, mask)  # pixels outside have no rank


def _working_pixels(opened: Opened, space: str) -> NDArray[Any]:
    """Pixels as the method sees them: in their own units in RGB, converted elsewhere; unusable ones as zero."""
    if space == "rgb" and opened.is_integer:
        return opened.colour
    if space != "rgb":
        return SPACES[space].forward(unit_pixels(opened, opened.colour))
    pixels = opened.colour.astype(np.float64)
    pixels[~np.isfinite(pixels)] = 0.0
    return pixels


def cdf_curve(levels: Channel, counts: NDArray[Any], style_levels: NDArray[Any], style_counts: NDArray[Any]) -> Channel:
    """Where each occupied level goes: to the style's level of the same cumulative share.

    A flat channel goes to the style's mean, as everywhere; its cumulative share says nothing.

    >>> cdf_curve(np.array([0.0, 1.0]), np.array([1, 1]), np.array([5.0, 9.0]), np.array([2, 2])).tolist()
    [5.0, 9.0]
    """
    if len(levels) == 1:
        return np.array([np.average(style_levels, weights=style_counts)])
    shares = np.cumsum(counts) / counts.sum()
    style_shares = np.cumsum(style_counts) / style_counts.sum()
    return np.asarray(np.interp(shares, style_shares, style_levels))


def is_flat(low: Any, high: Any) -> bool:
    """Whether a channel has one value but for rounding: the chroma of a grey image must not be spread over the style's.

    >>> is_flat(0.5, 0.5 + 1e-15), is_flat(0, 1)
    (True, False)
    """
    return bool(float(high) - float(low) <= _NOISE * max(1.0, abs(float(low)), abs(float(high))))


def match_levels(values: Channel, inside: NDArray[np.bool_] | None, style: Channel) -> Channel:
    """CDF matching of one channel; levels that occur outside the mask only are interpolated."""
    levels, counts = np.unique(values if inside is None else values[inside], return_counts=True)
    if is_flat(levels[0], levels[-1]):
        levels, counts = levels[:1], np.array([counts.sum()])
    style_levels, style_counts = np.unique(style, return_counts=True)
    curve = cdf_curve(levels.astype(np.float64), counts, style_levels.astype(np.float64), style_counts)
    return np.asarray(np.interp(values, levels, curve))


def level_table(counts: NDArray[Any], style_counts: NDArray[Any], scale: float) -> Channel:
    """CDF matching of integers as a table over all levels; ``scale`` brings the style's levels to the content's units."""
    levels, style_levels = np.flatnonzero(counts), np.flatnonzero(style_counts)
    curve = cdf_curve(levels.astype(np.float64), counts[levels], style_levels * scale, style_counts[style_levels])
    return np.asarray(np.interp(np.arange(len(counts)), levels, curve))


def match_exactly(values: NDArray[Any], inside: NDArray[np.bool_] | None, style: NDArray[Any]) -> NDArray[Any]:
    """Give one channel (H, W) exactly the style's histogram, whatever the two sizes.

    Pixels are put in strict order: by value, then by the means of growing neighbourhoods, and where all six agree by
    position. The pixel of rank r takes the style's value of the same relative rank. Pixels outside the mask stay.

    >>> match_exactly(np.array([[3, 1], [2, 9]]), None, np.array([10, 20, 30, 40])).tolist()
    [[30, 10], [20, 40]]
    """
    chosen = np.arange(values.size) if inside is None else np.flatnonzero(inside)
    result = values.astype(np.result_type(values, style), copy=True).ravel()
    taken = values.ravel()[chosen]
    if is_flat(taken.min(), taken.max()):
        result = result.astype(np.float64)
        result[chosen] = style.mean()
        return result.reshape(values.shape)
    order = np.lexsort([ring.ravel()[chosen] for ring in reversed(_ring_sums(values))])
    ranks = np.arange(len(chosen), dtype=np.int64)
    result[chosen[order]] = np.sort(style, axis=None)[(2 * ranks + 1) * style.size // (2 * len(chosen))]
    return result.reshape(values.shape)


def _ring_sums(values: NDArray[Any]) -> list[NDArray[Any]]:
    """The values, then the sum over each ring round every pixel, edges mirrored; integers stay exact."""
    work: NDArray[Any] = values.astype(np.int64 if values.dtype.kind in "iu" else np.float64)
    height, width = values.shape
    padded = np.pad(work, 2, mode="symmetric")
    sums = [work]
    for ring in _RINGS:
        total = np.zeros_like(work)
        for down, right in ring:
            total += padded[2 + down : 2 + down + height, 2 + right : 2 + right + width]
        sums.append(total)
    return sums
