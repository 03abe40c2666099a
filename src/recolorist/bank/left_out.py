"""Distances of the images of a bank from the others: each image, or each patient, is left out in turn."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.shift import Units

__all__ = ["FLOOR", "f_threshold", "leave_one_out", "leave_units_out"]

Array = NDArray[np.float64]

FLOOR: Final = 0.5 / 255.0  # no feature is known better than half an 8-bit level; keeps constant ones from exploding


def leave_one_out(inside: Array, count: int) -> Array:
    """Return the squared distance of each point from the cloud of the others.

    This is the rank-one identity: a point at squared distance d² from the cloud of all n points lies at
    (n−2)·n²·d² / ((n−1)·((n−1)² − n·d²)) from that of the others.

    Args:
        inside: Squared distance of each point from the cloud of all.
        count: The number of points.

    Returns:
        The squared distances.
    """
    room = np.maximum((count - 1) ** 2 - count * inside, 1e-9)
    return np.asarray((count - 2) * count**2 * inside / ((count - 1) * room))


def leave_units_out(features: Array, units: Units) -> Array:
    """Return the squared distance of each point from the cloud of the other patients or slides.

    Args:
        features: The points (N, F).
        units: Their rows by patient or slide.

    Returns:
        The squared distances, in the order of the points.
    """
    distances = np.empty(len(features))
    for start, size in zip(units.start, units.size, strict=True):
        rows = units.order[start : start + size]
        others = np.delete(features, rows, axis=0)
        spread, axes = np.linalg.eigh(np.cov(others.T))
        white = (features[rows] - others.mean(axis=0)) @ (axes / np.sqrt(np.maximum(spread, FLOOR**2)))
        distances[rows] = (white**2).sum(axis=1)
    return distances


def f_threshold(count: int, size: int, coverage: float) -> float:
    """Return the squared distance within which a new normal point lies with this probability.

    It is p (n+1) (n−1) / (n (n−p)) times a quantile of the F distribution.

    Args:
        count: The number n of points that the cloud was fitted to.
        size: The number p of features.
        coverage: The probability.

    Returns:
        The squared distance.
    """
    from scipy.special import fdtri  # loaded only for small banks

    return float(size * (count + 1) * (count - 1) / (count * (count - size)) * fdtri(size, count - size, coverage))
