"""Our own roots, logarithms, powers and angles against those of the machine."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.core.kernels import fallback_math

POSITIVE = np.exp(np.linspace(-14.0, 14.0, 20_001))
ANGLES = np.linspace(-40.0, 40.0, 20_001)


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        ("cube_root", POSITIVE, np.cbrt(POSITIVE)),
        ("inverse_cube_root", POSITIVE, 1.0 / np.cbrt(POSITIVE)),
        ("inverse_fifth_root", POSITIVE, POSITIVE**-0.2),
        ("power_of_e", ANGLES, np.exp(ANGLES)),
    ],
)
def test_relative_error(name: str, values: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(getattr(fallback_math, name)(values), wanted, rtol=2e-13, atol=0)


def test_logarithm() -> None:
    np.testing.assert_allclose(fallback_math.natural_log(POSITIVE), np.log(POSITIVE), rtol=1e-15, atol=2e-15)
    assert fallback_math.natural_log(np.array([1.0])).tolist() == [0.0]


def test_angles() -> None:
    x, y = np.cos(ANGLES), np.sin(ANGLES)
    np.testing.assert_allclose(fallback_math.angle_of(y, x), np.arctan2(y, x) % (2 * np.pi), rtol=0, atol=1e-12)
    axes = fallback_math.angle_of(np.array([0.0, 1.0, 0.0, -1.0, 0.0]), np.array([1.0, 0.0, -1.0, 0.0, 0.0]))
    np.testing.assert_allclose(axes, [0.0, np.pi / 2, np.pi, 3 * np.pi / 2, 0.0], rtol=0, atol=1e-12)
    assert axes.min() >= 0


def test_cosine_and_sine() -> None:
    cosine, sine = fallback_math.cosine_and_sine(ANGLES)
    np.testing.assert_allclose(cosine, np.cos(ANGLES), rtol=0, atol=2e-13)
    np.testing.assert_allclose(sine, np.sin(ANGLES), rtol=0, atol=2e-13)
