"""Blank images: glass, a failed scan, a black frame. Matching would turn their noise into structures that are not there.

An image is blank if this holds in every channel: the standard deviation is below 3 % of the range, and at least 97 % of the
values lie within 3 % of the range from the mean. The deviation is known from the moments; values are
counted only where it is that low. ``docs/blank.md`` has the counts on real images that both numbers come from.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image
from recolorist.core.clipping import level_counts
from recolorist.core.gains import Flags, Pairs, mean_and_variance
from recolorist.core.moments import Moments, measure_opened
from recolorist.core.options import MatchOptions
from recolorist.core.plan import ChannelMap
from recolorist.core.sums import integer_pairs

__all__ = ["BAND", "SHARE", "STYLE_DEVIATION", "are_blank_levels", "are_blank_styles", "blank_map", "is_blank", "is_low"]

Mask = NDArray[np.bool_] | None

BAND: Final = 0.03  #: of the range: limit of the deviation, and of the distance of most values from the mean
SHARE: Final = 0.97  #: of the values of a channel that lie so close to its mean
STYLE_DEVIATION: Final = 0.02  #: of the range: below it a style is blank, where its moments are all that is known
_UNCHANGED: Final = MatchOptions(strength=0.0)


def is_blank(opened: image.Opened, mask: Mask = None, measured: Pairs | Moments | None = None) -> bool:
    """Say whether an image has nothing in it.

    Args:
        opened: The image.
        mask: Only its pixels count; an image of whose pixels none is inside is blank.
        measured: The moments of these pixels, if they are known; moments of a space that is not linear are taken again in RGB.

    Returns:
        True for a blank image. Without a declared range only an image of one colour is blank.

    Example:
        >>> tile = np.full((20, 20, 3), 243, np.uint8)
        >>> tile[3, 3:5] = 150  # a grain of dust
        >>> is_blank(image.open_image(tile)), is_blank(image.open_image(tile[:10, :10]))
        (True, False)
    """
    if mask is not None and not mask.any():
        return True
    pairs = _measure_pairs(opened, mask, measured)
    if math.isinf(opened.data_range):
        return all(variance == 0 for _, variance in pairs)
    band = BAND * opened.data_range
    limit = band * band
    for _, variance in pairs:
        if variance >= limit:
            return False
    return all(share >= SHARE for share in _shares_near(opened, mask, [mean for mean, _ in pairs], band))


def is_low(moments: Moments) -> bool:
    """Say whether the deviation of every channel is so low that the image may be blank; its values decide.

    Example:
        >>> is_low(Moments(100, [243.0], [[9.0]], 255.0)), is_low(Moments(100, [243.0], [[100.0]], 255.0))
        (True, False)
    """
    return bool((moments.cov.diagonal() < (BAND * moments.data_range) ** 2).all())


def are_blank_levels(counts: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which images are blank, from the counts of their levels, shaped (images, channels, levels).

    Example:
        >>> counts = np.zeros((2, 1, 256), np.int64)
        >>> counts[0, 0, [240, 241]] = counts[1, 0, [0, 255]] = 50
        >>> are_blank_levels(counts).tolist()
        [True, False]
    """
    levels = np.arange(counts.shape[-1], dtype=np.float64)
    band = BAND * (counts.shape[-1] - 1)
    pixels = counts.sum(axis=-1)
    mean = (counts @ levels / pixels)[..., None]
    distance = np.abs(levels - mean)
    variance = (counts * distance * distance).sum(axis=-1) / pixels
    near = np.where(distance <= band, counts, 0).sum(axis=-1)
    return np.asarray(((variance < band * band) & (near >= SHARE * pixels)).all(axis=-1))


def are_blank_styles(cov: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which styles are blank, from their covariances (N, C, C) in unit range alone.

    Example:
        >>> are_blank_styles(np.array([[[1e-4]], [[1e-2]]])).tolist()
        [True, False]
    """
    return np.asarray((np.diagonal(cov, axis1=1, axis2=2) < STYLE_DEVIATION**2).all(axis=1))


def blank_map(opened: image.Opened) -> ChannelMap:
    """Return the map of a blank image, which changes nothing and has the flag ``blank``."""
    pairs = _measure_pairs(opened, None, None)
    channels = len(pairs)
    flags = Flags([("blank",)] * channels)
    return ChannelMap([1.0] * channels, [0.0] * channels, flags, _UNCHANGED, opened.data_range, pairs, pairs)


def _measure_pairs(opened: image.Opened, mask: Mask, measured: Pairs | Moments | None) -> Pairs:
    """Return mean and variance of each channel in RGB, in the units of the image."""
    if isinstance(measured, list):
        return measured
    if measured is not None and measured.space == "rgb":
        return mean_and_variance(measured)
    if opened.is_integer:
        return integer_pairs(opened, mask, "image")
    return mean_and_variance(measure_opened(opened, mask, "rgb", "mask"))


def _shares_near(opened: image.Opened, mask: Mask, means: list[float], band: float) -> list[float]:
    """Return the share of values, per channel, that lie within ``band`` of the mean; pixels that are not finite do not count."""
    if opened.is_integer:
        counts = level_counts(opened, mask)
        distance = np.abs(np.arange(counts.shape[1]) - np.array(means)[:, None])
        shares: list[float] = (np.where(distance <= band, counts, 0).sum(axis=1) / counts.sum(axis=1)).tolist()
        return shares
    pixels = opened.colour if mask is None else opened.colour[mask]
    values = pixels.reshape(-1, opened.channels).astype(np.float64)
    finite = values[np.isfinite(values).all(axis=1)]
    near: list[float] = (np.abs(finite - np.array(means)) <= band).mean(axis=0).tolist()
    return near
