"""Sums of pixels: what means, variances and covariances are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core import kernels

__all__ = ["float_sums", "integer_sums", "staged"]

_STAGE: Final = 65_536  # values copied at a time where pixels are masked, strided or byte-swapped
_MOST_PIXELS: Final = 2**31  # per call: 64-bit sums of 16-bit squares stay exact; larger images are added piece by piece


def integer_sums(
    opened: check.Opened, mask: NDArray[np.bool_] | None, reach: int
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Exact count, sums and sums of products (``reach`` 1: squares only) of the colour channels."""
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
    """Small contiguous native copies of an awkward integer array, with zeros outside the mask: they add nothing to a sum."""
    native = pixels.dtype.newbyteorder("=")
    rows = max(1, _STAGE // max(1, pixels[0].size))
    for start in range(0, len(pixels), rows):
        piece = np.ascontiguousarray(pixels[start : start + rows], dtype=native)
        if mask is not None:
            piece = np.multiply(piece, mask[start : start + rows, :, None], dtype=native)
        yield piece


def float_sums(pixels: NDArray[Any], name: str, *, diagonal: bool) -> tuple[list[float], list[float], list[float], list[float]]:
    """Sum float pixels in a fixed order.

    Args:
        pixels: Native float32 or float64, contiguous; with ``diagonal`` also channel-first memory seen channel-last.
        name: What to call the image in messages.
        diagonal: Return squares of deviations alone, else the upper triangle of products row by row.

    Returns:
        Means, sums of products of deviations, minima and maxima of the channels.

    Raises:
        ImageError: A value is not finite, or a sum overflows.
    """
    if diagonal and not pixels.flags.c_contiguous:  # a channel has the same sums, however its pixels lie in memory
        planes = [float_sums(pixels[..., c : c + 1], name, diagonal=True) for c in range(pixels.shape[-1])]
        mean, products, lows, highs = ([value for (value,) in part] for part in zip(*planes, strict=True))
        return mean, products, lows, highs
    channels, itemsize = pixels.shape[-1], pixels.dtype.itemsize
    count = pixels.size // channels
    sums, low, high = kernels.loops.sums_float(pixels, itemsize, channels)
    if not all(map(math.isfinite, sums)):
        check.refuse_nonfinite(name)
    means = [total / count for total in sums]
    squares = kernels.loops.products_float(pixels, itemsize, channels, means, diagonal)
    if not all(map(math.isfinite, squares)):
        check.refuse_nonfinite(name)
    return means, list(squares), list(low), list(high)
