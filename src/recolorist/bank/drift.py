"""Drift: is today's data photometrically inside what the model was trained on?

Every image is a point: the means of its channels and the log-Cholesky factor of their covariance, nine numbers for RGB. The bank
is a cloud of such points. The distance of an image is Mahalanobis': how many deviations of the cloud it lies away, whatever the
direction. The threshold is taken from the bank itself, leaving each image out in turn, so that it holds for clouds of any shape;
for banks too small for that, it is that of normal data, by the F distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.features import style_features
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import StatisticsError

__all__ = ["LEVEL", "Group", "Region", "at_least", "f_threshold", "group_of", "image_lines", "in_words", "left_out", "region_of"]

Array = NDArray[np.float64]

LEVEL: Final = 0.99
_FLOOR: Final = 0.5 / 255.0  # no feature is known better than half an 8-bit level; keeps constant ones from exploding
_SURE: Final = 1e-3  # below this probability a group's share outside is not chance
_CHANNELS: Final = ("red", "green", "blue")


@dataclass(frozen=True, slots=True)
class Region:
    """The cloud of a bank: its centre, what makes it round, and how far its edge is."""

    centre: Array
    whiten: Array  #: features times this have unit covariance
    threshold: float  #: of the distance
    rule: Literal["leave-one-out", "F"]
    styles: int
    mean_centre: Array  #: mean of the bank's means and deviations, and their spread, in unit range: for words
    mean_spread: Array
    std_centre: Array
    std_spread: Array

    def whitened(self, mean: Array, cov: Array) -> Array:
        """Points of images in the coordinates in which the cloud is round."""
        return np.asarray((style_features(mean, cov) - self.centre) @ self.whiten)

    def distance(self, mean: Array, cov: Array) -> Array:
        """Mahalanobis distance of images from the centre."""
        return np.asarray(np.sqrt((self.whitened(mean, cov) ** 2).sum(axis=1)))


def region_of(bank: StyleBank, level: float = LEVEL) -> Region:
    """Fit the region that holds a new image like those of the bank with this probability.

    >>> rng = np.random.default_rng(0)
    >>> images = rng.integers(rng.integers(0, 99, (40, 1, 1, 1)), 200, (40, 8, 8, 3), dtype=np.uint8)
    >>> region_of(StyleBank.build(images)).rule
    'F'
    """
    if bank.space != "rgb":
        raise StatisticsError(f"the bank holds moments of {bank.space!r}; drift needs those of RGB")
    if not 0.5 <= level < 1:
        raise StatisticsError(f"level={level:g}; accepted are probabilities from 0.5 to below 1")
    features = style_features(bank.mean, bank.cov)
    count, size = features.shape
    if count < size + 3:
        raise StatisticsError(f"the bank has {count} styles; at least {size + 3} are needed to say what is usual")
    centre = features.mean(axis=0)
    deviations = features - centre
    spread, axes = np.linalg.eigh(deviations.T @ deviations / (count - 1))
    whiten = axes / np.sqrt(np.maximum(spread, _FLOOR**2))
    inside = ((deviations @ whiten) ** 2).sum(axis=1)
    rank = math.ceil((count + 1) * level)
    if rank <= count:
        threshold, rule = float(np.sort(left_out(inside, count))[rank - 1]), "leave-one-out"
    else:
        varying = int((spread > _FLOOR**2).sum())  # directions in which nothing varies add nothing to a distance
        threshold, rule = f_threshold(count, max(1, varying), level), "F"
    return Region(
        centre,
        whiten,
        math.sqrt(threshold),
        rule,  # type: ignore[arg-type]  # one of the two
        count,
        bank.mean.mean(axis=0),
        np.maximum(bank.mean.std(axis=0, ddof=1), _FLOOR),
        bank.std.mean(axis=0),
        np.maximum(bank.std.std(axis=0, ddof=1), _FLOOR),
    )


def left_out(inside: Array, count: int) -> Array:
    """Squared distance of each of ``count`` points from the cloud of the others, from its distance in the cloud of all.

    The usual rank-one identity: with d² the distance in the whole, leaving the point out gives
    (n−2)·n²·d² / ((n−1)·((n−1)² − n·d²)).
    """
    room = np.maximum((count - 1) ** 2 - count * inside, 1e-9)
    return np.asarray((count - 2) * count**2 * inside / ((count - 1) * room))


def f_threshold(count: int, size: int, level: float) -> float:
    """Squared distance that keeps a new normal point with this probability: p(n+1)(n−1) / (n(n−p)) times a quantile of F."""
    from scipy.special import fdtri  # loaded only for small banks

    return float(size * (count + 1) * (count - 1) / (count * (count - size)) * fdtri(size, count - size, level))


@dataclass(frozen=True, slots=True)
class Group:
    """One group of today's images: how many lie outside, whether that can be chance, and how its colours moved."""

    name: str
    images: int
    outside: int
    chance: float  #: probability of so many outside, if the group were like the bank
    mean_shift: Array  #: in 8-bit levels, per channel
    mean_sds: Array  #: the same in deviations of the bank
    contrast: Array  #: ratio of deviations, per channel
    contrast_sds: Array  #: the change of the deviations in deviations of the bank

    @property
    def share(self) -> float:
        """Share of images outside the region."""
        return self.outside / self.images

    @property
    def drifted(self) -> bool:
        """Whether more lie outside than chance explains."""
        return self.chance < _SURE

    @property
    def words(self) -> str:
        """Which channel moved most, and how."""
        return in_words(self.mean_shift, self.mean_sds, self.contrast, self.contrast_sds)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "group": self.name,
            "images": self.images,
            "outside": self.outside,
            "share": self.share,
            "chance": self.chance,
            "drifted": self.drifted,
            "mean_shift_levels": self.mean_shift.tolist(),
            "mean_shift_sds": self.mean_sds.tolist(),
            "contrast_ratio": self.contrast.tolist(),
            "contrast_sds": self.contrast_sds.tolist(),
            "words": self.words,
        }


def group_of(name: str, region: Region, mean: Array, std: Array, distance: Array, level: float) -> Group:
    """Sum up one group."""
    outside = int((distance > region.threshold).sum())
    chance = at_least(outside, len(distance), 1.0 - level)
    return Group(name, len(distance), outside, chance, *_moved(region, mean.mean(axis=0), std.mean(axis=0)))


def _moved(region: Region, mean: Array, std: Array) -> tuple[Array, Array, Array, Array]:
    """How an image or a group differs from the centre: levels, deviations, ratio of contrasts, deviations of contrast."""
    shift, change = mean - region.mean_centre, std - region.std_centre
    ratio = std / np.maximum(region.std_centre, _FLOOR)
    return 255 * shift, shift / region.mean_spread, ratio, change / region.std_spread


def at_least(found: int, of: int, probability: float) -> float:
    """Probability of so many or more among independent draws.

    >>> round(at_least(1, 2, 0.5), 12)
    0.75
    """
    from scipy.special import bdtrc

    return float(bdtrc(found - 1, of, probability)) if found else 1.0


def in_words(shift: Array, sds: Array, contrast: Array, contrast_sds: Array) -> str:
    """Which channel moved most, and how: what moved further, brightness or contrast, comes first.

    >>> in_words(np.array([1.0, -31.0]), np.array([0.1, -4.2]), np.array([1.0, 1.3]), np.array([0.0, 2.0]))
    'channel 1: 31 levels darker (4.2 SD), contrast × 1.30 (2.0 SD)'
    """
    channel = int(np.maximum(np.abs(sds), np.abs(contrast_sds)).argmax())
    name = _CHANNELS[channel] if len(sds) == 3 else "grey" if len(sds) == 1 else f"channel {channel}"
    way = "brighter" if shift[channel] > 0 else "darker"
    parts = [
        f"{abs(shift[channel]):.0f} levels {way} ({abs(sds[channel]):.1f} SD)",
        f"contrast × {contrast[channel]:.2f} ({abs(contrast_sds[channel]):.1f} SD)",
    ]
    further = parts if abs(sds[channel]) >= abs(contrast_sds[channel]) else parts[::-1]
    return f"{name}: {', '.join(further)}"


def image_lines(
    region: Region, keys: Sequence[str], groups: Sequence[str], mean: Array, std: Array, distance: Array
) -> list[dict[str, Any]]:
    """One line per image."""
    return [
        {
            "source": key,
            "group": groups[i],
            "distance": float(distance[i]),
            "outside": bool(distance[i] > region.threshold),
            "words": in_words(*_moved(region, mean[i], std[i])),
        }
        for i, key in enumerate(keys)
    ]
