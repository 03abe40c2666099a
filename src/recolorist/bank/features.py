"""The features of a style: its means and the logarithm of its covariance, as one vector without constraints."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_DEVIATION", "moments_of_features", "style_features"]

LEAST_DEVIATION: Final = 1.0 / 512.0  # flat styles have no logarithm; half an 8-bit level stands in for them


def style_features(mean: NDArray[np.float64], cov: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means, then the lower Cholesky factor with its diagonal as logarithms: nine numbers for RGB.

    Args:
        mean: Means (N, C) in unit range.
        cov: Covariances (N, C, C).

    Returns:
        Features (N, C + C (C + 1) / 2).

    Example:
        >>> style_features(np.array([[0.5]]), np.array([[[1.0]]])).round(3).tolist()
        [[0.5, 0.0]]
    """
    channels = mean.shape[1]
    factors = np.linalg.cholesky(cov + np.eye(channels) * LEAST_DEVIATION**2)
    rows, columns = np.tril_indices(channels)
    flat = factors[:, rows, columns]
    diagonal = rows == columns
    flat[:, diagonal] = np.log(flat[:, diagonal])
    return np.concatenate([mean, flat], axis=1)


def moments_of_features(features: NDArray[np.float64], channels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means (N, C) and covariances (N, C, C): the inverse of :func:`style_features`.

    Args:
        features: Features (N, F).
        channels: The number of channels C.

    Returns:
        The means and the covariances.

    Example:
        >>> features = style_features(np.array([[0.5]]), np.array([[[0.04]]]))
        >>> mean, cov = moments_of_features(features, 1)
        >>> mean.tolist(), cov.round(12).tolist()
        ([[0.5]], [[[0.04]]])
    """
    rows, columns = np.tril_indices(channels)
    flat = features[:, channels:].copy()
    diagonal = rows == columns
    flat[:, diagonal] = np.exp(np.clip(flat[:, diagonal], -20.0, 20.0))
    factors = np.zeros((len(features), channels, channels))
    factors[:, rows, columns] = flat
    values, axes = np.linalg.eigh(factors @ np.swapaxes(factors, 1, 2))
    values = np.maximum(values - LEAST_DEVIATION**2, 0.0)  # what style_features adds
    cov = (axes * values[:, None, :]) @ np.swapaxes(axes, 1, 2)
    return features[:, :channels].copy(), (cov + np.swapaxes(cov, 1, 2)) / 2
