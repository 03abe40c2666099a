"""Counting what a map clips: from the levels of an integer image where that is enough, else from all pixels.

A value is one channel of one pixel. It is clipped if a limit changed it: in a linear space that of the range, in the other
spaces also those of the conversion back to RGB (see :func:`to_unlimited_rgb`). All shares here are shares of values.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image, kernels
from recolorist.core.apply import apply_opened
from recolorist.core.gains import clipped_levels
from recolorist.core.plan import ChannelMap, Plan
from recolorist.core.spaces import SPACES, Pixels
from recolorist.core.sums import staged

__all__ = [
    "clipped_share",
    "clipped_values",
    "colour_values",
    "level_counts",
    "maps_levels",
    "outside_range",
    "predicted_share",
    "to_unlimited_rgb",
    "unclipped_values",
]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_] | None
_PIECE: Final = 32_768  # pixels converted at a time


def clipped_share(content: image.Opened, numbers: ChannelMap | Plan, mask: Mask) -> list[float]:
    """Return the exact share of values, per channel, that a map drives out of the range; only pixels of the mask count."""
    if isinstance(numbers, Plan) and not maps_levels(content, numbers):
        shares: list[float] = clipped_values(colour_values(content, mask), content, numbers).mean(axis=0).tolist()
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


def clipped_values(values: Array, content: image.Opened, plan: Plan, written: Array | None = None) -> NDArray[np.bool_]:
    """Say which values a plan clips.

    Args:
        values: Pixels of the image, as :func:`colour_values` returns them.
        content: The image.
        plan: The map.
        written: What became of the pixels; None: what the plan makes of them.

    Returns:
        True where a value leaves the range or, in a non-linear space, is moved by more than a 255th of it by a limit.
    """
    unclipped = unclipped_values(values, content, plan)
    outside = outside_range(unclipped, content.data_range)
    if plan.is_linear_space:
        return outside
    if written is None:
        written = _map_values(values, content, plan, clip=True)
        written = np.rint(written) if content.is_integer else written
    with np.errstate(invalid="ignore"):
        return np.asarray(outside | (np.abs(unclipped - written) > content.data_range / 255.0))


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
    if plan.is_linear_space:
        free = _map_values(values, content, plan, clip=False)
    else:
        free = np.concatenate([_unlimited(piece, content, plan) for piece in _pieces(values)])
    return np.rint(free) if content.is_integer else free


def to_unlimited_rgb(space: str, values: Pixels) -> Pixels:
    """Convert colours of a space to RGB that may leave 0 to 1.

    The conversions of :mod:`recolorist.core.spaces` hold chroma, saturation and the lightness of LUV to their limits, whatever a
    map made of the colour. To count what that changed, the same conversions are continued beyond these limits.

    Args:
        space: A key of :data:`recolorist.SPACES`.
        values: Colours in the units of that space.

    Returns:
        RGB, equal to the space's own inverse where no limit is reached. Colours that numbers cannot express are infinite.

    Example:
        >>> bool((to_unlimited_rgb("lab", np.array([[[120.0, 0.0, 0.0]]])) > 1).all())
        True
    """
    inverse, first, second, third = SPACES[space].inverse, *np.moveaxis(values, -1, 0)
    with np.errstate(all="ignore"):
        if space in ("hsv", "hsi"):  # red, green and blue are straight lines in the saturation
            full = inverse(np.stack([first, np.ones_like(second), third], axis=-1))
            rgb = third[..., None] + second[..., None] * (full - third[..., None])
        elif space == "lch":  # a negative chroma is one of the opposite hue
            rgb = inverse(np.stack([first, np.abs(second), np.where(second < 0, third + np.pi, third)], axis=-1))
        elif space == "luv":  # below black, the mirror image of what lies above
            sign = np.where(first < 0, -1.0, 1.0)[..., None]
            rgb = sign * inverse(sign * values)
        else:
            rgb = inverse(values)
    return np.where(np.isnan(rgb), np.inf, rgb)


def _map_values(values: Array, content: image.Opened, plan: Plan, *, clip: bool) -> Array:
    """Map values as floats."""
    pixels = np.ascontiguousarray(values)[None]
    opened = image.Opened(pixels, content.channels, "d", content.data_range, pixels.shape, from_pil=False)
    target = np.empty_like(pixels)
    apply_opened(opened, plan, target, None, clip=clip)
    return np.asarray(target[0])


def _unlimited(values: Array, content: image.Opened, plan: Plan) -> Array:
    """Map a few pixels in a non-linear space, and convert them back without limits."""
    converted = SPACES[plan.space].forward(values[None] / content.data_range)
    mapped = converted @ plan.matrix.T + plan.offset
    return np.asarray(to_unlimited_rgb(plan.space, mapped)[0] * content.data_range)


def _pieces(values: Array) -> list[Array]:
    """Cut pixels into pieces whose conversions stay small."""
    return [values[start : start + _PIECE] for start in range(0, len(values), _PIECE)]
