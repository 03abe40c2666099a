"""The kernel inception distance, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab.metrics.frechet import Features, feature_pair

__all__ = ["Kid", "kid", "kid_of_subsets"]

Choice = NDArray[np.float64]  # (subsets, images): 1 where the image is in the subset

_LARGEST: Final = 1000  # a subset; what the metric was introduced with
_ROWS: Final = 1024  # of the kernel matrix that are held at once


@dataclass(frozen=True, slots=True)
class Kid:
    """Mean and deviation over the subsets, and the interval that they give for the whole sets."""

    mean: float
    std: float  #: of the subsets' values, population form, as other libraries print it
    low: float
    high: float
    subsets: int
    subset_size: int
    level: float


def kid(fa: Any, fb: Any, *, subsets: int = 100, subset_size: int | None = None, seed: int = 0, level: float = 0.95) -> Kid:
    """Compute the unbiased squared mean discrepancy under the kernel (x·y / d + 1)³, over random subsets without repetition.

    The deviation of a statistic of half of a sample about that of the whole estimates the standard error of the whole
    (delete-half jackknife); for other sizes s of n it is scaled by √(s / (n − s)). The interval is that of the quantiles, scaled
    so.

    Args:
        fa: Features (n, d) of one set of images.
        fb: Features (m, d) of the other.
        subsets: Number of subsets.
        subset_size: Images in a subset; by default half of the smaller set, at most 1,000.
        seed: Seed of the subsets.
        level: Level of the interval.

    Returns:
        Mean and deviation over the subsets, and the interval for the whole sets.

    Raises:
        RangeError: The features have other shapes, or are not finite.
        OptionError: The number or size of the subsets, or the level, is out of range.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> result = kid(rng.normal(size=(60, 8)), rng.normal(2.0, size=(60, 8)))
        >>> result.low < result.mean < result.high, result.subset_size
        (True, 30)
    """
    first, second = feature_pair(fa, fb)
    least = min(len(first), len(second))
    size = min(_LARGEST, least // 2) if subset_size is None else subset_size
    if not (2 <= size < least) or subsets < 2 or not 0 < level < 1:
        raise OptionError(
            f"{subsets} subsets of {size} from {len(first)} and {len(second)} images at level {level}; take two subsets at "
            "least, each of two images at least and of fewer than there are, and a level between 0 and 1"
        )
    rng = np.random.default_rng([seed, 7])
    choices = [np.zeros((subsets, len(features))) for features in (first, second)]
    for row in range(subsets):
        for choice in choices:
            choice[row, rng.permutation(choice.shape[1])[:size]] = 1.0
    values = kid_of_subsets(first, second, choices[0], choices[1])
    mean = float(values.mean())
    widening = math.sqrt(size / (least - size))
    low, high = (mean + (float(end) - mean) * widening for end in np.quantile(values, [(1 - level) / 2, (1 + level) / 2]))
    return Kid(mean, float(values.std()), low, high, subsets, size, level)


def kid_of_subsets(fa: Features, fb: Features, in_a: Choice, in_b: Choice) -> NDArray[np.float64]:
    """Estimate KID for every subset. Each kernel value is computed once for all subsets.

    Args:
        fa: Features of the first set.
        fb: Features of the second set.
        in_a: Which images of the first are in each subset.
        in_b: Which images of the second are.

    Returns:
        One estimate a subset.
    """
    n, m = in_a.sum(axis=1), in_b.sum(axis=1)
    own_a = (_sums(fa, fa, in_a, in_a) - in_a @ _diagonal(fa)) / (n * (n - 1))
    own_b = (_sums(fb, fb, in_b, in_b) - in_b @ _diagonal(fb)) / (m * (m - 1))
    return np.asarray(own_a + own_b - 2 * _sums(fa, fb, in_a, in_b) / (n * m))


def _sums(fa: Features, fb: Features, in_a: Choice, in_b: Choice) -> NDArray[np.float64]:
    """Sum the kernel over the images of each subset, by blocks of rows to limit memory."""
    total = np.zeros(len(in_a))
    for start in range(0, len(fa), _ROWS):
        block = slice(start, start + _ROWS)
        total += ((in_a[:, block] @ _cubed(fa[block] @ fb.T / fa.shape[1])) * in_b).sum(axis=1)
    return total


def _diagonal(features: Features) -> NDArray[np.float64]:
    return _cubed((features * features).sum(axis=1) / features.shape[1])


def _cubed(products: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = products + 1.0
    return np.asarray(shifted * shifted * shifted)  # a general power takes ten times as long
