"""The promises about numbers, on thousands of awkward images: statistics, order, clipping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import recolorist as rc
from tests.full import full
from tests.strategies import CHANNELS, DTYPES, FLOATS, HIGHEST, INTEGERS, PATTERNS, SHAPES, Image, build, images, pairs

pytestmark = pytest.mark.usefixtures("kernel")  # so every number of cases below is run twice


VARIED = PATTERNS[:-1]  # all but flat
SIZES = (*SHAPES, (40, 31), (64, 48), (57, 90), (96, 128), (111, 70))  # small ones, and as many as images come


def mean_and_deviation(channel: NDArray[Any]) -> tuple[float, float]:
    """Correctly rounded sums, by a road of their own."""
    values = channel.ravel().astype(np.float64).tolist()
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))


def formula(content: Image, style: Image) -> NDArray[np.float64]:
    """The method as one reads it, in float64, no limits; channels without variance are the caller's to avoid."""
    c, s = (x.reshape(-1, x.shape[-1]).astype(np.float64) for x in (content, style))
    return np.asarray((content - c.mean(axis=0)) * (s.std(axis=0) / c.std(axis=0)) + s.mean(axis=0))


def stays_inside(content: Image, style: Image) -> bool:
    """Whether nothing is flat, nothing amplified beyond the cap, and nothing leaves 0 to 255."""
    spread, style_spread = content.std(axis=(0, 1)), style.std(axis=(0, 1))
    if (style_spread > 10 * spread).any():
        return False
    wanted = formula(content, style)
    return bool(wanted.min() >= 0 and wanted.max() <= 255)


class TestStatistics:
    """Promise 2; 2 × (500 + 500) cases in the full suite."""

    @settings(max_examples=full(100, 500))
    @given(data=st.data(), channels=st.sampled_from(CHANNELS))
    def test_float_mean_and_deviation_are_the_styles(self, data: st.DataObject, channels: int) -> None:
        content = data.draw(images("float64", channels, SHAPES[4:], VARIED))
        style = data.draw(images("float64", channels, SHAPES[4:], ("uniform", "skewed", "ramp", "extremes")))
        numbers = [(*mean_and_deviation(content[..., c]), *mean_and_deviation(style[..., c])) for c in range(content.shape[-1])]
        assume(all(s_mean >= 0.1 and 0.1 <= s_dev <= 10 * c_dev for _, c_dev, s_mean, s_dev in numbers))
        out = rc.match(content, style, clip=False, alpha=False)
        # Sums of at most 527 values in 16 lanes round at most 49 times (5e-15 of a mean below 1); the gain of at most 10
        # and the map's own three roundings (of numbers below 11) make 6e-14. Against a tenth: 6e-13, below 1e-12.
        for c, (_, _, style_mean, style_deviation) in enumerate(numbers):
            mean, deviation = mean_and_deviation(out[..., c])
            assert mean == pytest.approx(style_mean, rel=1e-12, abs=0)
            assert deviation == pytest.approx(style_deviation, rel=1e-12, abs=0)

    def test_uint8_mean_within_half_a_level_and_nearly_always_much_closer(self) -> None:
        rng = np.random.default_rng(20)
        errors: list[NDArray[np.float64]] = []
        while len(errors) < full(150, 500):
            shape = (*SIZES[rng.integers(len(SIZES))], 3)
            content = build(str(rng.choice(VARIED)), shape, "uint8", int(rng.integers(2**32)))
            style = build("narrow", (9, 14, 3), "uint8", int(rng.integers(2**32)))
            if not stays_inside(content, style):
                continue
            errors.append(np.abs(rc.match(content, style).mean(axis=(0, 1)) - style.mean(axis=(0, 1))))
        assert np.max(errors) <= 0.5 + 1e-12  # rounding moves no pixel, and so no mean, by more; 1e-12 for the two means here
        assert np.median(errors) < 0.05

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_the_promise_on_a_plain_pair(self, dtype: str) -> None:
        content, style = build("uniform", (31, 47, 3), dtype, 1), build("narrow", (40, 30, 3), dtype, 2)
        out = rc.match(content, style)
        # rounding: half a level at most for integers; float32 keeps 24 bits
        bound = 0.5 if dtype in INTEGERS else 2.0**-24
        assert np.abs(out.mean(axis=(0, 1), dtype=float) - style.mean(axis=(0, 1), dtype=float)).max() <= bound


class TestOrder:
    """Promise 3; 2 × 4 × 250 cases in the full suite."""

    @staticmethod
    def assert_in_order(before: NDArray[Any], after: NDArray[Any]) -> None:
        for c in range(before.shape[-1]):
            levels, where = np.unique(before[..., c], return_inverse=True)
            values = after[..., c].ravel()
            low, high = np.full(len(levels), math.inf), np.full(len(levels), -math.inf)
            np.minimum.at(low, where.ravel(), values)
            np.maximum.at(high, where.ravel(), values)
            assert (low == high).all()  # equal stay equal
            assert (np.diff(low) >= 0).all()  # none are exchanged

    @pytest.mark.parametrize("dtype", DTYPES)
    @settings(max_examples=full(50, 250))
    @given(data=st.data())
    def test_never_inverted(self, dtype: str, data: st.DataObject) -> None:
        content, style = data.draw(pairs(dtype))
        planned = rc.plan(rc.measure(content, alpha=False), rc.measure(style, alpha=False))
        rounded = rc.apply(content, planned, alpha=False)
        unrounded = rc.apply(content.astype(np.float64), planned, alpha=False, data_range=HIGHEST[dtype], clip=False)
        self.assert_in_order(content, rounded)
        self.assert_in_order(content, unrounded)
        assert rc.audit(content, rounded, alpha=False).inversions == 0

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_every_level_in_order(self, dtype: str) -> None:
        ramp = np.arange(HIGHEST[dtype] + 1).astype(dtype)[None]
        for seed in range(10):
            content, style = build("narrow", (9, 7), dtype, seed), build("uniform", (5, 8), dtype, 99 - seed)
            mapped = rc.apply(ramp, rc.plan(rc.measure(content), rc.measure(style)))
            assert (np.diff(mapped[0].astype(int)) >= 0).all()


class TestClipping:
    """Promise 6; 2 × (900 + 100) cases of integers, 2 × 2 × 100 of floats in the full suite."""

    @staticmethod
    def beyond(content: Image, planned: rc.Plan, *, whole: bool) -> NDArray[np.int64]:
        """Count per channel, by brute force, what leaves the range."""
        values = planned.matrix.diagonal() * content.astype(np.float64) + planned.offset
        values = np.rint(values) if whole else values
        outside = (values < 0) | (values > planned.data_range)
        return np.asarray(outside.reshape(-1, content.shape[-1]).sum(axis=0))

    @settings(max_examples=full(180, 900))
    @given(pair=pairs("uint8"))
    def test_8_bits_predicted_is_counted(self, pair: tuple[Image, Image]) -> None:
        self.check_integers(*pair)

    @settings(max_examples=full(30, 100))  # 65536 levels take their time
    @given(pair=pairs("uint16"))
    def test_16_bits_predicted_is_counted(self, pair: tuple[Image, Image]) -> None:
        self.check_integers(*pair)

    def check_integers(self, content: Image, style: Image) -> None:
        planned = rc.plan(rc.measure(content, alpha=False), rc.measure(style, alpha=False))
        audit = rc.audit(content, planned, alpha=False)
        shares = self.beyond(content, planned, whole=True) / (content.size // content.shape[-1])
        assert audit.predicted_clipped.tolist() == shares.tolist()
        assert audit.clipped.tolist() == shares.tolist()
        assert audit.predicted_clipped_overall == audit.clipped_overall

    @pytest.mark.parametrize("dtype", INTEGERS)
    @settings(max_examples=full(20, 50))
    @given(data=st.data())
    def test_integers_counted_on_the_output(self, dtype: str, data: st.DataObject) -> None:
        content, style = data.draw(pairs(dtype, 3))
        planned = rc.plan(rc.measure(content), rc.measure(style))
        audit = rc.audit(content, rc.apply(content, planned), plan=planned)
        assert audit.clipped.tolist() == audit.predicted_clipped.tolist()
        assert audit.clipped.tolist() == (self.beyond(content, planned, whole=True) / (content.size // 3)).tolist()

    @pytest.mark.parametrize("dtype", FLOATS)
    @settings(max_examples=full(30, 100))
    @given(data=st.data())
    def test_floats_within_a_pixel(self, dtype: str, data: st.DataObject) -> None:
        content, style = data.draw(pairs(dtype, 3))
        planned = rc.plan(rc.measure(content), rc.measure(style))
        audit, pixels = rc.audit(content, planned), content.size // 3
        # one pixel: a value that lands on the limit itself may fall to either side by the last bit
        assert np.abs((audit.predicted_clipped - audit.clipped) * pixels).max() <= 1 + 1e-9
        assert np.abs(audit.predicted_clipped * pixels - self.beyond(content, planned, whole=False)).max() <= 1 + 1e-9

    def test_half_of_a_stretched_ramp(self) -> None:
        ramp = np.arange(256, dtype=np.uint8)[None]
        stretched = rc.plan(rc.measure(ramp), rc.Moments(1, [127.5], rc.measure(ramp).cov * 4, 255))
        # 2x - 127.5: level 64 gives 0.5, which rounds to 0 (even) and stays; 63 gives -1.5; 191 gives 254.5, to 254
        assert stretched.kept_levels().tolist() == [[64, 191]]
        assert rc.audit(ramp, stretched).clipped_overall == 0.5


class TestStrength:
    @pytest.mark.parametrize("space", rc.SPACES)
    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_none_changes_nothing(self, method: str, space: str) -> None:
        for dtype in ("float16", *DTYPES):
            content, style = build("uniform", (6, 5, 3), dtype, 1), build("skewed", (4, 7, 3), dtype, 2)
            assert rc.match(content, style, method, space, strength=0).tobytes() == content.tobytes(), dtype

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    @pytest.mark.parametrize("space", [name for name, space in rc.SPACES.items() if space.is_linear])
    @settings(max_examples=25)
    @given(content=images("float64", 3), strength=st.floats(0, 1))
    def test_blends_in_a_straight_line(self, space: str, method: str, content: Image, strength: float) -> None:
        style = build("narrow", (5, 7, 3), "float64", 3)
        whole, part = (rc.match(content, style, method, space, strength=s, clip=False) for s in (1.0, strength))
        # values below 30 (a gain of at most 10, three channels mixed), some ten roundings of 2**-53 each: 4e-14
        assert np.abs(part - (content + strength * (whole - content))).max() <= 1e-13

    @pytest.mark.parametrize("method", ["histogram", "exact_histogram"])
    def test_blends_in_a_straight_line_with_histograms(self, method: str) -> None:
        content, style = build("uniform", (11, 7, 3), "float64", 4), build("narrow", (5, 7, 3), "float64", 3)
        whole, part = (rc.match(content, style, method, strength=s) for s in (1.0, 0.25))
        assert np.abs(part - (content + 0.25 * (whole - content))).max() <= 2.0**-52  # four roundings of numbers below 1

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    @pytest.mark.parametrize("space", [name for name, space in rc.SPACES.items() if not space.is_linear])
    def test_blends_the_plan_in_other_spaces(self, space: str, method: Any) -> None:
        content, style = (rc.measure(build("uniform", (8, 9, 3), "uint8", seed), space=space) for seed in (5, 6))
        whole, part = (rc.plan(content, style, space, strength, method=method) for strength in (1.0, 0.25))
        np.testing.assert_allclose(part.matrix, np.eye(3) + 0.25 * (whole.matrix - np.eye(3)), rtol=0, atol=1e-14)
        np.testing.assert_allclose(part.offset, 0.25 * whole.offset, rtol=1e-12, atol=1e-12)
