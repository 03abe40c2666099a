"""The features of styles, which samplers and drift share."""

from __future__ import annotations

import numpy as np

from recolorist.augment import samplers
from recolorist.bank.features import style_features


def test_features_return_mean_and_covariance() -> None:
    rng = np.random.default_rng(2)
    half = rng.random((5, 3, 3))
    mean, cov = rng.random((5, 3)), half @ half.swapaxes(1, 2)
    features = style_features(mean, cov)
    assert features.shape == (5, 9)
    np.testing.assert_array_equal(features[:, :3], mean)
    rows, columns = np.tril_indices(3)
    factor = np.zeros((5, 3, 3))
    factor[:, rows, columns] = features[:, 3:]
    diagonal = np.arange(3)
    factor[:, diagonal, diagonal] = np.exp(factor[:, diagonal, diagonal])
    np.testing.assert_allclose(factor @ factor.swapaxes(1, 2), cov + np.eye(3) / 512**2, rtol=1e-12, atol=1e-15)


def test_flat_styles_have_finite_features() -> None:
    assert np.isfinite(style_features(np.zeros((1, 3)), np.zeros((1, 3, 3)))).all()


def test_samplers_offer_the_same_function() -> None:
    assert samplers.style_features is style_features
