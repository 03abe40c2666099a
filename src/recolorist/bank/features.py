"""The features of a style: its means and the logarithm of its covariance, as one vector without constraints."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_DEVIATION", "style_features"]

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
