"""Pixels in a colour space that is not linear: the loops of ``_kernels_converted.h`` once more, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core.kernels.fallback_math import clip
from recolorist.core.kernels.fallback_spaces import DENSITY, UNIT, Planes, conversions, from_start, to_start

__all__ = ["affine_converted", "convert", "join", "moments_converted", "moments_levels", "split"]

_CHUNK: Final = 512  # must equal CHUNK in _kernels_spaces.h
_PARTS: Final = 8  # must equal PARTS in _kernels_converted.h
_PIECE: Final = 16 * _CHUNK  # pixels converted at a time
_MOST_MAPPED: Final = 1e30
_FARTHEST_SINGLE: Final = 1e9  # must equal FARTHEST_32 in _kernels_levels.h
_PAIRS: Final = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def convert(source: NDArray[np.float64], target: NDArray[np.float64], space: str, inverse: bool) -> None:
    """Convert float64 pixels of three channels between RGB in [0, 1] and a space."""
    for piece, result in _pieces(source.reshape(-1, 3), target.reshape(-1, 3)):
        planes = _inverse(_unit_planes(piece, 1.0), space) if inverse else _forward(_unit_planes(piece, 1.0), space)
        result[...] = np.stack(planes, axis=-1)


def moments_converted(pixels: NDArray[Any], kind: str, depth: int, space: str, unit: float, joined: NDArray[np.float64]) -> None:  # noqa: ARG001 - kind is for the compiled ones
    """Add pixels to ``joined``: count, means, products of deviations, the first pixel, 1 where others differ from it.

    Mean and products of each chunk are joined in order (Chan). Pieces of whole chunks add up as all at once do.
    """
    flat = pixels.reshape(-1, depth)[:, :3]
    for piece, _ in _pieces(flat, flat):
        planes = np.stack(_forward(_unit_planes(piece, unit), space))
        if joined[0] == 0:
            joined[10:13] = planes[:, 0]
        joined[13:16] = np.maximum(joined[13:16], (planes != joined[10:13, None]).any(axis=1))
        for start in range(0, planes.shape[1], _CHUNK):
            _join(joined, planes[:, start : start + _CHUNK])


def moments_levels(pixels: NDArray[np.uint8], depth: int, space: str, reach: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sum 8-bit pixels in whole steps of the channels of a space, exactly.

    Args:
        pixels: The pixels.
        depth: Their channels, of which the first three are taken.
        space: The name of the space.
        reach: 1 for squares alone, 3 for all products.

    Returns:
        Sums, and products: ``products[3 * d + i]`` is the sum of ``x[i] * x[i + d]``.
    """
    flat, bits = pixels.reshape(-1, depth)[:, :3], conversions[space].bits
    sums, products = [0] * 3, [0] * (3 * reach)
    for piece, _ in _pieces(flat, flat):
        planes = _forward_levels(piece, space)
        whole = [np.rint(plane * np.float32(2.0**k)).astype(np.int64) for plane, k in zip(planes, bits, strict=True)]
        for i in range(3):
            sums[i] += int(whole[i].sum())
            for d in range(min(reach, 3 - i)):
                products[3 * d + i] += int(np.dot(whole[i], whole[i + d]))
    return tuple(sums), tuple(products)


def affine_converted(
    source: NDArray[Any],
    target: NDArray[Any],
    kind: str,
    depth: int,
    space: str,
    unit: float,
    numbers: tuple[Sequence[float], Sequence[float]],
    bounds: tuple[float, float],
) -> bool:
    """Map pixels in a space by gains and offsets; returns whether all mapped values mean something.

    Channels beyond the third are copied.
    """
    within = True
    with np.errstate(all="ignore"):
        for piece, result in _pieces(source.reshape(-1, depth), target.reshape(-1, depth)):
            if _are_levels(kind, unit):
                gain, offset = ([np.float32(number) for number in part] for part in numbers)
                mapped, farthest = _map(_forward_levels(piece[:, :3], space), gain, offset), _FARTHEST_SINGLE
            else:
                mapped, farthest = _map(_forward(_unit_planes(piece[:, :3], unit), space), *numbers), _MOST_MAPPED
            within &= all(bool((np.abs(plane) <= farthest).all()) for plane in mapped)
            _write(mapped, result, kind, space, unit, bounds)
            result[:, 3:] = piece[:, 3:]
    return within


def split(pixels: NDArray[Any], kind: str, depth: int, space: str, unit: float, planes: NDArray[np.float64]) -> None:  # noqa: ARG001
    """Write the channels of a space as three planes."""
    flat = pixels.reshape(-1, depth)[:, :3]
    for piece, result in _pieces(flat, planes.reshape(3, -1).T):
        result[...] = np.stack(_forward(_unit_planes(piece, unit), space), axis=-1)


def join(
    planes: NDArray[np.float64],
    target: NDArray[Any],
    kind: str,
    depth: int,
    space: str,
    unit: float,
    bounds: tuple[float, float],
    mixing: tuple[Sequence[float], Sequence[float]],
) -> None:
    """Convert three planes of a space back to pixels; channels beyond the third are left as they are.

    Args:
        planes: The channels.
        target: Where to write.
        kind: The letter of its type.
        depth: Its channels.
        space: The name of the space; empty for a linear one.
        unit: The value of white.
        bounds: The interval to which outputs are clipped.
        mixing: Of a linear space, what stands for 1 in each plane, and the matrix from its basis to RGB row by row.
    """
    with np.errstate(all="ignore"):
        for piece, result in _pieces(planes.reshape(3, -1).T, target.reshape(-1, depth)):
            x, y, z = np.ascontiguousarray(piece.T)
            if space:
                _write((x, y, z), result, kind, space, unit, bounds)
            else:
                x, y, z = (plane / number for plane, number in zip((x, y, z), mixing[0], strict=True))
                values = np.stack([(a * x + b * y) + c * z for a, b, c in np.reshape(mixing[1], (3, 3))], axis=-1)
                _store(clip(values * unit, *bounds), result, kind)


def _write(values: Planes, target: NDArray[Any], kind: str, space: str, unit: float, bounds: tuple[float, float]) -> None:
    """Convert planes of a space back to RGB and store them in the first three channels."""
    start = conversions[space].start
    if values[0].dtype == np.float32 and start != UNIT:
        _store(np.stack([_levels(plane, start) for plane in conversions[space].inverse(values)], axis=-1), target, kind)
    else:
        _store(clip(np.stack(_inverse(values, space), axis=-1) * unit, *bounds), target, kind)


def _store(values: NDArray[Any], target: NDArray[Any], kind: str) -> None:
    target[:, :3] = np.rint(values) if kind in "BH" else values


def _pieces(source: NDArray[Any], target: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    return ((source[i : i + _PIECE], target[i : i + _PIECE]) for i in range(0, len(source), _PIECE))


def _unit_planes(pixels: NDArray[Any], unit: float) -> Planes:
    """Split pixels into planes in [0, 1]; what is not finite, and put back by the caller, is taken for zero."""
    values = np.ascontiguousarray(pixels.T, dtype=np.float64) / unit
    values[~np.isfinite(values)] = 0.0
    return values[0], values[1], values[2]


def _are_levels(kind: str, unit: float) -> bool:
    """Whether pixels are 8-bit levels, which are converted in float32."""
    return kind == "B" and unit == 255.0


@cache
def _level_starts(start: int) -> NDArray[np.float32]:
    """Return where each level lies in what a conversion starts from."""
    return to_start(np.arange(256.0) / 255.0, start).astype(np.float32)


def _forward_levels(pixels: NDArray[np.uint8], space: str) -> Planes:
    planes = _level_starts(conversions[space].start)[pixels.T]
    return conversions[space].forward((planes[0], planes[1], planes[2]))


def _forward(unit: Planes, space: str) -> Planes:
    start = conversions[space].start
    return conversions[space].forward((to_start(unit[0], start), to_start(unit[1], start), to_start(unit[2], start)))


def _inverse(values: Planes, space: str) -> Planes:
    start = conversions[space].start
    x, y, z = conversions[space].inverse(values)
    return from_start(x, start), from_start(y, start), from_start(z, start)


def _map(planes: Planes, gain: Sequence[Any], offset: Sequence[Any]) -> Planes:
    x, y, z = planes
    if len(gain) == 3:
        return gain[0] * x + offset[0], gain[1] * y + offset[1], gain[2] * z + offset[2]
    first, second, third = (((gain[3 * c] * x + gain[3 * c + 1] * y) + gain[3 * c + 2] * z) + offset[c] for c in range(3))
    return first, second, third


@cache
def _thresholds(start: int) -> NDArray[np.float32]:
    """Return the values from which on an 8-bit output has at least level 1, 2, ...; densities rise as levels fall."""
    steps = np.arange(1.0, 256.0)
    return to_start((255.5 - steps if start == DENSITY else steps - 0.5) / 255.0, start).astype(np.float32)


def _levels(values: NDArray[np.float32], start: int) -> NDArray[Any]:
    """Return the level of each 8-bit output: the number of thresholds it has reached. No power is taken."""
    reached = np.searchsorted(_thresholds(start), values, side="right")
    return 255 - reached if start == DENSITY else reached


def _join(joined: NDArray[np.float64], chunk: NDArray[np.float64]) -> None:
    """Join the moments of one chunk (3, n) with those before it."""
    n = float(chunk.shape[1])
    before = float(joined[0])
    share = n / (before + n)
    weight = before * share
    mean = _part_sums(chunk) / n
    gap = mean - joined[1:4]
    deviations = chunk - mean[:, None]
    products = _part_sums(np.stack([deviations[i] * deviations[j] for i, j in _PAIRS]))
    joined[4:10] += products + np.array([gap[i] * gap[j] for i, j in _PAIRS]) * weight
    joined[1:4] += gap * share
    joined[0] = before + n


def _part_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up each row: value k goes to part k % 8, each part adds in order, then the parts are added in order.

    ``accumulate`` adds strictly in order, ``sum`` may not. The zeros that fill up the last step change no sum.
    """
    count, n = rows.shape
    filled = np.zeros((count, -(-n // _PARTS) * _PARTS))
    filled[:, :n] = rows
    parts = np.add.accumulate(filled.reshape(count, -1, _PARTS), axis=1)[:, -1]
    return np.asarray(np.add.accumulate(parts, axis=1)[:, -1])
