"""The two histogram methods: per-channel CDF matching, and exact specification by strict ordering (Coltuc 2006).

Both work on one channel at a time, given as floats or as integer levels, and know nothing of images or spaces.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
