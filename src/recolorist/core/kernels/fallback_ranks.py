"""Ranking pixels: the loops of ``_kernels_ranks.h`` once more, in NumPy. The order is unique, so both find the same."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["hsi_levels", "interpolate", "match_counts", "match_shares", "mix_whole", "ring_sums", "strict_order"]

# Coltuc's neighbourhoods grow by these rings; comparing means over growing discs in turn is comparing ring sums in turn
_RINGS: Final = (
    ((0, 1), (0, -1), (1, 0), (-1, 0)),
    ((1, 1), (1, -1), (-1, 1), (-1, -1)),
    ((0, 2), (0, -2), (2, 0), (-2, 0)),
    ((1, 2), (1, -2), (-1, 2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1)),
    ((2, 2), (2, -2), (-2, 2), (-2, -2)),
)
_JOINED: Final = 2**62  # several whole numbers are compared as one below this


def strict_order(
    values: NDArray[Any],
    kind: str,
    height: int,
    width: int,
    mask: NDArray[np.bool_] | None,
    by_position: bool,
    numbers: NDArray[np.uint64],
) -> None:
    """Write the places of the pixels inside the mask: by value, then by the sums over growing rings, last by position.

    Args:
        values: The channel, int64 or float64.
        kind: ``"q"`` or ``"d"``.
        height: Its rows.
        width: Its columns.
        mask: The pixels that are ordered; None: all.
        by_position: Order equal values by position alone.
        numbers: Where to write.
    """
    plane = values.reshape(height, width)
    chosen = np.arange(plane.size) if mask is None else np.flatnonzero(mask)
    keys = [key.ravel()[chosen] for key in ([plane] if by_position else ring_sums(plane))]
    numbers[...] = chosen[_order_keys(_join_keys(keys) if kind == "q" else keys)]


def ring_sums(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the values, then the sum over each ring round every pixel, edges mirrored; whole numbers stay exact.

    Example:
        >>> [int(ring[0, 0]) for ring in ring_sums(np.ones((3, 3), np.int64))]
        [1, 4, 4, 4, 8, 4]
    """
    height, width = values.shape
    padded = np.pad(values, 2, mode="symmetric")
    sums = [values]
    for ring in _RINGS:
        total = np.zeros_like(values)
        for down, right in ring:
            total += padded[2 + down : 2 + down + height, 2 + right : 2 + right + width]
        sums.append(total)
    return sums


def match_shares(
    values: NDArray[Any],
    kind: str,  # noqa: ARG001 - for the compiled loops
    style: NDArray[Any],
    style_kind: str,  # noqa: ARG001
    target: NDArray[np.float64],
) -> None:
    """Give each value the style's value of the same cumulative share, between two by a straight line.

    Args:
        values: The channel, int64 or float64.
        kind: ``"q"`` or ``"d"``.
        style: The values of the style.
        style_kind: The same for the style.
        target: Where to write.
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    levels, style_counts = np.unique(style, return_counts=True)
    shares = [np.cumsum(part) / part.sum() for part in (counts, style_counts)]
    curve = interpolate(shares[0], shares[1], levels.astype(np.float64) + 0.0)  # a negative zero counts as zero
    target[...] = curve[places].reshape(target.shape)


def match_counts(values: NDArray[np.int64], style: NDArray[np.int64], target: NDArray[np.float64]) -> bool:
    """Do what :func:`match_shares` does for whole numbers of a small span, in any order.

    Returns:
        Whether it was done; not if the span of either is as large as the number of its values.
    """
    if any(int(part.max()) - int(part.min()) >= part.size for part in (values, style)):
        return False
    match_shares(values, "q", style, "q", target)
    return True


def interpolate(x: NDArray[Any], known: NDArray[Any], goals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Do what :func:`numpy.interp` does, by steps that no compiler fuses.

    Example:
        >>> interpolate(np.array([0.0, 1.5, 9.0]), np.array([1.0, 2.0]), np.array([10.0, 20.0])).tolist()
        [10.0, 15.0, 20.0]
    """
    at = np.clip(np.searchsorted(known, x, side="right") - 1, 0, len(known) - 1)
    after = np.minimum(at + 1, len(known) - 1)
    inside = (x > known[at]) & (after > at)
    step = np.where(inside, known[after] - known[at], 1.0)
    slope = (goals[after] - goals[at]) / step
    return np.where(inside, slope * (x - known[at]) + goals[at], goals[at])


def mix_whole(pixels: NDArray[Any], itemsize: int, depth: int, row: tuple[int, int, int], target: NDArray[np.int64]) -> None:  # noqa: ARG001
    """Write a row of three whole numbers times each pixel."""
    flat, out = pixels.reshape(-1, depth), target.reshape(-1)
    np.multiply(flat[:, 0], row[0], out=out, dtype=np.int64)
    for c in (1, 2):
        out += np.multiply(flat[:, c], row[c], dtype=np.int64)


def hsi_levels(
    pixels: NDArray[Any],
    itemsize: int,  # noqa: ARG001 - for the compiled loops
    depth: int,
    saturation: NDArray[np.float64],
    total: NDArray[np.int64],
) -> None:
    """Write HSI's saturation, from one quotient of whole numbers, and the sum of the channels of integer pixels."""
    red, green, blue = (pixels.reshape(-1, depth)[:, c].astype(np.int64) for c in range(3))
    sums = red + green + blue
    share = 3.0 * np.minimum(np.minimum(red, green), blue) / np.maximum(sums, 1)
    saturation.reshape(-1)[...] = np.where(sums > 0, 1.0 - share, 0.0)
    total.reshape(-1)[...] = sums


def _order_keys(keys: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Order by the first key, then by the next, last by position; only what is tied is compared any further."""
    first, *others = keys
    order = np.argsort(first, kind="stable")
    starts = np.append(True, np.diff(first[order]) != 0)  # where a group of equal pixels begins
    for key in others:
        tied = ~(starts & np.append(starts[1:], True))
        rest = order[tied]
        order[tied] = rest[np.lexsort([key[rest], np.cumsum(starts)[tied]])]
        starts[1:] |= np.diff(key[order]) != 0
    return order


def _join_keys(keys: list[NDArray[Any]]) -> list[NDArray[np.int64]]:
    """Join whole numbers that follow each other into one, as digits, as long as they fit."""
    joined: list[NDArray[np.int64]] = []
    room = _JOINED
    for key in keys:
        low = int(key.min())
        span = int(key.max()) - low + 1
        digit = key - low
        if room * span < _JOINED:
            joined[-1] = joined[-1] * span + digit
            room *= span
        else:
            joined.append(digit)
            room = span
    return joined
