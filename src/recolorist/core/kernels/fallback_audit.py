"""What an audit counts without writing an image: ``_kernels_audit.h`` once more, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["gather", "level_losses", "map_counts", "map_moments", "patch_losses"]

Array = NDArray[np.float64]


def map_counts(
    counts: NDArray[np.uint64], channels: int, gain: Sequence[float], offset: Sequence[float]
) -> tuple[tuple[int, ...], ...]:
    """Sum over the levels x that occur in each channel and over what a diagonal map makes of them, y.

    Returns:
        For each channel the pixels, the clipped ones, inversions, and the sums of x, y, x², y² and xy.

    Example:
        >>> map_counts(np.array([[0, 3, 1, 0]], np.uint64), 1, [2.0], [0.0])
        ((4, 1, 0, 5, 9, 7, 21, 12),)
    """
    high = counts.shape[-1] - 1
    return tuple(_sum_levels(row, gain[c], offset[c], high) for c, row in enumerate(counts.reshape(channels, -1)))


def _sum_levels(counts: NDArray[np.uint64], gain: float, offset: float, high: int) -> tuple[int, ...]:
    levels = np.flatnonzero(counts)
    free = np.rint(gain * levels + offset)
    mapped = np.clip(free, 0, high).astype(np.int64)
    times, x, y = (part.tolist() for part in (counts[levels], levels, mapped))  # whole numbers of any size: nothing overflows
    clipped = int(counts[levels][(free < 0) | (free > high)].sum())
    sums = (
        sum(n * factor for n, factor in zip(times, factors, strict=True))
        for factors in (x, y, [a * a for a in x], [b * b for b in y], [a * b for a, b in zip(x, y, strict=True)])
    )
    return sum(times), clipped, int(np.count_nonzero(np.diff(mapped) < 0)), *sums


def map_moments(
    pixels: NDArray[np.uint8], channels: int, gain: Sequence[float], offset: Sequence[float]
) -> tuple[tuple[int, ...], ...]:
    """Return what :func:`map_counts` returns, from 8-bit pixels; no gain is negative.

    Example:
        >>> map_moments(np.array([[1], [1], [1], [2]], np.uint8), 1, [200.0], [0.0])
        ((4, 1, 0, 5, 855, 7, 185025, 1110),)
    """
    counts = [np.bincount(channel, minlength=256) for channel in pixels.reshape(-1, channels).T]
    return map_counts(np.array(counts, np.uint64), channels, gain, offset)


def gather(pixels: NDArray[Any], size: int, places: NDArray[np.int64], target: NDArray[Any]) -> None:
    """Copy the pixels at given places; ``size`` is that of a pixel in bytes."""
    channels = size // pixels.dtype.itemsize
    target[...] = pixels.reshape(-1, channels).take(places, axis=0).reshape(target.shape)


def patch_losses(
    before: NDArray[Any],
    after: NDArray[Any],
    channels: int,
    counts: NDArray[np.int64] | None,
    expected: Sequence[float] | Array | None,
    limits: tuple[float, float],
    losses: Array,
) -> tuple[int, int, tuple[int, ...], int, float]:
    """Write the largest share of its contrast that a channel of each patch lost, in thousandths; NaN where there was none.

    Args:
        before: Values, shaped (pixels of a patch, patches, channels). The compiled form takes 8 bits only.
        after: What a map made of them.
        channels: Colour channels.
        counts: How many pixels of each patch count, where those outside a mask are zero; None: all.
        expected: The factor of the map on each channel; None where nothing is known of the map. Here also an array of what it
            would have written without limits.
        limits: The least variance that is detail, and the least count of pixels.
        losses: Where to write, one number for each patch.

    Returns:
        How many patches had detail, how many lost more than half of it, the latter for each channel, the first patch that lost
        most, and the share that it lost; -1 if no patch had detail.
    """
    # sums of 257 products of 8-bit levels are exact in single precision, at half the cost
    exact = np.float32 if before.dtype == after.dtype == np.uint8 else np.float64
    source, written = (part.reshape(len(before), -1).astype(exact) for part in (before, after))
    count = len(before) if counts is None else np.repeat(counts, channels)
    variance, spread = _covariance(source, source, count), _covariance(written, written, count)
    if isinstance(expected, np.ndarray):
        goal = expected.reshape(len(before), -1)
        goal_variance, common = _covariance(goal, goal, count), _covariance(goal, written, count)
    else:
        gains = np.tile(np.ones(channels) if expected is None else np.abs(expected), losses.size)
        goal_variance, common = variance * gains * gains, _covariance(source, written, count) * gains
    full = np.sqrt(goal_variance * (spread if expected is None else np.maximum(goal_variance, spread)))
    kept = np.divide(np.abs(common), full, out=np.zeros_like(common), where=full > 0)
    strongest = np.repeat(variance.reshape(-1, channels).max(axis=1), channels)
    detailed = (variance > 0) & (variance >= np.maximum(limits[0], 0.25 * strongest)) & (count >= limits[1])
    loss = np.where(detailed, np.clip(1.0 - kept, 0.0, 1.0), -1.0).reshape(-1, channels)
    worst = loss.max(axis=1)
    losses.ravel()[:] = np.where(worst < 0, np.nan, np.round(worst, 3))
    lost_in, place = tuple(np.count_nonzero(loss > 0.5, axis=0).tolist()), int(worst.argmax())
    return int(np.count_nonzero(worst >= 0)), int(np.count_nonzero(worst > 0.5)), lost_in, place, float(worst[place])


def level_losses(
    pixels: NDArray[np.uint8],
    channels: int,
    width: int,
    lines: NDArray[np.int64],
    places: NDArray[np.int64],
    numbers: tuple[Sequence[float], Sequence[float]],
    floor: float,
    losses: Array,
) -> tuple[int, int, tuple[int, ...], int, float]:
    """Write what :func:`patch_losses` writes, for the compared pixels of an image and what a diagonal map makes of them.

    Args:
        pixels: The image, 8 bits.
        channels: Colour channels; the image has no others.
        width: Pixels in a line.
        lines: The compared lines, 8 for each row of patches.
        places: The compared places in a line, 8 for each column of patches.
        numbers: Gain and offset of each channel.
        floor: The least variance that is detail.
        losses: Where to write, shaped (rows, columns).

    Returns:
        What :func:`patch_losses` returns.
    """
    image = pixels.reshape(-1, width, channels)[np.ix_(lines, places)]
    rows, columns = losses.shape
    before = image.reshape(rows, 8, columns, 8, channels).transpose(1, 3, 0, 2, 4).reshape(64, rows * columns, channels)
    after = np.clip(np.rint(before * np.array(numbers[0]) + np.array(numbers[1])), 0, 255).astype(np.uint8)
    return patch_losses(before, after, channels, None, numbers[0], (floor, 0), losses)


def _covariance(first: NDArray[Any], second: NDArray[Any], count: Any) -> Array:
    """Return the covariance in each column; what is rounding noise becomes zero."""
    # float64 by name: NumPy 1 would keep float32 when it divides by a scalar
    product = np.einsum("kp,kp->p", first, second).astype(np.float64) / count
    sums = (values.sum(axis=0, dtype=values.dtype).astype(np.float64) / count for values in (first, second))
    covariance = product - next(sums) * next(sums)
    return np.where(np.abs(covariance) > 1e-12 * np.abs(product), covariance, 0.0)
