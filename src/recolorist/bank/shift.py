"""The test of a group: has its mean moved, compared with groups of the same size drawn from the bank?

A group can move as a whole while every image of it stays inside the region of the bank. So the mean of its points is compared
with the means of groups drawn from the bank. Coordinates are those in which the bank's cloud has unit covariance. Images of one
patient or slide are drawn together.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError

__all__ = ["RESAMPLES", "Shift", "Units", "find_shift", "sort_units"]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

#: Groups that are drawn for the distribution under no change; the smallest probability is one over this plus one.
RESAMPLES: Final = 9999
_ROWS: Final = 400_000  # rows gathered at a time
_LARGE: Final = 300  # from this size on the mean of a group is taken to be normal
_FEWER: Final = 1000  # resamples from which its covariance is then estimated


class Units(NamedTuple):
    """Rows of a bank sorted by patient or slide: unit u holds ``order[start[u] : start[u] + size[u]]``."""

    order: Rows
    start: Rows
    size: Rows


class Shift(NamedTuple):
    """How far a group has moved, and how often chance moves a group so far."""

    size: float  #: length of the mean shift, in deviations of the bank's images
    chance: float  #: probability of so large a shift, if the group were like the bank


def sort_units(units: NDArray[np.str_] | None, count: int) -> Units:
    """Sort rows by unit; without units every row is one.

    Args:
        units: The patient or slide of each row; None: every row is one.
        count: The number of rows.

    Returns:
        The rows by unit.

    Raises:
        OptionError: There are more or fewer units than rows.

    Example:
        >>> sort_units(np.array(["b", "a", "b"]), 3).order.tolist()
        [1, 0, 2]
    """
    if units is None:
        return Units(np.arange(count), np.arange(count), np.ones(count, np.intp))
    if len(units) != count:
        raise OptionError(f"there are {len(units)} patients or slides for {count} images; give one for each")
    _, codes, sizes = np.unique(units, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    return Units(order, np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes.astype(np.intp))


def find_shift(cloud: Array, units: Units, group: Array, group_units: NDArray[np.str_] | None = None) -> Shift:
    """Test whether the mean of a group has moved.

    Under no change a group of n images differs from the bank's centre by chance twice: the group is finite, and so is the bank.
    Both are drawn: the group's images from the bank, unit by unit, and the centre with the covariance of the bank's own mean.
    The spread that whitens is not exact either. Squared lengths get the factor (n - 1) / χ² with n - F degrees of freedom, as in
    Hotelling's test; n counts images that are independent of each other. Directions in which the bank does not vary get the noise
    that their whitening assumes. Without it a bank of equal images would make every difference significant.

    Args:
        cloud: The bank's images (N, F) in whitened coordinates, with mean zero.
        units: Its rows sorted by patient or slide.
        group: The group's images (n, F) in the same coordinates.
        group_units: The unit of each image of the group; None if every image is one.

    Returns:
        The shift and its probability; the draws are seeded, so that equal data give equal numbers.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> cloud = rng.standard_normal((200, 3))
        >>> cloud -= cloud.mean(axis=0)
        >>> find_shift(cloud, sort_units(None, 200), rng.standard_normal((30, 3)) + 1).chance
        0.0001
    """
    shift = group.mean(axis=0)
    codes = np.arange(len(group)) if group_units is None else np.unique(group_units, return_inverse=True)[1].astype(np.intp)
    rng = np.random.default_rng(0)
    if len(group) <= _LARGE:
        drawn = _draw_means(cloud, units, codes, RESAMPLES, rng)
    else:
        few = _draw_means(cloud, units, codes, _FEWER, rng)
        drawn = rng.standard_normal((RESAMPLES, cloud.shape[1])) @ _root(few.T @ few / _FEWER)
    missing = np.maximum(0.0, 1.0 - cloud.var(axis=0, ddof=1))
    drawn += rng.standard_normal(drawn.shape) * np.sqrt(missing / len(group))
    of_mean = _covariance_of_mean(cloud, units)
    drawn += rng.standard_normal(drawn.shape) @ _root(of_mean)
    known = _independent_images(cloud, units, of_mean)
    drawn *= np.sqrt((known - 1) / rng.chisquare(max(1.0, known - cloud.shape[1]), (len(drawn), 1)))
    reached = int(((drawn**2).sum(axis=1) >= (shift**2).sum()).sum())
    return Shift(float(np.linalg.norm(shift)), (1 + reached) / (1 + RESAMPLES))


def _draw_means(cloud: Array, units: Units, codes: Rows, count: int, rng: np.random.Generator) -> Array:
    """Return the means of groups drawn from the bank, with as many units, and images in each, as the group has."""
    means = []
    many, step = int(codes.max()) + 1, max(1, _ROWS // len(codes))
    for start in range(0, count, step):
        drawn = rng.integers(len(units.size), size=(min(step, count - start), many))[:, codes]
        inside = (rng.random(drawn.shape) * units.size[drawn]).astype(np.intp)
        means.append(cloud[units.order[units.start[drawn] + inside]].mean(axis=1))
    return np.concatenate(means)


def _covariance_of_mean(cloud: Array, units: Units) -> Array:
    """Return the covariance of the bank's mean, from the sums of its units."""
    sums = np.add.reduceat(cloud[units.order], units.start, axis=0)
    return np.asarray(sums.T @ sums / len(cloud) ** 2)


def _independent_images(cloud: Array, units: Units, of_mean: Array) -> float:
    """Return the effective number of images: how many independent ones would estimate the bank's covariance as well."""
    count, size = len(cloud), float((units.size**2).sum() / len(cloud))
    if size == 1.0:
        return float(count)
    correlation = min(1.0, max(0.0, (count * float(np.trace(of_mean)) / cloud.shape[1] - 1) / (size - 1)))
    return count / (1 + (size - 1) * correlation**2)  # type: ignore[no-any-return]  # mypy takes a power for Any


def _root(covariance: Array) -> Array:
    """Return a square root of a covariance: normal numbers times it have this covariance."""
    spread, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.sqrt(np.maximum(spread, 0.0))).T)
