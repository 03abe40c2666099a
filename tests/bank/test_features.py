"""The features of styles, which samplers and drift share."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.augment import samplers
from recolorist.bank.features import moments_of_features, style_features


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


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_there_and_back_is_the_same_style(channels: int) -> None:
    rng = np.random.default_rng(channels)
    factors = rng.uniform(-0.2, 0.2, (20, channels, channels))
    cov = factors @ factors.transpose(0, 2, 1) + 1e-3 * np.eye(channels)
    mean = rng.random((20, channels))
    features = style_features(mean, cov)
    assert features.shape == (20, channels + channels * (channels + 1) // 2)
    again_mean, again_cov = moments_of_features(features, channels)
    np.testing.assert_allclose(again_mean, mean, rtol=1e-12)
    np.testing.assert_allclose(again_cov, cov, rtol=1e-6, atol=1e-9)


def test_any_features_are_those_of_a_covariance_an_image_can_have() -> None:
    features = np.random.default_rng(0).normal(0, 1, (50, 9))
    _, cov = moments_of_features(features, 3)
    assert np.array_equal(cov, cov.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(cov) >= -1e-9).all()
