"""The tests of the study: Friedman, Wilcoxon with exact p, corrections for many tests, bootstrap intervals, critical difference.

A sample is a list of scores, one per block; in the colour-space study a block is a dataset and a score its ArtFID. All tests are
two-sided. Nothing is drawn from a global generator: an interval is the same every time for the same numbers and seed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recolorist.core.image import option
from recolorist.errors import OptionError

__all__ = [
    "CriticalDifference",
    "Friedman",
    "Interval",
    "Wilcoxon",
    "bonferroni",
    "bootstrap",
    "critical_difference",
    "friedman",
    "holm",
    "wilcoxon",
]

Array: TypeAlias = NDArray[np.float64]
Samples: TypeAlias = Mapping[str, Sequence[float]]
ZN: TypeAlias = Literal["reduced", "paper"]
Method: TypeAlias = Literal["bca", "percentile"]

_MOST_EXACT: Final = 500  # pairs; above, the normal approximation is good to many digits and the exact count slow
_CHUNK: Final = 4_000_000  # values drawn at once by the bootstrap: 32 MB


@dataclass(frozen=True)
class Friedman:
    """Result of Friedman's test: do several treatments of the same blocks differ?"""

    statistic: float
    df: int
    p: float  #: from the chi-square distribution, as in the paper; approximate for few blocks
    blocks: int
    ranks: dict[str, float]  #: mean rank of each treatment; 1 is the smallest score
    kendall_w: float  #: 0: the blocks order the treatments at random; 1: all in the same way


@dataclass(frozen=True)
class Wilcoxon:
    """Result of the signed-rank test of paired scores."""

    t: float  #: the smaller of the two rank sums
    pairs: int  #: all of them
    n: int  #: without those whose difference is zero
    p: float  #: two-sided
    exact: bool  #: whether p was counted; else it is the normal approximation
    z: float
    r: float  #: |z| / sqrt(pairs)
    z_n: ZN
    wins: int  #: blocks in which the first sample is smaller
    losses: int
    median_difference: float  #: first minus second


@dataclass(frozen=True)
class Interval:
    """An estimate and its bootstrap interval."""

    estimate: float
    low: float
    high: float
    level: float
    method: Method
    resamples: int
    seed: int
    n: int


@dataclass(frozen=True)
class CriticalDifference:
    """Mean ranks, and how far apart two must be to differ (Nemenyi)."""

    ranks: dict[str, float]  #: best first
    difference: float
    alpha: float
    blocks: int
    groups: tuple[tuple[str, ...], ...]  #: largest sets that the test does not tell apart, two members at least


def friedman(samples: Samples) -> Friedman:
    """Test with Friedman's test whether three or more treatments differ; equal scores share mid-ranks.

    Args:
        samples: Scores of every treatment by its name, one for each block, in the same order.

    Returns:
        Statistic, degrees of freedom, p, mean ranks and Kendall's W.

    Raises:
        OptionError: There are fewer than three treatments or two blocks, or a score is missing.

    Example:
        >>> result = friedman({"a": [1, 1, 1, 1], "b": [2, 2, 3, 2], "c": [3, 3, 2, 3]})
        >>> round(result.statistic, 9), result.df, result.ranks["a"], round(result.kendall_w, 9)
        (6.5, 2, 1.0, 0.8125)
    """
    from scipy import stats

    table = _table(samples, least=3)
    blocks, treatments = table.shape
    if np.ptp(table, axis=1).any():
        statistic, p = (float(value) for value in stats.friedmanchisquare(*table.T))
    else:
        statistic, p = 0.0, 1.0  # all scores of every block are equal, for which SciPy computes 0 / 0
    ranks = dict(zip(samples, _ranks(table).mean(axis=0).tolist(), strict=True))
    return Friedman(statistic, treatments - 1, p, blocks, ranks, statistic / (blocks * (treatments - 1)))


def wilcoxon(first: ArrayLike, second: ArrayLike, *, z_n: ZN = "reduced") -> Wilcoxon:
    """Test paired scores with Wilcoxon's signed-rank test.

    Pairs with equal scores are dropped, and equal differences share their ranks. p is counted over all assignments of signs, also
    with shared ranks, up to 500 pairs. z is the normal approximation without continuity correction, and never positive.

    Args:
        first: Scores of one treatment.
        second: Scores of the other, in the same order.
        z_n: ``"reduced"`` forms z from the pairs that were ranked; ``"paper"`` from all pairs, as the paper did, although the
            zeros were dropped before ranking.

    Returns:
        The test; r is |z| over the root of the number of all pairs.

    Raises:
        OptionError: The samples are empty, of different lengths, or not finite.

    Example:
        >>> all_better = wilcoxon(range(12), range(20, 44, 2))
        >>> f"{all_better.p:.3g} {all_better.z:.2f} {all_better.r:.2f}"
        '0.000488 -3.06 0.88'
    """
    option(z_n, ("reduced", "paper"), "z_n")
    a, b = _sample(first, "first", 1), _sample(second, "second", 1)
    if len(a) != len(b):
        raise OptionError(f"{len(a)} scores against {len(b)}; the test is of pairs, so both must have as many")
    differences = a - b
    nonzero = differences[differences != 0]
    ranks = _ranks(np.abs(nonzero)[None])[0] if len(nonzero) else np.empty(0)
    below, above = float(ranks[nonzero < 0].sum()), float(ranks[nonzero > 0].sum())
    t = min(below, above)
    z = _normal(t, ranks, len(a) if z_n == "paper" else len(nonzero), tied=z_n == "reduced")
    exact = len(nonzero) <= _MOST_EXACT
    p = _exact(t, ranks) if exact else math.erfc(abs(_normal(t, ranks, len(nonzero), tied=True)) / math.sqrt(2.0))
    wins, losses = int((nonzero < 0).sum()), int((nonzero > 0).sum())
    middle = float(np.median(differences))
    return Wilcoxon(t, len(a), len(nonzero), p, exact, z, abs(z) / math.sqrt(len(a)), z_n, wins, losses, middle)


def bonferroni(p: Sequence[float]) -> list[float]:
    """Multiply each p by the number of tests, to at most 1.

    Args:
        p: The p of every test.

    Returns:
        The corrected values, in the same order.

    Raises:
        OptionError: A value is not a probability.

    Example:
        >>> bonferroni([0.01, 0.04, 0.6])
        [0.03, 0.12, 1.0]
    """
    return [min(1.0, value * len(p)) for value in _probabilities(p)]


def holm(p: Sequence[float]) -> list[float]:
    """Correct with Holm's step-down method, which is never less powerful than Bonferroni's.

    Args:
        p: The p of every test.

    Returns:
        The corrected values, in the same order.

    Raises:
        OptionError: A value is not a probability.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    values = _probabilities(p)
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, values[index] * (len(values) - rank)))
        adjusted[index] = highest
    return adjusted


def bootstrap(
    values: ArrayLike,
    statistic: Callable[..., Any] = np.mean,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    method: Method = "bca",
) -> Interval:
    """Estimate an interval for a statistic of one sample; for paired samples give it their differences.

    Args:
        values: The sample.
        statistic: A function that takes ``axis``.
        level: Level of the interval.
        resamples: Number of resamples.
        seed: Seed of the resampling.
        method: ``"bca"`` corrects the percentiles for bias and skewness (Efron 1987); ``"percentile"`` takes them as they are.

    Returns:
        The estimate and its interval. A sample without any variation has an interval of no width.

    Raises:
        OptionError: The sample is too small or not finite, or an option is out of range.

    Example:
        >>> result = bootstrap([1.0, 2.0, 2.0, 3.0, 7.0], seed=1)
        >>> result.estimate, 1 < result.low < 3 < result.high < 7
        (3.0, True)
    """
    option(method, ("bca", "percentile"), "method")
    sample = _sample(values, "values", 2)
    if not 0 < level < 1 or resamples < 100 or seed < 0:
        raise OptionError(
            f"level={level}, resamples={resamples}, seed={seed}; a level in (0, 1), 100 resamples, and a seed from 0"
        )
    estimate = float(statistic(sample, axis=0))
    if np.ptp(sample) == 0:
        low = high = estimate
    else:
        low, high = _interval(sample, statistic, level, resamples, seed, method)
    return Interval(estimate, low, high, level, method, resamples, seed, len(sample))


def critical_difference(samples: Samples, alpha: float = 0.05) -> CriticalDifference:
    """Compare all treatments with all by Nemenyi's test (Demšar 2006).

    Args:
        samples: Scores of every treatment by its name, one for each block; lower is better.
        alpha: Level of the test.

    Returns:
        Mean ranks, how far apart two must be to differ, and the groups that do not differ.

    Raises:
        OptionError: There are too few treatments or blocks, or alpha is not between 0 and 1.

    Example:
        >>> scores = {"a": [1, 1, 1, 1, 1, 1], "b": [2, 2, 2, 2, 2, 2], "c": [3, 3, 3, 3, 3, 3]}
        >>> result = critical_difference(scores)
        >>> round(result.difference, 3), result.groups
        (1.353, (('a', 'b'), ('b', 'c')))
    """
    from scipy import stats

    if not 0 < alpha < 1:
        raise OptionError(f"alpha={alpha}; accepted are values between 0 and 1")
    table = _table(samples, least=2)
    blocks, treatments = table.shape
    means = dict(zip(samples, _ranks(table).mean(axis=0).tolist(), strict=True))
    ordered = dict(sorted(means.items(), key=lambda item: item[1]))
    quantile = float(stats.studentized_range.ppf(1 - alpha, treatments, math.inf)) / math.sqrt(2.0)
    width = quantile * math.sqrt(treatments * (treatments + 1) / (6.0 * blocks))
    return CriticalDifference(ordered, width, alpha, blocks, _groups(ordered, width))


# ---- helpers ----------------------------------------------------------------------------------------------------------------


def _sample(values: ArrayLike, name: str, least: int) -> Array:
    sample = np.asarray(values, np.float64)
    if sample.ndim != 1 or len(sample) < least or not np.isfinite(sample).all():
        raise OptionError(f"{name} has shape {sample.shape}; accepted is a list of at least {least} finite numbers")
    return sample


def _table(samples: Samples, least: int) -> Array:
    """Arrange blocks in rows and treatments in columns."""
    if len(samples) < least:
        raise OptionError(f"{len(samples)} treatments were given; at least {least} are needed")
    columns = [_sample(values, name, 2) for name, values in samples.items()]
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{name} {len(values)}" for name, values in samples.items())
        raise OptionError(f"every treatment needs a score for every block, and these have {counts}")
    return np.stack(columns, axis=1)


def _probabilities(p: Sequence[float]) -> list[float]:
    values = [float(value) for value in p]
    if not all(0 <= value <= 1 for value in values):
        raise OptionError(f"{values} are not all probabilities; accepted are numbers from 0 to 1")
    return values


def _ranks(table: Array) -> Array:
    """Rank within each row from 1; equal values share the mean of their ranks."""
    from scipy import stats

    return np.asarray(stats.rankdata(table, axis=1), np.float64)


def _counts(row: Array) -> Array:
    return np.unique(row, return_counts=True)[1].astype(np.float64)


def _normal(t: float, ranks: Array, n: int, *, tied: bool) -> float:
    """Return the smaller rank sum in deviations from its mean."""
    ties = float((_counts(ranks) ** 3 - _counts(ranks)).sum()) if tied else 0.0
    variance = n * (n + 1) * (2 * n + 1) / 24.0 - ties / 48.0
    return (t - n * (n + 1) / 4.0) / math.sqrt(variance) if variance > 0 else 0.0


def _exact(t: float, ranks: Array) -> float:
    """Return twice the share of sign assignments with a sum of at most t; doubled ranks are whole numbers despite ties."""
    doubled = np.rint(2.0 * ranks).astype(np.int64)
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for rank in doubled.tolist():
        share[rank:] = 0.5 * (share[rank:] + share[:-rank])
        share[:rank] *= 0.5
    return min(1.0, 2.0 * float(share[: round(2.0 * t) + 1].sum()))


def _interval(
    sample: Array, statistic: Callable[..., Any], level: float, resamples: int, seed: int, method: Method
) -> tuple[float, float]:
    """Compute the interval with SciPy; raise if it cannot be formed."""
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of what is refused below
        ends = stats.bootstrap(
            (sample,),
            statistic,
            n_resamples=resamples,
            batch=max(1, _CHUNK // len(sample)),
            vectorized=True,
            confidence_level=level,
            method="BCa" if method == "bca" else "percentile",
            random_state=np.random.default_rng(seed),
        ).confidence_interval
    low, high = float(ends.low), float(ends.high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OptionError(
            f"method={method!r} gives no interval, because leaving out one value does not change the statistic; "
            'use method="percentile"'
        )
    return low, high


def _groups(ranks: Mapping[str, float], width: float) -> tuple[tuple[str, ...], ...]:
    names, values = list(ranks), list(ranks.values())
    spans: list[tuple[int, int]] = []
    for start, value in enumerate(values):
        end = max(index for index, later in enumerate(values) if later - value < width)
        if end > start and (not spans or end > spans[-1][1]):
            spans.append((start, end))
    return tuple(tuple(names[start : end + 1]) for start, end in spans)
