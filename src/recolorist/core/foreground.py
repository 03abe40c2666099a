"""Named rules for the foreground: which pixels of an image are tissue, or retina, and not glass or black surround."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core.disc import find_disc, find_outline

__all__ = ["DISCS", "LEAST", "PIXELS", "RULES", "Rule", "find_foreground", "fundus", "tissue"]

Rule = Callable[[NDArray[Any], float], NDArray[np.bool_] | None]

_GLASS: Final = 0.86  # unit range; stained tissue absorbs in at least one channel, glass in none
_BLACK: Final = 0.06  # camera noise in the surround of a fundus photograph stays below this
LEAST: Final = 0.01  # a rule that keeps less than this share of the image has found nothing, and is not used


def tissue(pixels: NDArray[Any], data_range: float) -> NDArray[np.bool_] | None:
    """Find the pixels that are not near-white: the darkest channel absorbs visibly.

    Args:
        pixels: An image (H, W, C).
        data_range: Largest value that it may hold.

    Returns:
        A mask (H, W); None where it would keep less than 1 % of the pixels.

    Example:
        >>> slide = np.full((2, 4, 3), 240, np.uint8)
        >>> slide[:, :2] = (150, 80, 160)
        >>> int(tissue(slide, 255.0).sum())
        4
    """
    return _enough(_not_glass(pixels, data_range))


def fundus(pixels: NDArray[Any], data_range: float) -> NDArray[np.bool_] | None:
    """Find the disc of a fundus photograph; where there is none, the pixels whose brightest channel is above camera noise.

    Args:
        pixels: An image (H, W, C).
        data_range: Largest value that it may hold.

    Returns:
        A mask (H, W); None where it would keep less than 1 % of the pixels.

    Example:
        >>> photograph = np.zeros((2, 4, 3), np.uint8)
        >>> photograph[:, :2] = (150, 80, 60)
        >>> int(fundus(photograph, 255.0).sum())
        4
    """
    mask = _enough(_not_black(pixels, data_range))
    disc = None if mask is None else find_disc(find_outline(pixels, data_range))
    return mask if disc is None else _enough(disc.rows(0, *pixels.shape[:2]))


def _not_glass(pixels: NDArray[Any], data_range: float) -> NDArray[np.bool_]:
    return np.asarray(pixels.min(axis=-1) < _GLASS * data_range)


def _not_black(pixels: NDArray[Any], data_range: float) -> NDArray[np.bool_]:
    return np.asarray(pixels.max(axis=-1) > _BLACK * data_range)


def _enough(mask: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    return mask if np.count_nonzero(mask) >= LEAST * mask.size else None


#: Every rule by its name. A rule takes pixels (H, W, C) and their range, and returns a mask, or None for all pixels.
RULES: Final = MappingProxyType({"tissue": tissue, "fundus": fundus})
#: What each rule says of a pixel, without looking at how many there are: for images that are read piece by piece.
PIXELS: Final = MappingProxyType({"tissue": _not_glass, "fundus": _not_black})
#: Rules that look for a disc first; their pixels count only where there is none.
DISCS: Final = frozenset({"fundus"})


def find_foreground(rule: Rule, pixels: NDArray[Any], data_range: float, *, or_all: bool) -> NDArray[np.bool_] | None:
    """Return the foreground of an image (H, W, C), or of each image of a batch (N, H, W, C).

    Args:
        rule: A value of :data:`RULES`.
        pixels: The colours.
        data_range: Their largest value.
        or_all: What to do where the rule finds nothing: True takes all pixels, False none, so that the image counts as blank.

    Returns:
        A mask, or None for all pixels of one image.

    Example:
        >>> glass = np.full((2, 4, 3), 240, np.uint8)
        >>> int(find_foreground(tissue, glass, 255.0, or_all=False).sum()), find_foreground(tissue, glass, 255.0, or_all=True)
        (0, None)
    """
    if pixels.ndim == 4:
        each = [find_foreground(rule, image, data_range, or_all=or_all) for image in pixels]
        return np.stack([np.ones(pixels.shape[1:3], bool) if mask is None else mask for mask in each])
    mask = rule(pixels, data_range)
    return np.zeros(pixels.shape[:2], bool) if mask is None and not or_all else mask
