"""Counting what a map clips: from the levels of an integer image where that is enough, else from all pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image, kernels
from recolorist.core.apply import apply_opened
from recolorist.core.gains import clipped_levels
from recolorist.core.moments import staged
from recolorist.core.plan import ChannelMap, Plan

__all__ = [
    "clipped_share",
    "colour_values",
    "level_counts",
    "maps_levels",
    "outside_range",
    "predicted_share",
    "unclipped_values",
]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_] | None


def clipped_share(content: image.Opened, numbers: ChannelMap | Plan, mask: Mask) -> list[float]:
    """Return the exact share of values, per channel, that a map drives out of the range; only pixels of the mask count."""
    if isinstance(numbers, Plan) and not maps_levels(content, numbers):
        values = unclipped_values(colour_values(content, mask), content, numbers)
        shares: list[float] = outside_range(values, content.data_range).mean(axis=0).tolist()
        return shares
    if isinstance(numbers, ChannelMap) and not (content.is_integer and numbers.options.space == "rgb"):
        return clipped_share(content, numbers.plan(), mask)
    if isinstance(numbers, Plan):
        gain, offset = numbers.matrix.diagonal().tolist(), numbers.offset_for(content.data_range).tolist()
    else:
        gain, offset = numbers.gain, numbers.offset
    array, channels = content.array, content.channels
    total = array.shape[0] * array.shape[1] if mask is None else int(np.count_nonzero(mask))
    if content.kind == "B" and mask is None and content.data_range == image.NATURAL_RANGE["B"]:
        beside = array.shape[-1] - channels  # alpha is left as it is
        every = (channels + beside, gain + [1.0] * beside, offset + [0.0] * beside)
        return [count / total for count in kernels.loops.clipped(np.ascontiguousarray(array), *every)[:channels]]
    clipped = clipped_levels(gain, offset, int(content.data_range))
    if not clipped.any():
        return [0.0] * channels
    counts = level_counts(content, mask)[:, : clipped.shape[1]]
    return [int(channel[levels].sum()) / total for channel, levels in zip(counts, clipped, strict=True)]


def predicted_share(content: image.Opened, numbers: ChannelMap | Plan, mask: Mask) -> float:
    """Return the share of all values that a map would clip, without writing a pixel."""
    shares = clipped_share(content, numbers, mask)
    return sum(shares) / len(shares)


def outside_range(values: Array, data_range: float) -> NDArray[np.bool_]:
    """Say which values would be clipped; a range that was not declared clips none."""
    if math.isinf(data_range):
        return np.zeros(values.shape, np.bool_)
    return np.asarray((values < 0) | (values > data_range))


def level_counts(opened: image.Opened, mask: Mask) -> NDArray[np.uint64]:
    """Count the levels of an integer image; the result is shaped (channels, 256 or 65536)."""
    counts = np.zeros((opened.channels, 256 if opened.kind == "B" else 65536), np.uint64)
    direct = mask is None and opened.array.flags.c_contiguous and opened.array.dtype.isnative
    for piece in [opened.array] if direct else staged(opened.colour, mask):
        kernels.loops.histogram(piece, piece.dtype.itemsize, piece.shape[-1], counts)
    if mask is not None:
        counts[:, 0] -= np.uint64(mask.size - np.count_nonzero(mask))  # staged as zeros
    return counts


def maps_levels(content: image.Opened, plan: Plan) -> bool:
    """Whether each output level is a function of the input level, so that histograms are enough."""
    return content.is_integer and plan.is_diagonal and plan.is_linear_space


def colour_values(opened: image.Opened, mask: Mask) -> Array:
    """Return the colour values of the mask's pixels as floats, shaped (pixels, channels)."""
    pixels = opened.colour if mask is None else opened.colour[mask]
    values: NDArray[Any] = pixels.reshape(-1, opened.channels).astype(np.float64, order="C")
    return values


def unclipped_values(values: Array, content: image.Opened, plan: Plan) -> Array:
    """Return what the plan would write if there were no limits, rounded for integer images."""
    pixels = np.ascontiguousarray(values)[None]
    free = image.Opened(pixels, content.channels, "d", content.data_range, pixels.shape, from_pil=False)
    target = np.empty_like(pixels)
    apply_opened(free, plan, target, None, clip=False)
    return np.rint(target[0]) if content.is_integer else np.asarray(target[0])
