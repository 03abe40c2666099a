"""The Fréchet distance of two sets of features, by a nuclear norm, and ArtFID."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist_lab.metrics.errors import MetricError, RangeError

__all__ = ["artfid", "feature_pair", "fid"]

Features = NDArray[np.float64]


def fid(fa: Any, fb: Any) -> float:
    """Compute the Fréchet distance ‖μ₁ − μ₂‖² + tr Σ₁ + tr Σ₂ − 2 tr (Σ₁Σ₂)^½, with unbiased covariances.

    The last trace is the nuclear norm of A Bᵀ, A and B the centred features over √(n − 1) and √(m − 1). That needs no root of
    a singular matrix, which is what covariances of fewer images than features are. Rounding may leave a value just below 0.

    Args:
        fa: Features (n, d) of one set of images, as :func:`recolorist_lab.metrics.features` gives them.
        fb: Features (m, d) of the other.

    Returns:
        The distance; 0 is equal.

    Raises:
        RangeError: The features have other shapes, or are not finite.
        MetricError: The decomposition failed, or the result is not finite.

    Example:
        >>> fid([[0.0], [2.0]], [[3.0], [5.0]])
        9.0
    """
    first, second = feature_pair(fa, fb)
    a, b = _centred(first), _centred(second)
    shift = float(((first.mean(axis=0) - second.mean(axis=0)) ** 2).sum())
    try:
        cross = float(np.linalg.svd(_short(a) @ _short(b).T, compute_uv=False).sum())
    except np.linalg.LinAlgError as error:
        raise MetricError(f"FID of {len(first)} and {len(second)} images: {error}; no value is reported") from error
    distance = shift + float((a * a).sum()) + float((b * b).sum()) - 2 * cross
    if not math.isfinite(distance):
        raise MetricError(f"FID of {len(first)} and {len(second)} images is {distance}; no value is reported")
    return distance


def artfid(lpips_mean: float, fid: float) -> float:
    """Compute ArtFID, (1 + LPIPS) (1 + FID).

    Args:
        lpips_mean: Mean LPIPS of contents and outputs.
        fid: FID of styles and outputs.

    Returns:
        The value; 1 is best.

    Raises:
        MetricError: A value is not finite.

    Example:
        >>> round(artfid(0.1, 26), 10)
        29.7
    """
    if not (math.isfinite(lpips_mean) and math.isfinite(fid) and lpips_mean >= 0 and fid > -1):
        raise MetricError(f"ArtFID of LPIPS {lpips_mean} and FID {fid} is not defined; no value is reported")
    return (1 + lpips_mean) * (1 + fid)


def feature_pair(fa: Any, fb: Any) -> tuple[Features, Features]:
    """Check two sets of features.

    Args:
        fa: Features of the first set.
        fb: Features of the second set.

    Returns:
        Both as float64, with the same columns and at least two rows each.

    Raises:
        RangeError: They cannot be compared.
    """
    first, second = np.asarray(fa, np.float64), np.asarray(fb, np.float64)
    for features in (first, second):
        if features.ndim != 2 or len(features) < 2 or features.shape[1] < 1:
            raise RangeError(f"features have shape {features.shape}; accepted are at least two rows, one for each image")
        if not np.isfinite(features).all():
            raise RangeError("features contain NaN or infinity; check the images and the network")
    if first.shape[1] != second.shape[1]:
        raise RangeError(f"features have {first.shape[1]} and {second.shape[1]} columns; take both from one network")
    return first, second


def _centred(features: Features) -> Features:
    return np.asarray((features - features.mean(axis=0)) / math.sqrt(len(features) - 1))


def _short(features: Features) -> Features:
    """Replace rows by the triangle of a QR decomposition, which has the same products, where there are more rows than columns."""
    return features if features.shape[0] <= features.shape[1] else np.asarray(np.linalg.qr(features, mode="r"))
