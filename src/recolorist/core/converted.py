"""Measuring and mapping pixels in a colour space that is not linear; they are converted a chunk at a time and never stored.

8-bit images are converted in float32 and summed exactly, as whole steps; all others are converted and summed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core import kernels
from recolorist.errors import ImageError

__all__ = ["are_levels", "join_pixels", "level_sums", "map_pixels", "refuse_other_depth"]

_CHUNK: Final = 512  # pixels whose mean is joined with the others, as the loops have it
_STAGE: Final = 65_536  # values copied at a time where pixels are masked, strided or byte-swapped
Mask = NDArray[np.bool_] | None


def are_levels(opened: check.Opened) -> bool:
    """Whether an image has all 256 levels of 8 bits, whose sums are exact in every space."""
    return opened.kind == "B" and opened.data_range == 255.0


def level_sums(
    opened: check.Opened, mask: Mask, space: str, name: str, reach: int
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Measure an 8-bit image in a space exactly, whatever its pieces and their order.

    Args:
        opened: The image, for which :func:`are_levels` holds.
        mask: The pixels that are measured; None: all.
        space: The name of a space that is not linear.
        name: What to call the image in messages.
        reach: 1 for squares alone, 3 for all products.

    Returns:
        Count, sums and sums of products, in whole steps of the channels.

    Raises:
        ImageError: The image has no three channels.
    """
    refuse_other_depth(opened, space, name)
    array = opened.array
    if mask is None and array.flags.c_contiguous:
        return (array.shape[0] * array.shape[1], *kernels.loops.moments_levels(array, array.shape[-1], space, reach))
    count, sums, products = 0, (0,) * 3, (0,) * (3 * reach)
    for piece in _whole_chunks(opened, mask):
        more_sums, more_products = kernels.loops.moments_levels(piece, 3, space, reach)
        count, sums = count + len(piece), tuple(a + b for a, b in zip(sums, more_sums, strict=True))
        products = tuple(a + b for a, b in zip(products, more_products, strict=True))
    return count, sums, products


def refuse_other_depth(opened: check.Opened, space: str, name: str) -> None:
    """Refuse images that have no three colour channels."""
    if opened.channels != 3:
        raise ImageError(f"{name} has {opened.channels} channels; space={space!r} needs three")


def join_pixels(
    opened: check.Opened, mask: Mask, space: str, name: str
) -> tuple[int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Measure an image in a space.

    Args:
        opened: The image, of three colour channels and a declared range.
        mask: The pixels that are measured; None: all.
        space: The name of the space.
        name: What to call the image in messages.

    Returns:
        Count, means, covariance, and the extremes of each channel: equal where it is flat, else infinite.

    Raises:
        ImageError: The image cannot be converted, or holds values that are not finite or outside its range.
    """
    refuse_other_depth(opened, space, name)
    check.refuse_unknown_white(opened, space, name)
    joined = np.zeros(16)  # count, means, products of deviations, first pixel, 1 where others differ from it
    kind = "f" if opened.kind == "e" else opened.kind
    for piece in _whole_chunks(opened, mask):
        if not opened.is_integer:
            _refuse_floats(piece, opened.data_range, name)
        kernels.loops.moments_converted(piece, kind, piece.shape[-1], space, opened.data_range, joined)
    cov, upper = np.empty((3, 3)), np.triu_indices(3)
    cov[upper] = cov.T[upper] = joined[4:10] / joined[0]
    first, differs = joined[10:13], joined[13:16] > 0
    extremes = np.array([np.where(differs, -math.inf, first), np.where(differs, math.inf, first)])
    return int(joined[0]), joined[1:4].copy(), cov, extremes


def map_pixels(
    opened: check.Opened, target: NDArray[Any], space: str, numbers: tuple[list[float], list[float]], bounds: tuple[float, float]
) -> bool:
    """Convert, map and convert back: straight through the loops where memory allows, else by small copies.

    Args:
        opened: The image, of three colour channels and a declared range.
        target: Where to write, shaped like ``opened.array``. Further channels are copied.
        space: The name of the space.
        numbers: Gains and offsets, three of each or a matrix row by row and three offsets, in units of the space.
        bounds: The interval to which outputs are clipped.

    Returns:
        Whether all mapped values mean something.
    """
    source, half = opened.array, opened.kind == "e"
    kind, how = "d" if half else opened.kind, (space, opened.data_range, numbers, bounds)
    if not half and source.dtype.isnative and source.flags.c_contiguous and target.flags.c_contiguous:
        return bool(kernels.loops.affine_converted(source, target, kind, source.shape[-1], *how))
    within, work = True, np.dtype(np.float64) if half else source.dtype.newbyteorder("=")
    step = max(1, _STAGE // max(1, source[0].size))
    for start in range(0, len(source), step):
        native = np.ascontiguousarray(source[start : start + step], dtype=work)
        mapped = np.empty_like(native)
        within &= kernels.loops.affine_converted(native, mapped, kind, native.shape[-1], *how)
        with np.errstate(over="ignore"):
            target[start : start + step] = mapped
    return within


def _refuse_floats(piece: NDArray[Any], data_range: float, name: str) -> None:
    sums, lows, highs = kernels.loops.sums_float(piece, piece.dtype.itemsize, piece.shape[-1])
    if not all(map(math.isfinite, sums[:3])):
        check.refuse_nonfinite(name)
    check.refuse_outside(min(lows[:3]), max(highs[:3]), data_range, name)


def _whole_chunks(opened: check.Opened, mask: Mask) -> Iterator[NDArray[Any]]:
    """Yield contiguous native pixels: the whole image, or copies of whole chunks where its memory is not like that."""
    array = opened.array
    if mask is None and array.flags.c_contiguous and array.dtype.isnative and opened.kind != "e":
        yield array
        return
    native = np.dtype(np.float32) if opened.kind == "e" else array.dtype.newbyteorder("=")
    rows, rest = max(1, _STAGE // max(1, array[0].size)), np.empty((0, 3), native)
    for start in range(0, len(array), rows):
        piece = opened.colour[start : start + rows]
        taken = piece.reshape(-1, 3) if mask is None else piece[mask[start : start + rows]]
        rest = np.concatenate([rest, taken], dtype=native)
        whole = len(rest) // _CHUNK * _CHUNK
        if whole:
            yield rest[:whole]
            rest = rest[whole:]
    if len(rest):
        yield rest
