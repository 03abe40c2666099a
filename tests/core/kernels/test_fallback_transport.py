"""The Monge–Kantorovich map and the exponential: C and Python give the same bits, and both do what they promise."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import scipy.linalg
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.kernels.fallback_transport import exponential, mixed_variances, product, transport


def covariance(rng: np.random.Generator, rank: int) -> NDArray[np.float64]:
    factors = rng.normal(size=(3, rank)) * 10.0 ** rng.uniform(-3, 3)
    return np.asarray(factors @ factors.T)


@pytest.fixture(name="compiled")
def compiled_loops() -> ModuleType:
    return kernels._compiled or pytest.skip("the compiled loops were not built here")


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_same_bits(compiled: ModuleType, rank: int) -> None:
    rng = np.random.default_rng(rank)
    for _ in range(60):
        content, style = (covariance(rng, rank).ravel().tolist() for _ in range(2))
        for most in (10.0, 1.5, float("inf")):
            assert compiled.transport(content, style, most, 1e-13) == transport(content, style, most, 1e-13)
        assert compiled.product(content, style, content) == product(content, style, content)
        for rows in (style, [1.0, 1.0, 1.0, 1.0, -1.0, 0.0, 0.0, 0.5, -0.5]):
            assert compiled.mixed_variances(content, rows, 1e-13) == mixed_variances(content, rows, 1e-13)


def test_variances_of_mixtures(kernel: str) -> None:
    """Equal channels cancel but for rounding, which becomes zero; what is not finite is said."""
    alike = [0.1] * 9
    found = kernels.loops.mixed_variances(alike, [0.3, 0.6, -0.9, 1.0, 0.0, 0.0, 0.5, 0.5, 1.0], 1e-13)
    assert found[0] == 0, kernel
    assert found[1:] == pytest.approx((0.1, 0.4), rel=1e-15)
    assert kernels.loops.mixed_variances([1e300] * 9, [1.0] * 6 + [1e10] * 3, 1e-13) is None


def test_gives_the_covariance_of_the_style() -> None:
    rng = np.random.default_rng(9)
    for _ in range(40):
        content, style = covariance(rng, 5), covariance(rng, 5)
        numbers, capped = transport(content.ravel().tolist(), style.ravel().tolist(), float("inf"), 1e-13)
        move = np.reshape(numbers, (3, 3))
        assert not capped
        np.testing.assert_allclose(move @ content @ move.T, style, rtol=1e-7, atol=1e-7 * np.abs(style).max())
        np.testing.assert_allclose(move, move.T, atol=1e-9 * np.abs(move).max())


def test_diagonal_covariances_and_the_limit() -> None:
    numbers, capped = transport(
        np.diag([4.0, 1.0, 0.0]).ravel().tolist(), np.diag([1.0, 100.0, 5.0]).ravel().tolist(), 3.0, 1e-13
    )
    assert capped
    np.testing.assert_allclose(np.reshape(numbers, (3, 3)), np.diag([0.5, 3.0, 0.0]), atol=1e-12)


def symmetric(rng: np.random.Generator, size: float) -> NDArray[np.float64]:
    numbers = rng.normal(size=(3, 3)) * size
    return np.asarray(numbers + numbers.T)


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e-3, 0.1, 1.0, 50.0])
def test_exponential_same_bits(compiled: ModuleType, size: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        numbers = symmetric(rng, size).ravel().tolist()
        assert compiled.exponential(numbers, 3.0) == exponential(numbers, 3.0)


def test_exponential_is_that_of_the_matrix() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        matrix = symmetric(rng, 0.3)
        result = np.reshape(exponential(matrix.ravel().tolist(), 3.0), (3, 3))
        # the eigenvalues have errors of a few eps of 3 at most, and their exponentials relative ones of below 1e-13
        np.testing.assert_allclose(result, scipy.linalg.expm(matrix), rtol=0, atol=1e-12 * np.abs(result).max())
        np.testing.assert_array_equal(result, result.T)


def test_exponential_holds_eigenvalues_within_the_limit() -> None:
    numbers = exponential(np.diag([9.0, -9.0, 1.0]).ravel().tolist(), 3.0)
    np.testing.assert_allclose(np.reshape(numbers, (3, 3)), np.diag(np.exp([3.0, -3.0, 1.0])), rtol=1e-12)
