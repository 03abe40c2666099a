"""Colours before they are limited: the way back from a non-linear space without its limits.

Some conversions of :mod:`recolorist.core.spaces` hold lightness, chroma or saturation to their limits, whatever a map made of the
colour. To count what that changed, the same formulas are needed without these limits.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import numpy as np

from recolorist.core.spaces import SPACES, Convert, Pixels

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
    with np.errstate(all="ignore"):
        rgb = _UNLIMITED.get(space, SPACES[space].inverse)(values)
    return np.where(np.isnan(rgb), np.inf, rgb)


def _from_xyz(xyz: Pixels) -> Pixels:
    from skimage.color.colorconv import rgb_from_xyz  # heavy; `import recolorist` must stay light

    linear: Pixels = xyz @ rgb_from_xyz.T
    bent = 1.055 * np.power(np.maximum(linear, 0.0031308), 1 / 2.4) - 0.055
    return np.where(linear > 0.0031308, bent, 12.92 * linear)


def _from_lab(lab: Pixels) -> Pixels:
    from skimage.color.colorconv import xyz_tristimulus_values

    white: Pixels = xyz_tristimulus_values(illuminant="D65", observer="2")  # type: ignore[no-untyped-call]
    middle = (lab[..., 0] + 16.0) / 116.0
    out = np.stack([lab[..., 1] / 500.0 + middle, middle, middle - lab[..., 2] / 200.0], axis=-1)
    out = np.where(out > 0.2068966, out * out * out, (out - 16.0 / 116.0) / 7.787)
    return _from_xyz(out * white)


def _from_lch(lch: Pixels) -> Pixels:
    lightness, chroma, hue = lch[..., 0], lch[..., 1], lch[..., 2]
    return _from_lab(np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=-1))


def _from_luv(luv: Pixels) -> Pixels:
    from skimage.color.colorconv import luv2xyz

    xyz: Pixels = luv2xyz(luv)
    return _from_xyz(xyz)


def _from_hed(hed: Pixels) -> Pixels:
    from skimage.color.colorconv import rgb_from_hed

    rgb: Pixels = np.exp(hed * np.log(1e-6) @ rgb_from_hed)
    return rgb


def _from_hsv(hsv: Pixels) -> Pixels:
    """Red, green and blue are ``V - V S k``, with k from 0 to 1 by the distance of the hue from theirs."""
    hue, saturation, value = (hsv[..., c, None] for c in range(3))
    turn = (np.array([5.0, 3.0, 1.0]) + 6.0 * hue) % 6.0
    return np.asarray(value - value * saturation * np.clip(np.minimum(turn, 4.0 - turn), 0.0, 1.0))


def _from_hsi(hsi: Pixels) -> Pixels:
    """As the space's own inverse, which says how the sectors go."""
    turns = hsi[..., 0] - np.floor(hsi[..., 0])
    sector = np.floor(turns * 3.0).astype(int) % 3
    angle = (turns - sector / 3.0) * (2.0 * np.pi)
    saturation, intensity = hsi[..., 1], hsi[..., 2]
    lowest = intensity * (1.0 - saturation)
    leading = intensity * (1.0 + saturation * np.cos(angle) / np.cos(np.pi / 3.0 - angle))
    order = np.stack([leading, 3.0 * intensity - lowest - leading, lowest], axis=-1)
    return np.take_along_axis(order, (np.arange(3) - sector[..., None]) % 3, axis=-1)


_UNLIMITED: Final = MappingProxyType[str, Convert](
    {"lab": _from_lab, "lch": _from_lch, "luv": _from_luv, "hed": _from_hed, "hsv": _from_hsv, "hsi": _from_hsi}
)
