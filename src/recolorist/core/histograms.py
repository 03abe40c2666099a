"""The two histogram methods: per-channel CDF matching, and exact specification by strict ordering (Coltuc 2006).

Both rank pixels, so equal pixels must compare as equal. In linear spaces the channels of integer images are whole numbers up to a
scale (299 R + 587 G + 114 B), and these are ranked. Scale and offset of a space do not matter, so pixels are taken in its basis.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.apply import keep_outside, limits, unit_pixels, usable_pixels, write_floats
from recolorist.core.clipping import level_counts
from recolorist.core.image import Opened, refuse_empty, refuse_levels_above, refuse_unknown_white
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
    "working_channels",
]

Mask = NDArray[np.bool_] | None
Channel = NDArray[np.float64]

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
    _refuse_unmeasurable(content, mask, options, "content")
    _refuse_unmeasurable(style, style_mask, options, "style")
    inside = mask if content.is_integer else usable_pixels(content, mask, options.on_nonfinite, checked_range=options.clip)
    style_inside = style_mask if style.is_integer else usable_pixels(style, style_mask, options.on_nonfinite, checked_range=True)
    if options.strength == 0 or _same_pixels(content, inside, style, style_inside):
        target[...] = content.array
    else:
        target[..., content.channels :] = content.array[..., content.channels :]
        by_table = content.is_integer and style.is_integer and options.method == "histogram" and options.space == "rgb"
        (_match_by_table if by_table else _match_by_channel)(content, inside, style, style_inside, target, options)
    finite = None if inside is mask else np.isfinite(content.colour).all(axis=-1)
    keep_outside(content, target, inside if options.apply_to == "mask" else finite)


def _refuse_unmeasurable(opened: Opened, mask: Mask, options: MatchOptions, name: str) -> None:
    """Refuse what :func:`recolorist.measure` refuses."""
    if not opened.is_integer:
        measure_opened(opened, mask, "rgb", options.on_nonfinite, name)
    else:
        refuse_empty(mask, name)
        refuse_levels_above(opened, name)


def _same_pixels(content: Opened, mask: Mask, style: Opened, style_mask: Mask) -> bool:
    """An image matched to itself stays as it is, in every space."""
    same_type = content.kind == style.kind and content.data_range == style.data_range
    return same_type and mask is None and style_mask is None and np.array_equal(content.colour, style.colour)


def _match_by_table(
    content: Opened, mask: Mask, style: Opened, style_mask: Mask, target: NDArray[Any], options: MatchOptions
) -> None:
    """Match the levels of integer images in RGB."""
    counts, style_counts = level_counts(content, mask), level_counts(style, style_mask)
    levels = np.arange(counts.shape[1])
    scale = content.data_range / style.data_range
    tables = np.empty(counts.shape, content.array.dtype.newbyteorder("="))
    for c in range(content.channels):
        table = level_table(counts[c], style_counts[c], scale)
        blended = levels + options.strength * (table - levels) if options.strength < 1 else table
        tables[c] = np.clip(np.rint(blended), 0, content.data_range)
    array = content.array
    if content.kind == "B" and array.shape[-1] == len(tables) and array.flags.c_contiguous and target.flags.c_contiguous:
        kernels.loops.look_up(array, target, len(tables), tables)
        return
    for c, table in enumerate(tables):
        target[..., c] = table[array[..., c]]


def _match_by_channel(
    content: Opened, mask: Mask, style: Opened, style_mask: Mask, target: NDArray[Any], options: MatchOptions
) -> None:
    """Take the channels of the space, match each, convert back."""
    planes, style_planes = (np.empty((opened.channels, *opened.array.shape[:2])) for opened in (content, style))
    units = []
    pairs = zip(
        working_channels(content, options.space, planes), working_channels(style, options.space, style_planes), strict=True
    )
    for c, ((values, unit), (goal, style_unit)) in enumerate(pairs):
        chosen = goal.ravel() if style_mask is None else goal[style_mask]
        if unit != style_unit:  # both finite: a space needs a range, and in RGB both have one or neither
            chosen = chosen * (unit / style_unit)
        smallest = 1.0 if options.space == "rgb" else unit  # RGB may have no range
        if options.method == "histogram":
            goal_values = match_levels(values, mask, chosen, smallest)
        else:
            goal_values = match_exactly(values, mask, chosen, smallest, by_position=options.ties == "position")
        planes[c] = goal_values if options.strength == 1 else values + options.strength * (goal_values - values)
        units.append(unit)
    if options.space == "rgb":
        for c, plane in enumerate(planes):
            write_floats(content, target[..., c], plane, limits(content, clip=options.clip))
    else:
        _join_planes(content, target, planes, units, options)
    if options.method == "exact_histogram":
        keep_outside(content, target, mask)  # pixels outside have no rank


def _join_planes(
    content: Opened, target: NDArray[Any], planes: NDArray[np.float64], units: list[float], options: MatchOptions
) -> None:
    """Convert planes in the units of a space back to RGB, and store them."""
    space, kind = SPACES[options.space], "d" if content.kind == "e" else content.kind
    bounds = limits(content, clip=options.clip)
    if space.basis is None:
        for c, unit in enumerate(units):
            if unit != 1.0:
                planes[c] /= unit
        mixing: tuple[list[float], list[float]] = ([], [])
    else:
        mixing = (units, space.basis.inverse.ravel().tolist())
    straight = kind == content.kind and target.flags.c_contiguous and target.dtype.isnative
    joined = (
        target if straight else np.empty((*target.shape[:2], 3), np.float64 if kind == "d" else target.dtype.newbyteorder("="))
    )
    name = options.space if space.basis is None else ""
    kernels.loops.join(planes, joined, kind, joined.shape[-1], name, content.data_range, bounds, mixing)
    if not straight:
        with np.errstate(over="ignore"):
            target[..., :3] = joined


class WorkingChannel(NamedTuple):
    """One channel as the methods see it."""

    values: NDArray[Any]
    unit: float  #: the number that stands for 1 in the basis of the space; in RGB the range of the image


def working_channels(opened: Opened, space: str, planes: NDArray[np.float64]) -> list[WorkingChannel]:
    """Return the channels of an image in a space; whole numbers wherever the algebra gives such, unusable pixels as zero.

    Args:
        opened: The image.
        space: A key of :data:`recolorist.SPACES`.
        planes: The memory that the channels are written to, shaped (channels, H, W); whole numbers take it as int64.

    Returns:
        The channels. Of a linear space they are those of its basis, without scale and offset.

    Example:
        >>> from recolorist.core.image import open_image
        >>> image = open_image(np.array([[[10, 20, 30]]], np.uint8))
        >>> [int(values[0, 0]) for values, _ in working_channels(image, "yuv", np.empty((3, 1, 1)))]
        [18150, 11850, -8150]
    """
    colour, high, whole = opened.colour, opened.data_range, planes.view(np.int64)
    if space == "rgb":
        into: NDArray[Any] = whole if opened.is_integer else planes
        into[...] = np.moveaxis(colour if opened.is_integer else np.where(np.isfinite(colour), colour, 0), -1, 0)
        return [WorkingChannel(plane, high) for plane in into]
    chosen = SPACES[space]
    if chosen.whole is not None and opened.is_integer:
        _mix_whole(opened, chosen.whole.rows.tolist(), whole)
        return [WorkingChannel(plane, chosen.whole.denominator * high) for plane in whole]
    if chosen.basis is None:
        _split_pixels(opened, space, planes)
    else:
        planes[...] = np.moveaxis(mix_channels(unit_pixels(opened, colour), chosen.basis.rows), -1, 0)
    channels = [WorkingChannel(plane, 1.0) for plane in planes]
    if opened.is_integer and space == "hsv":  # the largest channel as it is
        whole[2] = planes[2]
        channels[2] = WorkingChannel(whole[2], high)
    elif opened.is_integer and space == "hsi":
        native = _native_pixels(opened)
        kernels.loops.hsi_levels(native, native.dtype.itemsize, native.shape[-1], planes[1], whole[2])
        channels[2] = WorkingChannel(whole[2], 3 * high)
    return channels


def _mix_whole(opened: Opened, rows: list[list[int]], planes: NDArray[np.int64]) -> None:
    """Write whole-number combinations of the channels of an integer image, shaped (rows, H, W)."""
    native = _native_pixels(opened)
    for row, plane in zip(rows, planes, strict=True):
        kernels.loops.mix_whole(native, native.dtype.itemsize, native.shape[-1], tuple(row), plane)


def _native_pixels(opened: Opened) -> NDArray[Any]:
    """Return contiguous pixels in the byte order of the machine."""
    return np.ascontiguousarray(opened.array, dtype=opened.array.dtype.newbyteorder("="))


def _split_pixels(opened: Opened, space: str, planes: NDArray[np.float64]) -> None:
    """Write the channels of a space that is not linear, shaped (3, H, W).

    Hue and saturation of HSV and HSI are ratios, which do not depend on the unit. Those of integer images are taken from the
    levels themselves, so that ratios that are equal in algebra are equal in their last bits.
    """
    array = opened.array
    native = np.ascontiguousarray(array, dtype=np.float32 if opened.kind == "e" else array.dtype.newbyteorder("="))
    white = 1.0 if opened.is_integer and space in ("hsv", "hsi") else opened.data_range
    kernels.loops.split(native, "f" if opened.kind == "e" else opened.kind, array.shape[-1], space, white, planes)


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
    """Match the cumulative histogram of one channel; levels that occur outside the mask only are interpolated.

    Args:
        values: The channel, int64 or float64.
        inside: The pixels that are counted; None: all.
        style: The values of the style, in the same units.
        unit: The number that stands for 1, to tell a flat channel.

    Returns:
        The matched channel.

    Example:
        >>> match_levels(np.array([[3, 1], [2, 9]]), None, np.array([10, 20, 30, 40])).tolist()
        [[30.0, 10.0], [20.0, 40.0]]
    """
    taken, goals = _for_loops(values if inside is None else values[inside]), _for_loops(style)
    low, high = taken.min(), taken.max()
    if is_flat(low, high, unit):
        levels, counts = np.unique(style, return_counts=True)
        return np.full(values.shape, np.average(levels.astype(np.float64), weights=counts))
    matched = np.empty(taken.shape)
    is_whole = taken.dtype.kind == "i" and goals.dtype.kind == "i"
    if not (is_whole and int(high) - int(low) < taken.size and kernels.loops.match_counts(taken, goals, matched)):
        kernels.loops.match_shares(taken, _kind_of(taken), goals, _kind_of(goals), matched)
    if inside is None:
        return matched
    levels, first = np.unique(taken, return_index=True)
    return np.asarray(np.interp(values, levels, matched[first]))


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
    count = values.size if inside is None else int(np.count_nonzero(inside))
    taken = values if inside is None else values[inside]
    if is_flat(taken.min(), taken.max(), unit):
        return np.full(values.shape, style.mean()) if inside is None else np.where(inside, style.mean(), values)
    mask = None if inside is None else np.ascontiguousarray(inside)
    order = _places_in_order(values, mask, count, by_position=by_position)
    ranked = style.take(_places_in_order(style.reshape(1, -1), None, style.size, by_position=True))
    if style.size != count:
        ranked = ranked.take((2 * np.arange(count, dtype=np.int64) + 1) * style.size // (2 * count))
    result = np.empty(values.shape, ranked.dtype) if inside is None else values.astype(np.result_type(values, style))
    result.reshape(-1)[order] = ranked
    return result


def _places_in_order(values: NDArray[Any], mask: Mask, count: int, *, by_position: bool) -> NDArray[np.int64]:
    """Return the places of the pixels inside a mask in their strict order."""
    places, channel = np.empty(count, np.uint64), _for_loops(values)
    kernels.loops.strict_order(channel, _kind_of(channel), *values.shape, mask, by_position, places)
    return places.view(np.int64)


def _for_loops(values: NDArray[Any]) -> NDArray[Any]:
    """Return contiguous int64 or float64."""
    return np.ascontiguousarray(values, dtype=np.float64 if values.dtype.kind == "f" else np.int64)


def _kind_of(values: NDArray[Any]) -> str:
    """Return the letter by which the loops know float64 and int64."""
    return "d" if values.dtype.kind == "f" else "q"
