"""Colours before they are limited: the way back from a non-linear space without its limits.

The conversions of :mod:`recolorist.core.spaces` hold chroma, saturation and the lightness of LUV to their limits, whatever a map
made of the colour. To count what that changed, the same conversions are continued beyond these limits.
"""

from __future__ import annotations

import numpy as np

from recolorist.core.spaces import SPACES, Pixels

__all__ = ["to_unlimited_rgb"]


def to_unlimited_rgb(space: str, values: Pixels) -> Pixels:
    """Convert colours of a space to RGB that may leave 0 to 1.

    Args:
        space: A key of :data:`recolorist.SPACES`.
        values: Colours in the units of that space.

    Returns:
        RGB, equal to the space's own inverse where no limit is reached. Colours that no number stands for are infinite.

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
