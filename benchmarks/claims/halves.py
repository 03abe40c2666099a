"""Splitting a set into two halves without a patient in common; needs NumPy alone, so that other environments can import it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["halves"]


def halves(units: NDArray[np.str_], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split rows into two halves with no unit in common; the second is shuffled."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(np.unique(units))
    first = np.isin(units, names[: len(names) // 2])
    return np.flatnonzero(first), rng.permutation(np.flatnonzero(~first))
