"""Mean and variance of each channel in one call: ``_kernels_pairs.h`` once more, in Python."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

__all__ = ["exact_pairs", "exact_rows", "float_pairs"]


def exact_pairs(count: int, sums: Sequence[int], products: Sequence[int]) -> list[tuple[float, float]]:
    """Divide exact sums: each result is the nearest float64, for Python divides integers of any size correctly.

    Args:
        count: Number of pixels.
        sums: Sum of each channel.
        products: Sum of squares of each channel; what follows them is passed over.

    Returns:
        Mean and variance of each channel.

    Example:
        >>> exact_pairs(2, [4], [10])
        [(2.0, 1.0)]
    """
    square = count * count
    return [(s / count, (count * q - s * s) / square) for s, q in zip(sums, products, strict=False)]


def exact_rows(count: int, sums: Sequence[int], products: Sequence[int]) -> list[list[float]]:
    """Divide exact sums of products: each covariance is the nearest float64.

    Args:
        count: Number of pixels.
        sums: Sum of each channel.
        products: ``products[d * channels + i]`` is the sum of ``x[i] * x[i + d]``.

    Returns:
        The covariance, row by row.

    Example:
        >>> exact_rows(2, [4, 0], [10, 2, 2, 0])
        [[1.0, 1.0], [1.0, 1.0]]
    """
    channels, square = len(sums), count * count
    rows = [[0.0] * channels for _ in sums]
    for i in range(channels):
        for j in range(i, channels):
            rows[i][j] = rows[j][i] = (count * products[(j - i) * channels + i] - sums[i] * sums[j]) / square
    return rows


def float_pairs(
    count: int, means: Sequence[float], squares: Sequence[float], lows: Sequence[float], highs: Sequence[float]
) -> tuple[list[tuple[float, float]], float, float] | None:
    """Divide sums of float pixels; a channel with one value has that value as its mean and no variance.

    Args:
        count: Number of pixels.
        means: Mean of each channel.
        squares: Sum of the squares of the deviations.
        lows: Smallest value of each channel.
        highs: Largest value of each channel.

    Returns:
        Mean and variance of each channel, the smallest and the largest value; None if a number is not finite.

    Example:
        >>> float_pairs(2, [0.5, 3.0], [0.5, 1e-17], [0.0, 3.0], [1.0, 3.0])
        ([(0.5, 0.25), (3.0, 0.0)], 0.0, 3.0)
    """
    if not all(map(isfinite, [*means, *squares])):
        return None
    numbers = zip(means, squares, lows, highs, strict=True)
    pairs = [(low, 0.0) if low == high else (mean, square / count) for mean, square, low, high in numbers]
    return pairs, min(lows), max(highs)
