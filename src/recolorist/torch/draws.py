"""What the modules of this package share: the Colorist they are given, and its draw for one image as one affine map."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.colorist import Colorist, Draw
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.core.gains import Pairs, diagonal_map, mean_and_variance
from recolorist.core.moments import Moments
from recolorist.core.style_change import resolve_style
from recolorist.core.sums import integer_pairs
from recolorist.errors import OptionError

__all__ = ["Affine", "Source", "affine_map", "is_plain", "measure_levels", "open_colorist", "plain_map"]

#: What every class of this package takes for a Colorist: one, or a bank, or the path of a saved one.
Source = Colorist | StyleBank | str | os.PathLike[str]


class Affine(NamedTuple):
    """A map of pixels: one gain per channel, or a matrix row by row, and offsets in units of 0 to ``data_range``."""

    gain: list[float]
    offset: list[float]
    data_range: float


def open_colorist(colorist: Source, options: Mapping[str, Any] | None = None) -> Colorist:
    """Return a Colorist as it is, or one for a bank with these options.

    Raises:
        OptionError: Options came beside a Colorist, or one is unknown or outside its limits.

    Example:
        >>> import numpy as np
        >>> bank = StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), split="train")
        >>> open_colorist(bank, {"p": 0.5}).p
        0.5
    """
    if options and isinstance(colorist, Colorist):
        raise OptionError(f"{', '.join(options)}: a Colorist was given, which has options of its own; set them there")
    return colorist if isinstance(colorist, Colorist) else Colorist(colorist, **options or {})


def affine_map(colorist: Colorist, pixels: NDArray[Any], draw: Draw, mask: Any = None) -> Affine | None:
    """Return the draw as one map of RGB for an array (H, W, C), or None where it is not one map of all pixels.

    Args:
        colorist: The augmentation.
        pixels: The image.
        draw: What was drawn for it.
        mask: Its foreground; without one the rule of ``colorist`` decides.
    """
    if mask is None and is_plain(colorist, pixels):
        return plain_map(colorist, pixels, draw)
    inside = colorist.mask_of(pixels, mask)
    if inside is not None and colorist.apply_to == "mask":
        return None
    plan = colorist.decide(pixels, draw, inside).plan
    if plan is None or not plan.is_linear_space:
        return None
    gain = plan.matrix.diagonal() if plan.is_diagonal else plan.matrix.ravel()
    return Affine(gain.tolist(), plan.offset.tolist(), plan.data_range)


def is_plain(colorist: Colorist, pixels: NDArray[Any]) -> bool:
    """Whether each channel of an integer image is matched on its own without mask or limit on clipping."""
    usual = (
        colorist.method == "mean_std" and colorist.space == "rgb" and not colorist.options.is_limited and colorist.mask is None
    )
    # four channels mean alpha to the core, which knows what to do with it
    fits = pixels.ndim == 3 and pixels.shape[-1] != 4 and pixels[..., 0].size > 0
    integer = pixels.dtype in (np.uint8, np.uint16) and pixels.dtype.isnative
    return usual and fits and integer and colorist.data_range is None and pixels.shape[-1] == colorist.bank.channels


def plain_map(colorist: Colorist, pixels: NDArray[Any], draw: Draw) -> Affine:
    """Return the map in the case of :func:`is_plain`; the numbers are those of :func:`recolorist.match`.

    A blank image has the map that changes nothing, as :class:`recolorist.Colorist` leaves it.
    """
    colorist.warn_once_of_size(pixels)
    colorist.mask_check.see(None)
    opened = check.open_image(pixels, alpha=False)
    measured = integer_pairs(opened, None, "image")
    if colorist.is_kept(opened, None, measured):
        return Affine([1.0] * opened.channels, [0.0] * opened.channels, opened.data_range)
    options = colorist.options.at_strength(draw.strength)
    style = resolve_style(draw.style.goal, measured, opened.data_range, options)
    goal = mean_and_variance(style, opened.data_range) if isinstance(style, Moments) else style
    gain, offset, _ = diagonal_map(measured, goal, options)
    return Affine(gain, offset, opened.data_range)


def measure_levels(pixels: NDArray[Any]) -> Pairs:
    """Return the exact mean and variance of each channel of integer pixels (H, W, C), whose memory may be channel first.

    Example:
        >>> measure_levels(np.array([[[0], [10], [20], [30]]], np.uint8))
        [(15.0, 125.0)]
    """
    return integer_pairs(check.open_image(pixels, alpha=False), None, "image")
