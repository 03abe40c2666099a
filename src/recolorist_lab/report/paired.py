"""Paired differences to a baseline: the same target and seed with and without a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVEL", "RESAMPLES", "Difference", "difference", "sign_test"]

Floats = NDArray[np.float64]

LEVEL: Final = 0.95
RESAMPLES: Final = 10_000
_LEAST_PAIRS: Final = 3


@dataclass(frozen=True)
class Difference:
    """A mean paired difference and its bootstrap interval at 95 %."""

    mean: float
    low: float
    high: float
    better: int  #: targets whose mean over seeds is higher than the baseline's
    targets: int
    pairs: int  #: trainings with the method, each paired with one without

    @property
    def is_enough(self) -> bool:
        """Whether there are enough pairs for an interval; of one or two it would be far too narrow."""
        return self.pairs >= _LEAST_PAIRS

    @property
    def is_gain(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.is_enough and self.low > 0

    @property
    def is_loss(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.is_enough and self.high < 0


def difference(paired: Floats, seed: int = 0) -> Difference:
    """Summarise paired differences, a row for every target and a column for every seed.

    The interval is a bootstrap in two stages: targets are drawn with replacement, then seeds within each target.

    Args:
        paired: Score of a method less that of the baseline, for the same target and seed.
        seed: Of the resampling.

    Returns:
        The mean and the 2.5 and 97.5 % quantiles of the resampled means.

    Example:
        >>> gain = difference(np.array([[0.10, 0.12], [0.05, 0.07], [0.02, 0.06]]))
        >>> round(gain.mean, 3), gain.is_gain, gain.better
        (0.07, True, 3)
    """
    targets, seeds = paired.shape
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, targets, (RESAMPLES, targets))
    columns = rng.integers(0, seeds, (RESAMPLES, targets, seeds))
    means = paired[rows[:, :, None], columns].mean(axis=(1, 2))
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    better = int((paired.mean(axis=1) > 0).sum())
    return Difference(float(paired.mean()), float(low), float(high), better, targets, paired.size)


def sign_test(gains: Floats) -> float:
    """Return the two-sided p that so many targets gain or lose if both were equally likely; ties are left out.

    Args:
        gains: Mean gain of each target.

    Returns:
        The probability; 1 where all are ties.

    Example:
        >>> sign_test(np.array([0.1, 0.2, 0.05, 0.0, 0.3, 0.1]))
        0.0625
    """
    from scipy import stats

    wins, losses = int((gains > 0).sum()), int((gains < 0).sum())
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
