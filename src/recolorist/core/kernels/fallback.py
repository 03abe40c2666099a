"""The compiled loops of ``_kernels.c`` once more, in NumPy: same arguments, same bits, for machines without a compiler.

Integer sums are taken by float64 matrix products: every partial sum stays below 2**53, so they are exact in any order.
Float sums follow the same blocks and lanes as the C code, in the same order. Pieces are small, so that no call needs
more than about a megabyte beside its output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core.kernels.fallback_audit import gather, level_losses, map_counts, map_moments, patch_losses
from recolorist.core.kernels.fallback_converted import (
    affine_converted,
    convert,
    join,
    moments_converted,
    moments_levels,
    split,
)
from recolorist.core.kernels.fallback_math import clip
from recolorist.core.kernels.fallback_pairs import exact_pairs, exact_rows, float_pairs
from recolorist.core.kernels.fallback_philox import first_random
from recolorist.core.kernels.fallback_transport import exponential, mixed_variances, product, transport

if TYPE_CHECKING:
    from recolorist.core.kernels.fallback_ranks import hsi_levels, match_counts, match_shares, mix_whole, strict_order

__all__ = [
    "affine",
    "affine_converted",
    "clipped",
    "convert",
    "exponential",
    "first_random",
    "gather",
    "histogram",
    "hsi_levels",
    "join",
    "level_losses",
    "look_up",
    "map_counts",
    "map_moments",
    "match_counts",
    "match_shares",
    "mix_whole",
    "mixed_variances",
    "moments_converted",
    "moments_integer",
    "moments_levels",
    "moments_rgba",
    "pairs_float",
    "pairs_levels",
    "patch_losses",
    "planes",
    "product",
    "products_float",
    "rows_levels",
    "split",
    "strict_order",
    "sums_float",
    "transport",
]

# loaded when a histogram method asks for them: a study that uses none does not depend on how pixels are ranked
_RANKS: Final = ("hsi_levels", "match_counts", "match_shares", "mix_whole", "strict_order")
_PIECE = 24_576  # values per step: 192 KiB of float64, which stays in the second-level cache
_BLOCK = 4096  # must equal BLOCK in _kernels.c
_LANES = 16  # must equal FLOAT_LANES in _kernels.c


def __getattr__(name: str) -> Any:
    """Load the loops that rank pixels on first use."""
    if name in _RANKS:
        return getattr(import_module("recolorist.core.kernels.fallback_ranks"), name)
    raise AttributeError(f"module 'recolorist.core.kernels.fallback' has no attribute {name!r}")


def moments_integer(pixels: NDArray[Any], itemsize: int, channels: int, reach: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Exact sums, and sums of products: ``products[d * channels + i]`` is the sum of ``x[i] * x[i + d]``."""
    flat = pixels.reshape(-1, channels)
    sums, products = [0] * channels, [0] * (channels * reach)
    if itemsize == 1 and reach == 1:
        flat = _sum_wide_rows(flat, sums, products)
    for piece in _pieces(flat):
        planes = piece.T.astype(np.float64)
        for i, total in enumerate(planes.sum(axis=1)):
            sums[i] += int(total)
        gram = planes @ planes.T
        for d in range(reach):
            for i in range(channels - d):
                products[d * channels + i] += int(gram[i, i + d])
    return tuple(sums), tuple(products)


def _sum_wide_rows(flat: NDArray[np.uint8], sums: list[int], squares: list[int]) -> NDArray[np.uint8]:
    """Add up most of an 8-bit image, ten times as fast as by matrix product; returns the pixels left over.

    Rows of 128 pixels keep the channels apart; a square fits into 16 bits, and a column of them into 32.
    """
    channels = flat.shape[1]
    whole = len(flat) // 128 * 128
    rows = flat[:whole].reshape(-1, 128 * channels)
    step = max(1, _PIECE * 4 // rows.shape[1])
    for start in range(0, len(rows), step):
        piece = rows[start : start + step]
        squared = np.multiply(piece, piece, dtype=np.uint16)
        for totals, part in ((sums, piece), (squares, squared)):
            columns = np.add.reduce(part, axis=0, dtype=np.uint32).reshape(128, channels).sum(axis=0, dtype=np.uint64)
            for i, total in enumerate(columns.tolist()):
                totals[i] += total
    return flat[whole:]


def sums_float(
    pixels: NDArray[Any], itemsize: int, channels: int
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Sums in fixed order, minima and maxima."""
    flat = pixels.reshape(-1, channels)
    totals = np.zeros(channels)
    with np.errstate(all="ignore"):
        for block in _blocks(flat):
            totals += _sum_lanes(block.astype(np.float64))
        # fmin and fmax pass over NaN as the comparisons in C do; the sum has already carried the NaN
        low, high = np.fmin.reduce(flat, axis=0), np.fmax.reduce(flat, axis=0)
    return tuple(totals.tolist()), tuple(map(float, low)), tuple(map(float, high))


def products_float(
    pixels: NDArray[Any], itemsize: int, channels: int, means: Sequence[float], diagonal: bool
) -> tuple[float, ...]:
    """Sums of products of deviations from ``means``: squares if ``diagonal``, else the upper triangle row by row."""
    centre = np.asarray(means)
    pairs = [(i, j) for i in range(channels) for j in range(i, i + 1 if diagonal else channels)]
    totals = np.zeros(len(pairs))
    with np.errstate(all="ignore"):
        for block in _blocks(pixels.reshape(-1, channels)):
            deviations = block.astype(np.float64) - centre
            for k, (i, j) in enumerate(pairs):
                totals[k] += _sum_lanes((deviations[:, i] * deviations[:, j])[:, None])[0]
    return tuple(totals.tolist())


def pairs_levels(pixels: NDArray[Any], channels: int) -> list[tuple[float, float]]:
    """Mean and variance of each channel of 8-bit pixels."""
    return exact_pairs(pixels.size // channels, *moments_integer(pixels, 1, channels, 1))


def rows_levels(
    pixels: NDArray[Any],
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[float, float]], list[list[float]]]:
    """Exact sums, means, variances and covariances of 8-bit pixels with three channels."""
    sums = moments_integer(pixels, 1, 3, 3)
    return sums, exact_pairs(pixels.size // 3, *sums), exact_rows(pixels.size // 3, *sums)


def pairs_float(pixels: NDArray[Any], itemsize: int, channels: int) -> tuple[list[tuple[float, float]], float, float] | None:
    """Mean and variance of each channel, the smallest and the largest value; None if a sum is not finite."""
    count = pixels.size // channels
    sums, lows, highs = sums_float(pixels, itemsize, channels)
    means = [total / count for total in sums]
    return float_pairs(count, means, products_float(pixels, itemsize, channels, means, True), lows, highs)


def affine(
    source: NDArray[Any],
    target: NDArray[Any],
    kind: str,
    channels: int,
    gain: Sequence[float],
    offset: Sequence[float],
    low: float,
    high: float,
) -> None:
    """Write ``gain · source + offset``, clipped, integers rounded half to even.

    ``gain`` has one number per channel, or a whole matrix row by row; the compiled form knows 3 x 3 only.
    """
    from_flat, to_flat = source.reshape(-1, channels), target.reshape(-1, channels)
    if len(gain) == channels and kind == "B":
        levels, factors, shifts = np.arange(256.0), np.asarray(gain)[:, None], np.asarray(offset)[:, None]
        look_up(source, target, channels, np.rint(np.clip(factors * levels + shifts, low, high)).astype(np.uint8))
        return
    planes = _diagonal if len(gain) == channels else _matrix
    with np.errstate(all="ignore"):  # non-finite pixels may pass through here; the caller puts them back
        for piece, result in zip(_pieces(from_flat), _pieces(to_flat), strict=True):
            values = planes(piece.T.astype(np.float64), gain, offset)
            clip(values, low, high)
            result[...] = (np.rint(values) if kind in "BH" else values).T


def moments_rgba(pixels: NDArray[np.uint8]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """:func:`moments_integer` with reach 3 of the first three of four 8-bit channels; the fourth is passed over."""
    colour = pixels.reshape(-1, 4)[:, :3]
    sums, products = [0] * 3, [0] * 9
    for piece in _pieces(colour):
        more_sums, more_products = moments_integer(np.ascontiguousarray(piece), 1, 3, 3)
        sums = [a + b for a, b in zip(sums, more_sums, strict=True)]
        products = [a + b for a, b in zip(products, more_products, strict=True)]
    return tuple(sums), tuple(products)


def histogram(pixels: NDArray[Any], itemsize: int, depth: int, counts: NDArray[np.uint64]) -> None:
    """Add to ``counts``, shaped (channels, 256 or 65536), how often each level occurs; further channels are passed over."""
    for piece in _pieces(pixels.reshape(-1, depth)):
        for c in range(len(counts)):
            counts[c] += np.bincount(piece[:, c], minlength=counts.shape[1]).astype(np.uint64)


def clipped(pixels: NDArray[np.uint8], channels: int, gain: Sequence[float], offset: Sequence[float]) -> tuple[int, ...]:
    """How many 8-bit values per channel the map drives beyond 0 or 255."""
    counts = np.zeros((channels, 256), np.uint64)
    histogram(pixels, 1, channels, counts)
    mapped = np.rint(np.asarray(gain)[:, None] * np.arange(256.0) + np.asarray(offset)[:, None])
    return tuple(np.where((mapped < 0) | (mapped > 255), counts, 0).sum(axis=1).tolist())


def look_up(pixels: NDArray[np.uint8], target: NDArray[np.uint8], channels: int, tables: NDArray[np.uint8]) -> None:
    """Look 8-bit pixels up in ``tables`` (channels, 256) by ``bytes.translate``, the fastest look-up plain Python has."""
    chosen = [table.tobytes() for table in tables.reshape(channels, 256)]
    for piece, result in zip(_pieces(pixels.reshape(-1, channels)), _pieces(target.reshape(-1, channels)), strict=True):
        for c, table in enumerate(chosen):
            result[:, c] = np.frombuffer(piece[:, c].tobytes().translate(table), np.uint8)


def planes(pixels: NDArray[np.uint8], target: NDArray[np.float32], channels: int, tables: NDArray[np.float32]) -> None:
    """Look 8-bit pixels up in ``tables`` (channels, 256) and write them plane by plane, (channels, n)."""
    flat, out = pixels.reshape(-1, channels), target.reshape(channels, -1)
    for c in range(channels):
        np.take(tables[c], flat[:, c], out=out[c], mode="clip")


def _pieces(flat: NDArray[Any]) -> Iterator[NDArray[Any]]:
    step = max(1, _PIECE // flat.shape[1])
    return (flat[start : start + step] for start in range(0, len(flat), step))


def _blocks(flat: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (flat[start : start + _BLOCK] for start in range(0, len(flat), _BLOCK))


def _sum_lanes(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pixel k goes to lane k % 16; each lane adds in order, then the lanes are added in order.

    ``accumulate`` adds strictly in order, ``sum`` may not. The zeros that fill up the last row change no sum.
    """
    pixels, channels = block.shape
    rows = np.zeros((-(-pixels // _LANES) * _LANES, channels))
    rows[:pixels] = block
    lanes = np.add.accumulate(rows.reshape(-1, _LANES * channels), axis=0)[-1].reshape(_LANES, channels)
    return np.asarray(np.add.accumulate(lanes, axis=0)[-1])


def _diagonal(planes: NDArray[np.float64], gain: Sequence[float], offset: Sequence[float]) -> NDArray[np.float64]:
    planes *= np.asarray(gain)[:, None]
    planes += np.asarray(offset)[:, None]
    return planes


def _matrix(planes: NDArray[np.float64], gain: Sequence[float], offset: Sequence[float]) -> NDArray[np.float64]:
    """Sum in channel order, offset last, as in C; a matrix product would choose its own order."""
    channels = len(planes)
    result = np.empty_like(planes)
    for c in range(channels):
        total = gain[channels * c] * planes[0]
        for k in range(1, channels):
            total += gain[channels * c + k] * planes[k]
        result[c] = total + offset[c]
    return result
