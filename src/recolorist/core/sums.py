"""Sums of pixels: what means, variances and covariances are made of; and the mean and variance of each channel alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core import kernels
from recolorist.core.kernels.fallback_pairs import exact_pairs

__all__ = [
    "MOST_PAIRED",
    "Pairs",
    "exact_pairs",
    "float_pairs",
    "float_pixels",
    "float_sums",
    "integer_pairs",
    "integer_sums",
    "staged",
    "stepped_pairs",
]

Pairs = list[tuple[float, float]]  #: mean and variance of each channel

_STAGE: Final = 65_536  # values copied at a time where pixels are masked, strided or byte-swapped
MOST_PAIRED: Final = 2**18  # pixels of 8 bits whose means and variances one compiled call divides exactly
_MOST_PIXELS: Final = 2**31  # per call: 64-bit sums of 16-bit squares stay exact; larger images are added piece by piece


def integer_sums(
    opened: check.Opened, mask: NDArray[np.bool_] | None, reach: int
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return exact count, sums and sums of products (``reach`` 1: squares only) of the colour channels."""
    array, channels = opened.array, opened.array.shape[-1]
    itemsize, pixels = array.dtype.itemsize, array.size // channels
    if mask is None and array.flags.c_contiguous and array.dtype.isnative and pixels < _MOST_PIXELS:
        if channels == opened.channels:
            return (pixels, *kernels.loops.moments_integer(array, itemsize, channels, reach))
        if (itemsize, channels, opened.channels, reach) == (1, 4, 3, 3):
            return (pixels, *kernels.loops.moments_rgba(array))
        if reach == 1:  # cheaper to measure alpha as well and drop it
            sums, squares = kernels.loops.moments_integer(array, itemsize, channels, 1)
            return pixels, sums[: opened.channels], squares[: opened.channels]
    channels, plane = opened.channels, array[..., 0]
    if mask is None and reach == 1 and array.dtype.isnative and plane.flags.c_contiguous and plane.size < _MOST_PIXELS:
        planes = [kernels.loops.moments_integer(array[..., c], itemsize, 1, 1) for c in range(channels)]  # channel-first memory
        return plane.size, tuple(s for (s,), _ in planes), tuple(q for _, (q,) in planes)
    count = opened.colour[..., 0].size if mask is None else int(np.count_nonzero(mask))
    sums, products = [0] * channels, [0] * (channels * reach)
    for piece in staged(opened.colour, mask):
        more_sums, more_products = kernels.loops.moments_integer(piece, itemsize, channels, reach)
        sums = [a + b for a, b in zip(sums, more_sums, strict=True)]
        products = [a + b for a, b in zip(products, more_products, strict=True)]
    return count, tuple(sums), tuple(products)


def staged(pixels: NDArray[Any], mask: NDArray[np.bool_] | None) -> Iterator[NDArray[Any]]:
    """Yield small contiguous native copies of an integer array, with zeros outside the mask: they add nothing to a sum."""
    native = pixels.dtype.newbyteorder("=")
    rows = max(1, _STAGE // max(1, pixels[0].size))
    for start in range(0, len(pixels), rows):
        piece = np.ascontiguousarray(pixels[start : start + rows], dtype=native)
        if mask is not None:
            piece = np.multiply(piece, mask[start : start + rows, :, None], dtype=native)
        yield piece


def float_pixels(opened: check.Opened, mask: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return the pixels of a float image, contiguous and native; half precision is widened."""
    pixels = opened.colour if mask is None else opened.colour[mask]
    return np.ascontiguousarray(pixels, dtype=np.float64 if opened.kind == "d" else np.float32)


def float_sums(pixels: NDArray[Any], name: str) -> tuple[list[float], list[float], list[float], list[float]]:
    """Sum float pixels in a fixed order.

    Args:
        pixels: Native float32 or float64, contiguous.
        name: What to call the image in messages.

    Returns:
        Means, sums of products of deviations (the upper triangle row by row), minima and maxima of the channels.

    Raises:
        ImageError: A value is not finite, or a sum overflows.
    """
    channels, itemsize = pixels.shape[-1], pixels.dtype.itemsize
    count = pixels.size // channels
    sums, low, high = kernels.loops.sums_float(pixels, itemsize, channels)
    if not all(map(math.isfinite, sums)):
        check.refuse_nonfinite(name)
    means = [total / count for total in sums]
    products = kernels.loops.products_float(pixels, itemsize, channels, means, False)
    if not all(map(math.isfinite, products)):
        check.refuse_nonfinite(name)
    return means, list(products), list(low), list(high)


def integer_pairs(opened: check.Opened, mask: NDArray[np.bool_] | None, name: str) -> Pairs:
    """Measure mean and variance per channel of an integer image: the numbers of :func:`measure` without the rest."""
    check.refuse_empty(mask, name)
    check.refuse_levels_above(opened, name)
    array = opened.array
    depth = array.shape[-1]
    if mask is None and opened.kind == "B" and array.size <= MOST_PAIRED * depth and array.flags.c_contiguous:
        pairs: Pairs = kernels.loops.pairs_levels(array, depth)
        return pairs if len(pairs) == opened.channels else pairs[: opened.channels]
    plane = array[..., 0]
    if mask is None and opened.kind == "B" and plane.size <= MOST_PAIRED and plane.flags.c_contiguous:  # channel-first memory
        return [kernels.loops.pairs_levels(array[..., c], 1)[0] for c in range(opened.channels)]
    return exact_pairs(*integer_sums(opened, mask, 1))


def float_pairs(pixels: NDArray[Any], data_range: float, name: str) -> Pairs:
    """Measure mean and variance per channel of float pixels: the numbers of :func:`measure` without the rest."""
    channels, itemsize, measure_pairs = pixels.shape[-1], pixels.dtype.itemsize, kernels.loops.pairs_float
    if pixels.flags.c_contiguous:
        measured = [measure_pairs(pixels, itemsize, channels)]
    else:  # a channel has the same numbers, however its pixels lie in memory
        measured = [measure_pairs(pixels[..., c], itemsize, 1) for c in range(channels)]
    if None in measured:
        check.refuse_nonfinite(name)
    pairs, low, high = measured[0]
    for more, lowest, highest in measured[1:]:
        pairs, low, high = pairs + more, min(low, lowest), max(high, highest)
    if low < 0 or high > data_range:
        check.refuse_outside(low, high, data_range, name)
    return cast("Pairs", pairs)


def stepped_pairs(count: int, sums: Sequence[int], products: Sequence[int], bits: Sequence[int]) -> Pairs:
    """Return mean and variance per channel from exact sums of whole steps, two to the power of minus ``bits``.

    A channel that deviates by less than a step is flat: that is the rounding of its conversion.

    Example:
        >>> stepped_pairs(2, [8], [34], [1]), stepped_pairs(2, [8], [40], [1])
        ([(2.0, 0.0)], [(2.0, 1.0)])
    """
    square, pairs = count * count, []
    for total, squares, shift in zip(sums, products, bits, strict=False):
        spread = count * squares - total * total
        pairs.append((total / (count << shift), spread / (square << 2 * shift) if spread > square else 0.0))
    return pairs
