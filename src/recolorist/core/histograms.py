"""The two histogram methods: per-channel CDF matching, and exact specification by strict ordering (Coltuc 2006).

Both rank pixels, so equal pixels must compare as equal. In linear spaces the channels of integer images are whole numbers up to a
scale (299 R + 587 G + 114 B), and these are ranked. Scale and offset of a space do not matter, so pixels are taken in its basis.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core.apply import keep_outside, limits, unit_pixels, usable_pixels, write_floats
from recolorist.core.clipping import level_counts
from recolorist.core.image import Opened, refuse_unknown_white
from recolorist.core.moments import measure_opened
from recolorist.core.options import MatchOptions
from recolorist.core.plan import refuse_channels
from recolorist.core.spaces import SPACES, mix_channels
from recolorist.errors import StatisticsError

__all__ = [
    "WorkingChannel",
    "cdf_curve",
    "is_flat",
    "level_table",
    "match_exactly",
    "match_levels",
    "match_pixels",
    "ring_sums",
    "working_channels",
]

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


_COUNTED: Final = 2**20  # whole numbers that span no more are counted level by level; others are sorted
_PACKED: Final = 2**62  # several whole numbers are compared as one below this
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
    """Take the channels of the space, match each, convert back."""
    matched = np.empty(content.colour.shape, np.float64)
    pairs = zip(working_channels(content, options.space), working_channels(style, options.space), strict=True)
    for c, ((values, unit), (goal, style_unit)) in enumerate(pairs):
        chosen = goal.ravel() if style_mask is None else goal[style_mask]
        if unit != style_unit:  # both finite: a space needs a range, and in RGB both have one or neither
            chosen = chosen * (unit / style_unit)
        smallest = 1.0 if options.space == "rgb" else unit  # RGB may have no range
        if options.method == "histogram":
            goal_values = match_levels(values, mask, chosen, smallest)
        else:
            goal_values = match_exactly(values, mask, chosen, smallest, by_position=options.ties == "position")
        matched[..., c] = goal_values if options.strength == 1 else values + options.strength * (goal_values - values)
        if options.space != "rgb":
            matched[..., c] /= unit
    if options.space != "rgb":
        space = SPACES[options.space]
        back = space.inverse(matched) if space.basis is None else mix_channels(matched, space.basis.inverse)
        matched = back * content.data_range
    write_floats(content, target[..., : content.channels], matched, limits(content, clip=options.clip))
    if options.method == "exact_histogram":
        keep_outside(content, target, mask)  # pixels outside have no rank


class WorkingChannel(NamedTuple):
    """One channel as the methods see it."""

    values: NDArray[Any]
    unit: float  #: the number that stands for 1 in the basis of the space; in RGB the range of the image


def working_channels(opened: Opened, space: str) -> list[WorkingChannel]:
    """Return the channels of an image in a space; whole numbers wherever the algebra gives such, unusable pixels as zero.

    Args:
        opened: The image.
        space: A key of :data:`recolorist.SPACES`.

    Returns:
        The channels. Of a linear space they are those of its basis, without scale and offset.

    Example:
        >>> from recolorist.core.image import open_image
        >>> image = open_image(np.array([[[10, 20, 30]]], np.uint8))
        >>> [int(values[0, 0]) for values, _ in working_channels(image, "yuv")]
        [18150, 11850, -8150]
    """
    colour, high = opened.colour, opened.data_range
    if space == "rgb":
        pixels = colour if opened.is_integer else np.where(np.isfinite(colour), colour, 0).astype(np.float64)
        return [WorkingChannel(pixels[..., c], high) for c in range(opened.channels)]
    chosen = SPACES[space]
    if chosen.whole is not None and opened.is_integer:
        red, green, blue = (colour[..., c].astype(np.int64) for c in range(3))
        unit = chosen.whole.denominator * high
        return [WorkingChannel(row[0] * red + row[1] * green + row[2] * blue, unit) for row in chosen.whole.rows]
    pixels = unit_pixels(opened, colour)
    converted = chosen.forward(pixels) if chosen.basis is None else mix_channels(pixels, chosen.basis.rows)
    channels = [WorkingChannel(converted[..., c], 1.0) for c in range(3)]
    if opened.is_integer and space == "hsv":
        channels[2] = WorkingChannel(colour.max(axis=-1).astype(np.int64), high)
    elif opened.is_integer and space == "hsi":
        channels[2] = WorkingChannel(colour.sum(axis=-1, dtype=np.int64), 3 * high)
    return channels


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


def is_flat(low: Any, high: Any, unit: float = 1.0) -> bool:
    """Whether a channel has one value but for rounding: the chroma of a grey image must not be spread over the style's.

    >>> is_flat(0.5, 0.5 + 1e-15), is_flat(0, 1)
    (True, False)
    """
    return bool(float(high) - float(low) <= _NOISE * max(unit, abs(float(low)), abs(float(high))))


def match_levels(values: NDArray[Any], inside: Mask, style: NDArray[Any], unit: float = 1.0) -> Channel:
    """CDF matching of one channel; levels that occur outside the mask only are interpolated.

    >>> match_levels(np.array([[3, 1], [2, 9]]), None, np.array([10, 20, 30, 40])).tolist()
    [[30.0, 10.0], [20.0, 40.0]]
    """
    levels, counts = _count_levels(values if inside is None else values[inside])
    if is_flat(levels[0], levels[-1], unit):
        levels, counts = levels[:1], np.array([counts.sum()])
    style_levels, style_counts = _count_levels(style)
    curve = cdf_curve(levels.astype(np.float64), counts, style_levels.astype(np.float64), style_counts)
    if inside is None and len(levels) > 1 and _is_counted(levels[0], levels[-1]):
        table = np.empty(int(levels[-1]) - int(levels[0]) + 1)
        table[levels - levels[0]] = curve
        return np.asarray(table[values - levels[0]])
    return np.asarray(np.interp(values, levels, curve))


def _is_counted(low: Any, high: Any) -> bool:
    """Whether values between the two are whole numbers few enough to be counted."""
    return low.dtype.kind in "iu" and int(high) - int(low) < _COUNTED


def _count_levels(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The levels that occur, in order, and how often."""
    low = values.min()
    if not _is_counted(low, values.max()):
        return np.unique(values, return_counts=True)
    counts = np.bincount((values - low).ravel())
    levels = np.flatnonzero(counts)
    return levels + int(low), counts[levels]


def level_table(counts: NDArray[Any], style_counts: NDArray[Any], scale: float) -> Channel:
    """CDF matching of integers as a table over all levels; ``scale`` brings the style's levels to the content's units."""
    levels, style_levels = np.flatnonzero(counts), np.flatnonzero(style_counts)
    curve = cdf_curve(levels.astype(np.float64), counts[levels], style_levels * scale, style_counts[style_levels])
    return np.asarray(np.interp(np.arange(len(counts)), levels, curve))


def match_exactly(
    values: NDArray[Any], inside: Mask, style: NDArray[Any], unit: float = 1.0, *, by_position: bool = False
) -> NDArray[Any]:
    """Give one channel (H, W) exactly the style's histogram, whatever the two sizes.

    Pixels are put in strict order: by value, then by the means of growing neighbourhoods, and where all six agree by
    position. The pixel of rank r takes the style's value of the same relative rank. Pixels outside the mask stay.

    Args:
        values: The channel.
        inside: The pixels that are matched; None: all.
        style: The values of the style, in the same units.
        unit: The number that stands for 1, to tell a flat channel.
        by_position: Order equal values by position alone, without looking at neighbours.

    Returns:
        The matched channel.

    Example:
        >>> match_exactly(np.array([[3, 1], [2, 9]]), None, np.array([10, 20, 30, 40])).tolist()
        [[30, 10], [20, 40]]
    """
    chosen = np.arange(values.size) if inside is None else np.flatnonzero(inside)
    result = values.astype(np.result_type(values, style), copy=True).ravel()
    taken = values.ravel()[chosen]
    if is_flat(taken.min(), taken.max(), unit):
        result = result.astype(np.float64)
        result[chosen] = style.mean()
        return result.reshape(values.shape)
    keys = [taken] if by_position else [ring.ravel()[chosen] for ring in ring_sums(values)]
    ranks = np.arange(len(chosen), dtype=np.int64)
    result[chosen[_strict_order(keys)]] = np.sort(style, axis=None)[(2 * ranks + 1) * style.size // (2 * len(chosen))]
    return result.reshape(values.shape)


def _strict_order(keys: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Order by the first key, then by the next, last by position; only what is tied is compared any further."""
    first, *others = _pack(keys) if keys[0].dtype.kind in "iu" else keys
    order = np.argsort(first, kind="stable")
    starts = np.append(True, np.diff(first[order]) != 0)  # where a group of equal pixels begins
    for key in others:
        tied = ~(starts & np.append(starts[1:], True))
        rest = order[tied]
        order[tied] = rest[np.lexsort([key[rest], np.cumsum(starts)[tied]])]
        starts[1:] |= np.diff(key[order]) != 0
    return order


def _pack(keys: list[NDArray[Any]]) -> list[NDArray[np.int64]]:
    """Join whole numbers that follow each other into one, as digits, as long as they fit."""
    packed: list[NDArray[np.int64]] = []
    room = _PACKED
    for key in keys:
        low = int(key.min())
        span = int(key.max()) - low + 1
        digit = key.astype(np.int64) - low
        if room * span < _PACKED:
            packed[-1] = packed[-1] * span + digit
            room *= span
        else:
            packed.append(digit)
            room = span
    return packed


def ring_sums(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the values, then the sum over each ring round every pixel, edges mirrored; integers stay exact.

    >>> [int(ring[0, 0]) for ring in ring_sums(np.ones((3, 3), np.uint8))]
    [1, 4, 4, 4, 8, 4]
    """
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
