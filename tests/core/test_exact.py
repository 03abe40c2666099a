"""Integer images against the formula in plain float64, and against exact arithmetic on its two numbers: not one pixel differs.

The two numbers, gain and offset, are float64. Half-way cases of rational gains are theirs, as docs/decisions.md says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.demo import synthetic
from recolorist.demo.synthetic import SCANNERS
from tests.full import full
from tests.strategies import FLOATS, HIGHEST, INTEGERS, Image, build

tile = cache(synthetic.tile)  # drawing a tile takes longer than what is tested here
pytestmark = pytest.mark.usefixtures("kernel")


def exact_moments(channel: NDArray[Any]) -> tuple[Fraction, Fraction]:
    """Mean and variance of integers as fractions, from how often each level occurs."""
    levels, counts = np.unique(channel, return_counts=True)
    pairs = [(int(x), int(n)) for x, n in zip(levels, counts, strict=True)]
    total = sum(n for _, n in pairs)
    mean = Fraction(sum(n * x for x, n in pairs), total)
    return mean, Fraction(sum(n * x * x for x, n in pairs), total) - mean * mean


def exact_match(content: NDArray[Any], style: NDArray[Any], high: int) -> NDArray[Any]:
    """α and β are the nearest float64; α·x + β is exact and rounded half to even, level by level."""
    (mean, variance), (style_mean, style_variance) = exact_moments(content), exact_moments(style)
    alpha = math.sqrt(style_variance) / math.sqrt(variance)
    beta = float(style_mean) - alpha * float(mean)
    (gain, of), (offset, per) = alpha.as_integer_ratio(), beta.as_integer_ratio()
    levels, where = np.unique(content, return_inverse=True)
    mapped = [min(max(_round_ratio(gain * per * int(x) + offset * of, of * per), 0), high) for x in levels]
    return np.array(mapped, dtype=content.dtype)[where].reshape(content.shape)


def _round_ratio(above: int, below: int) -> int:
    """Round a fraction half to even, in whole numbers; Fraction would reduce every one of them first."""
    whole, rest = divmod(above, below)
    return whole + (2 * rest > below or (2 * rest == below and whole % 2 == 1))


def plain_match(content: Image, style: Image) -> Image:
    """What one would write in NumPy."""
    c, s = content.astype(np.float64), style.astype(np.float64)
    matched = (c - c.mean(axis=(0, 1))) * (s.std(axis=(0, 1)) / c.std(axis=(0, 1))) + s.mean(axis=(0, 1))
    return np.asarray(np.clip(np.rint(matched), 0, HIGHEST[content.dtype.name]), dtype=content.dtype)


@cache
def exact_pair(patterns: tuple[str, str], dtype: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """A million pixels, a style, and the exact result, which both kernels must give."""
    content, style = build(patterns[0], (1250, 800), dtype, 11), build(patterns[1], (333, 700), dtype, 12)
    return content, style, exact_match(content, style, int(HIGHEST[dtype]))


class TestFractions:
    def test_the_reference_rounds_half_to_even(self) -> None:
        ratios = [(n, d) for n in range(-40, 41) for d in (1, 2, 3, 4, 8)]
        assert [_round_ratio(n, d) for n, d in ratios] == [round(Fraction(n, d)) for n, d in ratios]

    @pytest.mark.parametrize("dtype", INTEGERS)
    @pytest.mark.parametrize("patterns", [("uniform", "narrow"), ("narrow", "uniform"), ("skewed", "ramp")])
    def test_a_million_pixels(self, dtype: str, patterns: tuple[str, str]) -> None:
        content, style, wanted = exact_pair(patterns, dtype)
        assert np.count_nonzero(rc.match(content, style) != wanted) == 0

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_many_small_pairs(self, dtype: str) -> None:
        different = 0
        for seed in range(full(50, 150)):
            content, style = build("uniform", (7, 9), dtype, seed), build("narrow", (6, 11), dtype, seed + 1000)
            different += int((rc.match(content, style) != exact_match(content, style, int(HIGHEST[dtype]))).sum())
        assert different == 0

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_moments_are_the_nearest_floats(self, dtype: str) -> None:
        for seed, pattern in enumerate(("uniform", "narrow", "bright", "nearly_flat", "extremes")):
            image = build(pattern, (61, 47, 3), dtype, seed)
            measured = rc.measure(image)
            for c in range(3):
                mean, variance = exact_moments(image[..., c])
                assert measured.mean[c] == float(mean)
                assert measured.cov[c, c] == float(variance)

    def test_covariance_is_the_nearest_float(self) -> None:
        image = build("uniform", (23, 31, 3), "uint8", 4)
        x, y = (image[..., c].ravel().astype(int).tolist() for c in (0, 2))
        n = len(x)
        exact = Fraction(sum(a * b for a, b in zip(x, y, strict=True)), n) - Fraction(sum(x), n) * Fraction(sum(y), n)
        cov = rc.measure(image).cov
        assert cov[0, 2] == cov[2, 0] == float(exact)

    @pytest.mark.parametrize(("dtype", "levels"), [("uint8", 256), ("uint16", 65536)])
    def test_the_identity_keeps_every_level(self, dtype: str, levels: int) -> None:
        ramp = np.arange(levels).astype(dtype).reshape(-1, 64)
        assert len(np.unique(rc.match(ramp, ramp))) == levels
        assert np.array_equal(rc.match(ramp, rc.measure(ramp)), ramp)

    def test_halves_go_to_the_even_neighbour(self) -> None:
        content, style = np.arange(16, dtype=np.uint8)[None], np.arange(16, dtype=np.uint8)[None] + np.uint8(100)
        # strength one half of a shift by 100 after a shift by one: every value is a half
        planned = rc.plan(rc.measure(content), rc.measure(style - np.uint8(99)), strength=0.5)
        assert (planned.matrix.tolist(), planned.offset.tolist()) == ([[1.0]], [0.5])
        assert rc.apply(content, planned)[0].tolist() == [0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14, 16]


class TestPlainFormula:
    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_random_images(self, dtype: str) -> None:
        different = 0
        for seed in range(full(80, 300)):
            content, style = build("uniform", (37, 29, 3), dtype, seed), build("narrow", (31, 41, 3), dtype, seed + 1000)
            different += int((rc.match(content, style) != plain_match(content, style)).sum())
        assert different == 0

    @pytest.mark.parametrize("scanner", SCANNERS)
    @pytest.mark.parametrize("other", SCANNERS)
    def test_stained_tissue(self, scanner: str, other: str) -> None:
        content, style = tile(3, scanner, (120, 88)), tile(4, other, (88, 120))
        assert np.count_nonzero(rc.match(content, style) != plain_match(content, style)) == 0

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_floats(self, dtype: str) -> None:
        content, style = build("uniform", (97, 61, 3), dtype, 1), build("narrow", (50, 60, 3), dtype, 2)
        c, s = content.astype(np.float64), style.astype(np.float64)
        plain = (c - c.mean(axis=(0, 1))) * (s.std(axis=(0, 1)) / c.std(axis=(0, 1))) + s.mean(axis=(0, 1))
        # the two orders of summation differ by some roundings of numbers below 1; float32 then keeps 24 bits
        bound = 1e-14 if dtype == "float64" else 2.0**-24
        assert np.abs(rc.match(content, style) - plain).max() <= bound


class TestLargeAndBright:
    """Sums of squares of 1536 × 1536 bright pixels pass 2**32 in 8 bits and 2**53 in 16."""

    @pytest.mark.parametrize(("dtype", "high"), [("uint8", 255), ("uint16", 65535)])
    @pytest.mark.parametrize("channels", [1, 3])
    def test_white(self, dtype: str, high: int, channels: int) -> None:
        measured = rc.measure(np.full((1536, 1536, channels), high, dtype))
        assert measured.mean.tolist() == [high] * channels
        assert not measured.cov.any()

    @pytest.mark.parametrize(("dtype", "high"), [("uint8", 255), ("uint16", 65535)])
    def test_nearly_white(self, dtype: str, high: int) -> None:
        image = np.full((1536, 1535, 3), high, dtype)
        image[::2, :, 0] -= 1
        image[:100, :, 1] -= 3
        measured = rc.measure(image)
        for c in range(3):
            mean, variance = exact_moments(image[..., c])
            assert (measured.mean[c], measured.cov[c, c]) == (float(mean), float(variance))

    @pytest.mark.parametrize(("dtype", "high"), [("uint8", 255), ("uint16", 65535)])
    def test_four_and_two_channels(self, dtype: str, high: int) -> None:
        image = np.full((1500, 1499, 4), high, dtype)
        image[7, :, 3] = 0
        mean, variance = exact_moments(image[..., 3])
        for channels in (4, 2):
            measured = rc.measure(image[..., 4 - channels :], alpha=False)
            assert (measured.mean[-1], measured.cov[-1, -1]) == (float(mean), float(variance))
            assert measured.mean[0] == high

    def test_matching_a_large_bright_image(self) -> None:
        content, style = build("bright", (1536, 1534), "uint8", 1), build("narrow", (100, 90), "uint8", 2)
        assert np.count_nonzero(rc.match(content, style) != exact_match(content, style, 255)) == 0


class TestStrips:
    ROWS = (1, 7, 64, 256)

    @staticmethod
    def strips(image: Image, rows: int) -> Iterator[rc.Moments]:
        return (rc.measure(image[start : start + rows], alpha=False) for start in range(0, len(image), rows))

    @pytest.mark.parametrize("dtype", INTEGERS)
    @pytest.mark.parametrize("channels", [1, 3, 4])
    def test_integers_bit_for_bit(self, dtype: str, channels: int) -> None:
        image = build("uniform", (601, 43, channels), dtype, 5)
        whole = rc.measure(image, alpha=False)
        for rows in self.ROWS:
            merged = sum(self.strips(image, rows), start=0)
            assert isinstance(merged, rc.Moments)
            assert (merged.count, merged.mean.tobytes(), merged.cov.tobytes()) == (
                whole.count,
                whole.mean.tobytes(),
                whole.cov.tobytes(),
            )
            assert merged == whole

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_floats_to_the_last_bits(self, dtype: str) -> None:
        image = build("uniform", (601, 43, 3), dtype, 5)
        whole = rc.measure(image)
        for rows in self.ROWS:
            first, *others = self.strips(image, rows)
            for more in others:
                first += more
            assert first.count == whole.count
            np.testing.assert_allclose(first.mean, whole.mean, rtol=1e-12, atol=0)
            # 601 merges, some five roundings each, of numbers not above the variance: 601 * 5 * 2**-53 = 3e-13
            np.testing.assert_allclose(first.cov, whole.cov, rtol=0, atol=1e-12 * whole.cov.max())

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_any_order_of_adding(self, dtype: str) -> None:
        a, b, c = (rc.measure(build("skewed", (5, 3 + seed, 3), dtype, seed)) for seed in range(3))
        assert (a + b) + c == a + (b + c) == c + b + a

    def test_the_content_may_come_in_strips(self) -> None:
        content, style = build("uniform", (130, 61, 3), "uint8", 1), build("narrow", (50, 60, 3), "uint8", 2)
        moments = sum(list(self.strips(content, 7))[1:], start=rc.measure(content[:7]))
        planned = rc.plan(moments, rc.measure(style))
        pieces = [rc.apply(content[start : start + 7], planned) for start in range(0, 130, 7)]
        assert np.array_equal(np.concatenate(pieces), rc.match(content, style))

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_masked_parts_add_up(self, dtype: str) -> None:
        image = build("uniform", (33, 47, 3), dtype, 6)
        inside = np.random.default_rng(1).random((33, 47)) < 0.3
        assert rc.measure(image, inside) + rc.measure(image, ~inside) == rc.measure(image)
        assert rc.measure(image, inside) == rc.measure(image[inside][None])
