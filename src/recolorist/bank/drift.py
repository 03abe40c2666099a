"""Drift: how far the colours of new images lie from those of the bank a model was trained on.

Every image is a point: the means of its channels and the log-Cholesky factor of their covariance, nine numbers for RGB. The bank
is a cloud of such points. The distance of an image from it is Mahalanobis': the number of deviations of the cloud, in any
direction. The threshold is taken from the bank itself by leaving out each image in turn, which holds for clouds of any shape.
Banks too small for that get the greater of the largest such distance and the threshold of normal data, by the F distribution.

A group is judged twice: by its images outside the threshold, and by the shift of its mean (:mod:`recolorist.bank.shift`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.features import style_features
from recolorist.bank.left_out import FLOOR, f_threshold, leave_one_out, leave_units_out
from recolorist.bank.share import refuse_shared
from recolorist.bank.shift import Shift, Units, find_shift, sort_units
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import StatisticsError

__all__ = [
    "ALPHA",
    "COVERAGE",
    "SMALL_BANK",
    "Group",
    "Region",
    "SmallBankWarning",
    "beta_binomial_tail",
    "describe_shift",
    "group_of",
    "image_lines",
    "region_of",
]

Array = NDArray[np.float64]

#: The share of images like those of the bank that lie inside the region, unless another one is asked for.
COVERAGE: Final = 0.99
#: Below this probability a group counts as drifted.
ALPHA: Final = 1e-3
#: With fewer styles the edge of the region is poorly known: more than one in sixty images like the bank's may lie outside.
SMALL_BANK: Final = 60
_CHANNELS: Final = ("red", "green", "blue")


class SmallBankWarning(UserWarning):
    """The bank has so few styles that the edge of its region is poorly known."""


@dataclass(frozen=True, slots=True)
class Region:
    """The region of a bank: its centre, the map that makes it a sphere, and the distance of its edge.

    Made by :func:`region_of`.
    """

    centre: Array
    whiten: Array  #: features times this have unit covariance
    threshold: float  #: of the distance
    rule: Literal["leave-one-out", "small bank"]
    styles: int
    rank: int  #: of the threshold among the distances of the bank's images, each from the others
    left_out: Array  #: these distances, sorted
    cloud: Array  #: the bank's images in whitened coordinates
    units: Units  #: its rows by patient or slide
    mean_centre: Array  #: mean of the bank's means and deviations, and their spread, in unit range: for descriptions
    mean_spread: Array
    std_centre: Array
    std_spread: Array

    @property
    def is_poorly_known(self) -> bool:
        """Whether the bank has too few styles to place the edge well."""
        return self.styles < SMALL_BANK

    def warn_if_poorly_known(self, stacklevel: int = 2) -> None:
        """Warn of a bank that is too small to place the edge well; for callers that leave images inside as they are.

        Args:
            stacklevel: That of :func:`warnings.warn`.
        """
        if self.is_poorly_known:
            warnings.warn(
                f"the bank has {self.styles} styles; with fewer than {SMALL_BANK} the edge of its region is poorly known, and "
                "images of other laboratories may count as inside and stay as they are. Build the bank from more images, or "
                "move every image, with gate='off'.",
                SmallBankWarning,
                stacklevel=stacklevel,
            )

    def whiten_styles(self, mean: Array, cov: Array) -> Array:
        """Return the points of images in coordinates in which the cloud has unit covariance.

        Args:
            mean: Means (N, C) in unit range.
            cov: Covariances (N, C, C).

        Returns:
            Points (N, features).
        """
        return np.asarray((style_features(mean, cov) - self.centre) @ self.whiten)

    @property
    def expected(self) -> float:
        """The share of images like those of the bank that is expected outside."""
        return (self.styles + 1 - self.rank) / (self.styles + 1)

    def share_nearer(self, distance: float) -> float:
        """Return the share of the bank's images, each left out in turn, that are nearer to the centre."""
        return float(np.searchsorted(self.left_out, distance) / self.styles)

    def distance(self, mean: Array, cov: Array) -> Array:
        """Return the Mahalanobis distance of images from the centre.

        Args:
            mean: Means (N, C) in unit range.
            cov: Covariances (N, C, C).

        Returns:
            Distances (N,).
        """
        return np.asarray(np.sqrt((self.whiten_styles(mean, cov) ** 2).sum(axis=1)))


def region_of(bank: StyleBank, coverage: float = COVERAGE, units: NDArray[np.str_] | None = None) -> Region:
    """Fit the region that holds a new image like those of the bank with a given probability.

    Args:
        bank: A bank with moments of RGB or grey, of at least twelve images in RGB.
        coverage: The probability, from 0.5 to below 1.
        units: The patient or slide of each style, where there are several of each.

    Returns:
        The region, whose ``rule`` says where its threshold comes from.

    Raises:
        StatisticsError: The bank is too small, of another space or made for sharing, or the coverage lies outside its limits.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> images = rng.integers(rng.integers(0, 99, (40, 1, 1, 1)), 200, (40, 8, 8, 3), dtype=np.uint8)
        >>> region_of(StyleBank.build(images)).rule
        'small bank'
    """
    if bank.space != "rgb":
        raise StatisticsError(f"the bank holds moments of {bank.space!r}; drift needs those of RGB, build it with space='rgb'")
    refuse_shared(bank, "take the bank that it was made from, or move every image, with gate='off'")
    if not 0.5 <= coverage < 1:
        raise StatisticsError(f"coverage={coverage:g}; accepted are probabilities from 0.5 to below 1")
    features = style_features(bank.mean, bank.cov)
    count, size = features.shape
    if count < size + 3:
        raise StatisticsError(
            f"the bank has {count} styles; at least {size + 3} are needed to say what is usual; build it from more images"
        )
    centre = features.mean(axis=0)
    deviations = features - centre
    spread, axes = np.linalg.eigh(deviations.T @ deviations / (count - 1))
    whiten = axes / np.sqrt(np.maximum(spread, FLOOR**2))
    cloud = deviations @ whiten
    by_unit = sort_units(units, count)
    # images are left out one by one where each is a patient's only one, or where the other patients have too few for a cloud
    is_by_image = len(by_unit.size) == count or count - int(by_unit.size.max()) < size + 3
    left_out = np.sort(leave_one_out((cloud**2).sum(axis=1), count) if is_by_image else leave_units_out(features, by_unit))
    rank = math.ceil((count + 1) * coverage)
    is_small = rank > count
    rank = min(rank, count)
    threshold = float(left_out[rank - 1])
    if is_small:
        varying = int((spread > FLOOR**2).sum())  # directions in which nothing varies add nothing to a distance
        threshold = max(threshold, f_threshold(count, max(1, varying), coverage))
    return Region(
        centre,
        whiten,
        math.sqrt(threshold),
        "small bank" if is_small else "leave-one-out",
        count,
        rank,
        np.sqrt(left_out),
        cloud,
        by_unit,
        bank.mean.mean(axis=0),
        np.maximum(bank.mean.std(axis=0, ddof=1), FLOOR),
        bank.std.mean(axis=0),
        np.maximum(bank.std.std(axis=0, ddof=1), FLOOR),
    )


@dataclass(frozen=True, slots=True)
class Group:
    """One group of new images: how many lie outside, how far it moved, how likely both are by chance, and what moved."""

    name: str
    images: int
    outside: int
    chance: float  #: probability of so many outside, if the group were like the bank
    shift: Shift  #: how far the mean of the group moved, and the probability of that
    mean_shift: Array  #: in 8-bit levels, per channel
    mean_sds: Array  #: the same in deviations of the bank
    contrast: Array  #: ratio of deviations, per channel
    contrast_sds: Array  #: the change of the deviations in deviations of the bank
    too_few: bool = False  #: whether chance could put all images of so small a group outside, and its shift cannot be tested
    alpha: float = ALPHA  #: below this probability chance is ruled out

    @property
    def share(self) -> float:
        """Share of images outside the region."""
        return self.outside / self.images

    @property
    def has_images_outside(self) -> bool:
        """Whether more images lie outside than chance explains."""
        return self.chance < self.alpha

    @property
    def is_shifted(self) -> bool:
        """Whether the mean of the group has moved further than chance explains."""
        return self.images > 1 and self.shift.chance < self.alpha

    @property
    def drifted(self) -> bool:
        """Whether either test says so."""
        return self.has_images_outside or self.is_shifted

    @property
    def verdict(self) -> str:
        """What the two tests say, or that the group is too small to judge."""
        reasons = ["images outside"] * self.has_images_outside + ["group shifted"] * self.is_shifted
        return ", ".join(reasons) or ("too few to judge" if self.too_few else "inside")

    @property
    def words(self) -> str:
        """A description of the channel that moved most, and whether the channels vary together otherwise."""
        changes = (self.mean_shift, self.mean_sds, self.contrast, self.contrast_sds)
        return describe_shift(*changes, self.shift.size if self.is_shifted else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and the description, ready for JSON."""
        return {
            "group": self.name,
            "images": self.images,
            "outside": self.outside,
            "share": self.share,
            "chance": self.chance,
            "images_outside": self.has_images_outside,
            "shift_sds": self.shift.size,
            "shift_chance": self.shift.chance,
            "group_shifted": self.is_shifted,
            "alpha": self.alpha,
            "drifted": self.drifted,
            "verdict": self.verdict,
            "mean_shift_levels": self.mean_shift.tolist(),
            "mean_shift_sds": self.mean_sds.tolist(),
            "contrast_ratio": self.contrast.tolist(),
            "contrast_sds": self.contrast_sds.tolist(),
            "words": self.words,
        }


def group_of(
    name: str, region: Region, mean: Array, cov: Array, units: NDArray[np.str_] | None = None, alpha: float = ALPHA
) -> Group:
    """Judge one group of images.

    Args:
        name: Name of the group.
        region: The region of the bank.
        mean: Means (N, C) of the images in unit range.
        cov: Covariances (N, C, C).
        units: The patient or slide of each image, where there are several of each.
        alpha: Below this probability chance is ruled out.

    Returns:
        What the two tests say of the group.
    """
    white = region.whiten_styles(mean, cov)
    is_outside = (white**2).sum(axis=1) > region.threshold**2
    count, std = len(mean), np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    chance = _chance_outside(region, is_outside, units)
    too_few = count < 2 and beta_binomial_tail(count, count, region.styles + 1 - region.rank, region.rank) >= alpha
    shift = find_shift(region.cloud, region.units, white, units)
    changes = _compare(region, mean.mean(axis=0), std.mean(axis=0))
    return Group(name, count, int(is_outside.sum()), chance, shift, *changes, too_few, alpha)


def _chance_outside(region: Region, is_outside: NDArray[np.bool_], units: NDArray[np.str_] | None) -> float:
    """Return the probability of so many images outside; with patients or slides each of these counts once.

    Images of one patient lie outside together. A patient counts by the share of its images outside. The edge is then known as
    well as from a bank with one image for each patient. That finds less than counting images, and is never wrong by them.
    """
    above, below = region.styles + 1 - region.rank, region.rank
    if units is None:
        return beta_binomial_tail(int(is_outside.sum()), len(is_outside), above, below)
    _, codes, sizes = np.unique(units, return_inverse=True, return_counts=True)
    patients = float((np.bincount(codes, weights=is_outside) / sizes).sum())
    share = len(region.units.size) / region.styles
    return beta_binomial_tail(math.floor(patients + 1e-9), len(sizes), above * share, below * share)


def _compare(region: Region, mean: Array, std: Array) -> tuple[Array, Array, Array, Array]:
    """Return the shift in levels and in deviations, the ratio of contrasts, and the change of contrast in deviations."""
    shift, change = mean - region.mean_centre, std - region.std_centre
    ratio = std / np.maximum(region.std_centre, FLOOR)
    return 255 * shift, shift / region.mean_spread, ratio, change / region.std_spread


def beta_binomial_tail(successes: int, draws: int, above: float, below: float) -> float:
    """Return the probability of so many successes or more, where their probability is itself only known from a sample.

    New values lie above the k-th smallest of n values with a probability that varies from sample to sample. It has a beta
    distribution with parameters n + 1 - k and k, whatever the distribution of the values. So the number of images outside is
    beta-binomial.

    Args:
        successes: How many.
        draws: Of how many.
        above: n + 1 - k.
        below: k.

    Returns:
        The probability.

    Example:
        >>> round(beta_binomial_tail(1, 1, 1, 99), 12)  # beyond the largest of 99
        0.01
    """
    from scipy.special import betaln

    if successes == 0:
        return 1.0
    counts = np.arange(successes, draws + 1)
    ways = -np.log(draws + 1) - betaln(counts + 1, draws - counts + 1)
    return float(min(1.0, np.exp(ways + betaln(counts + above, draws - counts + below) - betaln(above, below)).sum()))


def describe_shift(shift: Array, sds: Array, contrast: Array, contrast_sds: Array, distance: float = 0.0) -> str:
    """Describe the channel that moved most; brightness or contrast comes first, whichever moved further.

    Args:
        shift: Change of the mean per channel in 8-bit levels.
        sds: The same in deviations of the bank.
        contrast: Ratio of standard deviations per channel.
        contrast_sds: Change of the standard deviation in deviations of the bank.
        distance: How far all features together moved; where no channel explains it, the description says so.

    Returns:
        The description.

    Example:
        >>> describe_shift(np.array([1.0, -31.0]), np.array([0.1, -4.2]), np.array([1.0, 1.3]), np.array([0.0, 2.0]))
        'channel 1: 31 levels darker (4.2 SD), contrast × 1.30 (2.0 SD)'
    """
    channel = int(np.maximum(np.abs(sds), np.abs(contrast_sds)).argmax())
    name = _CHANNELS[channel] if len(sds) == 3 else "grey" if len(sds) == 1 else f"channel {channel}"
    direction, levels = "brighter" if shift[channel] > 0 else "darker", abs(float(shift[channel]))
    parts = [
        f"{levels:.0f} level{'' if round(levels) == 1 else 's'} {direction} ({abs(sds[channel]):.1f} SD)",
        f"contrast × {contrast[channel]:.2f} ({abs(contrast_sds[channel]):.1f} SD)",
    ]
    ordered = parts if abs(sds[channel]) >= abs(contrast_sds[channel]) else parts[::-1]
    seen = float(max(np.abs(sds).max(), np.abs(contrast_sds).max()))
    return f"{name}: {', '.join(ordered)}" + ("; mostly in how the channels vary together" if distance > 2 * seen else "")


def image_lines(
    region: Region, keys: Sequence[str], groups: Sequence[str], mean: Array, std: Array, distance: Array
) -> list[dict[str, Any]]:
    """Return one record for each image: group, distance, whether it lies outside, share of the bank nearer, and what moved."""
    return [
        {
            "source": key,
            "group": groups[i],
            "distance": float(distance[i]),
            "outside": bool(distance[i] > region.threshold),
            "nearer": region.share_nearer(float(distance[i])),
            "words": describe_shift(*_compare(region, mean[i], std[i]), distance[i] if distance[i] > region.threshold else 0.0),
        }
        for i, key in enumerate(keys)
    ]
