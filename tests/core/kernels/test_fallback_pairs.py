"""Mean and variance of each channel in one call: C and Python give the same bits, nearest to the exact ratios."""

from __future__ import annotations

import math
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

from recolorist.core import kernels
from recolorist.core.kernels import fallback
from recolorist.core.kernels.fallback_pairs import exact_pairs, exact_rows, float_pairs
from tests.strategies import FLOATS, Image, build

PIXELS = (1, 2, 7, 31, 33, 97, 256, 1025, 4097)
MOST = 2**18


@pytest.fixture(name="compiled")
def compiled_loops() -> ModuleType:
    return kernels._compiled or pytest.skip("the compiled loops were not built here")


def pixels_of(pixels: int, channels: int, dtype: str, seed: int = 0) -> Image:
    return build(("uniform", "extremes", "bright")[seed % 3], (pixels, channels), dtype, seed)


def covariance(first: list[int], second: list[int]) -> float:
    n = len(first)
    return float(Fraction(sum(a * b for a, b in zip(first, second, strict=True)), n) - Fraction(sum(first) * sum(second), n * n))


@pytest.mark.parametrize("channels", range(1, 6))
def test_levels(compiled: ModuleType, channels: int) -> None:
    for seed, pixels in enumerate(PIXELS):
        image = pixels_of(pixels, channels, "uint8", seed)
        planes = image.T.tolist()
        wanted = [(float(Fraction(sum(plane), pixels)), covariance(plane, plane)) for plane in planes]
        assert compiled.pairs_levels(image, channels) == wanted
        assert fallback.pairs_levels(image, channels) == wanted


def test_rows(compiled: ModuleType) -> None:
    for seed, pixels in enumerate(PIXELS):
        image = pixels_of(pixels, 3, "uint8", seed)
        planes = image.T.tolist()
        wanted = [[covariance(first, second) for second in planes] for first in planes]
        for loops in (compiled, fallback):
            sums, pairs, rows = loops.rows_levels(image)
            assert rows == wanted
            assert pairs == loops.pairs_levels(image, 3)
            assert sums == loops.moments_integer(image, 1, 3, 3)


@pytest.mark.parametrize("value", [255, 254])
def test_the_largest_image(compiled: ModuleType, value: int) -> None:
    image = np.full((MOST, 3), value, np.uint8)
    image[: MOST // 2 + 1, 1] = 255
    assert compiled.pairs_levels(image, 3) == fallback.pairs_levels(image, 3)
    assert compiled.rows_levels(image) == fallback.rows_levels(image)


@pytest.mark.parametrize("pixels", [0, MOST + 1])
def test_other_sizes_are_refused(compiled: ModuleType, pixels: int) -> None:
    image = np.zeros((pixels, 3), np.uint8)
    with pytest.raises(ValueError, match="pixels"):
        compiled.pairs_levels(image, 3)
    with pytest.raises(ValueError, match="pixels"):
        compiled.rows_levels(image)


@pytest.mark.parametrize("channels", [0, 513])
def test_other_channels_are_refused(compiled: ModuleType, channels: int) -> None:
    with pytest.raises(ValueError, match="channels"):
        compiled.pairs_levels(np.zeros((4, 3), np.uint8), channels)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", range(1, 6))
def test_floats(compiled: ModuleType, dtype: str, channels: int) -> None:
    for seed, pixels in enumerate((*PIXELS, 8192)):
        image = pixels_of(pixels, channels, dtype, seed)
        image[:, 0] = image[0, 0]  # one flat channel
        pairs, low, high = compiled.pairs_float(image, image.itemsize, channels)
        assert (pairs, low, high) == fallback.pairs_float(image, image.itemsize, channels)
        assert (low, high) == (float(image.min()), float(image.max()))
        assert pairs[0] == (float(image[0, 0]), 0.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_floats_that_are_not_finite_have_no_pairs(compiled: ModuleType, value: float) -> None:
    image = pixels_of(300, 3, "float32")
    image[17, 1] = value
    for loops in (compiled, fallback):
        assert loops.pairs_float(image, 4, 3) is None


def test_squares_that_overflow_have_no_pairs(compiled: ModuleType) -> None:
    image = np.array([[1e200], [-1e200]])
    for loops in (compiled, fallback):
        assert loops.pairs_float(image, 8, 1) is None


def test_large_sums_are_divided_once() -> None:
    count, total, squares = 10**9, 123_456_789_012_345, 10**24
    assert exact_pairs(count, [total], [squares]) == [
        (float(Fraction(total, count)), float(Fraction(count * squares - total * total, count * count)))
    ]
    assert exact_rows(count, [total], [squares]) == [[exact_pairs(count, [total], [squares])[0][1]]]


def test_a_channel_with_one_value_has_no_variance() -> None:
    assert float_pairs(3, [0.1 + 1e-17], [1e-33], [0.1], [0.1]) == ([(0.1, 0.0)], 0.1, 0.1)
