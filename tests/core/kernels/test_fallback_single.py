"""Roots, logarithms, powers and angles in float32 against those of the machine."""

from __future__ import annotations

import numpy as np

from recolorist.core.kernels import fallback_single

POSITIVE = np.exp(np.linspace(-14.0, 14.0, 20_001))
ANGLES = np.linspace(-40.0, 40.0, 20_001)


def test_relative_error() -> None:
    cubes, logs, powers = (values.astype(np.float32) for values in (POSITIVE, POSITIVE, ANGLES))
    np.testing.assert_allclose(fallback_single.cube_root(cubes), np.cbrt(cubes.astype(np.float64)), rtol=2e-7, atol=0)
    np.testing.assert_allclose(fallback_single.natural_log(logs), np.log(logs.astype(np.float64)), rtol=2e-7, atol=2e-7)
    np.testing.assert_allclose(fallback_single.power_of_e(powers), np.exp(powers.astype(np.float64)), rtol=3e-7, atol=0)


def test_angles() -> None:
    x, y = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
    wanted = np.arctan2(y.astype(np.float64), x.astype(np.float64)) % (2 * np.pi)
    gaps = np.abs(fallback_single.angle_of(y, x) - wanted)
    assert np.minimum(gaps, 2 * np.pi - gaps).max() < 1e-6
    angles = ANGLES.astype(np.float32)
    for ours, theirs in zip(fallback_single.cosine_and_sine(angles), (np.cos, np.sin), strict=True):
        np.testing.assert_allclose(ours, theirs(angles.astype(np.float64)), rtol=0, atol=2e-7)
        assert ours.dtype == np.float32
