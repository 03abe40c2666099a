"""Drift: how far the colours of new images lie from those of the bank a model was trained on.

Every image is a point: the means of its channels and the log-Cholesky factor of their covariance, nine numbers for RGB. The bank
is a cloud of such points. The distance of an image from it is Mahalanobis': the number of deviations of the cloud, in any
direction. The threshold is taken from the bank itself by leaving out each image in turn, which holds for clouds of any shape.
Banks too small for that get the threshold of normal data, by the F distribution.
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

__all__ = [
    "COVERAGE",
    "Group",
    "Region",
    "binomial_tail",
    "describe_shift",
    "f_threshold",
    "group_of",
    "image_lines",
    "leave_one_out",
    "region_of",
]

Array = NDArray[np.float64]

#: The share of images like those of the bank that lie inside the region, unless another one is asked for.
COVERAGE: Final = 0.99
_FLOOR: Final = 0.5 / 255.0  # no feature is known better than half an 8-bit level; keeps constant ones from exploding
_LEAST_CHANCE: Final = 1e-3  # below this probability the share of a group outside is called drift
_CHANNELS: Final = ("red", "green", "blue")


@dataclass(frozen=True, slots=True)
class Region:
    """The region of a bank: its centre, the map that makes it a sphere, and the distance of its edge.

    Made by :func:`region_of`.
    """

    centre: Array
    whiten: Array  #: features times this have unit covariance
    threshold: float  #: of the distance
    rule: Literal["leave-one-out", "F"]
    styles: int
    mean_centre: Array  #: mean of the bank's means and deviations, and their spread, in unit range: for descriptions
    mean_spread: Array
    std_centre: Array
    std_spread: Array

    def whitened(self, mean: Array, cov: Array) -> Array:
        """Return the points of images in coordinates in which the cloud has unit covariance."""
        return np.asarray((style_features(mean, cov) - self.centre) @ self.whiten)

    def distance(self, mean: Array, cov: Array) -> Array:
        """Return the Mahalanobis distance of images from the centre.

        Args:
            mean: Means (N, C) in unit range.
            cov: Covariances (N, C, C).
        """
        return np.asarray(np.sqrt((self.whitened(mean, cov) ** 2).sum(axis=1)))


def region_of(bank: StyleBank, coverage: float = COVERAGE) -> Region:
    """Fit the region that holds a new image like those of the bank with a given probability.

    Args:
        bank: A bank with moments of RGB or grey, of at least twelve images in RGB.
        coverage: The probability, from 0.5 to below 1.

    Returns:
        The region, whose ``rule`` says where its threshold comes from.

    Raises:
        StatisticsError: The bank is too small or of another space, or the coverage lies outside its limits.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> images = rng.integers(rng.integers(0, 99, (40, 1, 1, 1)), 200, (40, 8, 8, 3), dtype=np.uint8)
        >>> region_of(StyleBank.build(images)).rule
        'F'
    """
    if bank.space != "rgb":
        raise StatisticsError(f"the bank holds moments of {bank.space!r}; drift needs those of RGB")
    if not 0.5 <= coverage < 1:
        raise StatisticsError(f"coverage={coverage:g}; accepted are probabilities from 0.5 to below 1")
    features = style_features(bank.mean, bank.cov)
    count, size = features.shape
    if count < size + 3:
        raise StatisticsError(f"the bank has {count} styles; at least {size + 3} are needed to say what is usual")
    centre = features.mean(axis=0)
    deviations = features - centre
    spread, axes = np.linalg.eigh(deviations.T @ deviations / (count - 1))
    whiten = axes / np.sqrt(np.maximum(spread, _FLOOR**2))
    inside = ((deviations @ whiten) ** 2).sum(axis=1)
    rank = math.ceil((count + 1) * coverage)
    if rank <= count:
        threshold, rule = float(np.sort(leave_one_out(inside, count))[rank - 1]), "leave-one-out"
    else:
        varying = int((spread > _FLOOR**2).sum())  # directions in which nothing varies add nothing to a distance
        threshold, rule = f_threshold(count, max(1, varying), coverage), "F"
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


def leave_one_out(inside: Array, count: int) -> Array:
    """Return the squared distance of each point from the cloud of the others.

    This is the rank-one identity: a point at squared distance d² from the cloud of all n points lies at
    (n−2)·n²·d² / ((n−1)·((n−1)² − n·d²)) from that of the others.

    Args:
        inside: Squared distance of each point from the cloud of all.
        count: The number of points.
    """
    room = np.maximum((count - 1) ** 2 - count * inside, 1e-9)
    return np.asarray((count - 2) * count**2 * inside / ((count - 1) * room))


def f_threshold(count: int, size: int, coverage: float) -> float:
    """Return the squared distance within which a new normal point lies with this probability.

    It is p (n+1) (n−1) / (n (n−p)) times a quantile of the F distribution.

    Args:
        count: The number n of points that the cloud was fitted to.
        size: The number p of features.
        coverage: The probability.
    """
    from scipy.special import fdtri  # loaded only for small banks

    return float(size * (count + 1) * (count - 1) / (count * (count - size)) * fdtri(size, count - size, coverage))


@dataclass(frozen=True, slots=True)
class Group:
    """One group of new images: how many lie outside, how likely that is by chance, and how the colours moved."""

    name: str
    images: int
    outside: int
    chance: float  #: probability of so many outside, if the group were like the bank
    mean_shift: Array  #: in 8-bit levels, per channel
    mean_sds: Array  #: the same in deviations of the bank
    contrast: Array  #: ratio of deviations, per channel
    contrast_sds: Array  #: the change of the deviations in deviations of the bank
    too_few: bool = False  #: whether chance could put all images of so small a group outside

    @property
    def share(self) -> float:
        """Share of images outside the region."""
        return self.outside / self.images

    @property
    def drifted(self) -> bool:
        """Whether more lie outside than chance explains."""
        return self.chance < _LEAST_CHANCE

    @property
    def verdict(self) -> str:
        """Whether the group has drifted, lies inside, or is too small to judge."""
        return "drifted" if self.drifted else "too few to judge" if self.too_few else "inside"

    @property
    def words(self) -> str:
        """A description of the channel that moved most."""
        return describe_shift(self.mean_shift, self.mean_sds, self.contrast, self.contrast_sds)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and the description, ready for JSON."""
        return {
            "group": self.name,
            "images": self.images,
            "outside": self.outside,
            "share": self.share,
            "chance": self.chance,
            "drifted": self.drifted,
            "verdict": self.verdict,
            "mean_shift_levels": self.mean_shift.tolist(),
            "mean_shift_sds": self.mean_sds.tolist(),
            "contrast_ratio": self.contrast.tolist(),
            "contrast_sds": self.contrast_sds.tolist(),
            "words": self.words,
        }


def group_of(name: str, region: Region, mean: Array, std: Array, distance: Array, coverage: float) -> Group:
    """Summarise one group of images.

    Args:
        name: Name of the group.
        region: The region of the bank.
        mean: Means (N, C) of the images in unit range.
        std: Standard deviations (N, C).
        distance: Distances (N,) from the region's centre.
        coverage: The probability that the region was fitted for.
    """
    outside = int((distance > region.threshold).sum())
    count = len(distance)
    chance = binomial_tail(outside, count, 1.0 - coverage)
    too_few = binomial_tail(count, count, 1.0 - coverage) >= _LEAST_CHANCE
    return Group(name, count, outside, chance, *_compare(region, mean.mean(axis=0), std.mean(axis=0)), too_few)


def _compare(region: Region, mean: Array, std: Array) -> tuple[Array, Array, Array, Array]:
    """Return the shift in levels and in deviations, the ratio of contrasts, and the change of contrast in deviations."""
    shift, change = mean - region.mean_centre, std - region.std_centre
    ratio = std / np.maximum(region.std_centre, _FLOOR)
    return 255 * shift, shift / region.mean_spread, ratio, change / region.std_spread


def binomial_tail(successes: int, draws: int, probability: float) -> float:
    """Return the probability of so many successes or more among independent draws.

    Example:
        >>> round(binomial_tail(1, 2, 0.5), 12)
        0.75
    """
    from scipy.special import bdtrc

    return float(bdtrc(successes - 1, draws, probability)) if successes else 1.0


def describe_shift(shift: Array, sds: Array, contrast: Array, contrast_sds: Array) -> str:
    """Describe the channel that moved most; brightness or contrast comes first, whichever moved further.

    Args:
        shift: Change of the mean per channel in 8-bit levels.
        sds: The same in deviations of the bank.
        contrast: Ratio of standard deviations per channel.
        contrast_sds: Change of the standard deviation in deviations of the bank.

    Example:
        >>> describe_shift(np.array([1.0, -31.0]), np.array([0.1, -4.2]), np.array([1.0, 1.3]), np.array([0.0, 2.0]))
        'channel 1: 31 levels darker (4.2 SD), contrast × 1.30 (2.0 SD)'
    """
    channel = int(np.maximum(np.abs(sds), np.abs(contrast_sds)).argmax())
    name = _CHANNELS[channel] if len(sds) == 3 else "grey" if len(sds) == 1 else f"channel {channel}"
    direction = "brighter" if shift[channel] > 0 else "darker"
    parts = [
        f"{abs(shift[channel]):.0f} levels {direction} ({abs(sds[channel]):.1f} SD)",
        f"contrast × {contrast[channel]:.2f} ({abs(contrast_sds[channel]):.1f} SD)",
    ]
    ordered = parts if abs(sds[channel]) >= abs(contrast_sds[channel]) else parts[::-1]
    return f"{name}: {', '.join(ordered)}"


def image_lines(
    region: Region, keys: Sequence[str], groups: Sequence[str], mean: Array, std: Array, distance: Array
) -> list[dict[str, Any]]:
    """Return one record for each image: its group, distance, whether it lies outside, and a description."""
    return [
        {
            "source": key,
            "group": groups[i],
            "distance": float(distance[i]),
            "outside": bool(distance[i] > region.threshold),
            "words": describe_shift(*_compare(region, mean[i], std[i])),
        }
        for i, key in enumerate(keys)
    ]
