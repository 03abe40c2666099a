"""The edges settled in advance: flat, nearly flat and equal images, the printed formula, and what happens to flags."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recolorist as rc
from tests.strategies import DTYPES, HIGHEST, INTEGERS, Image, build, flat_image, images

pytestmark = pytest.mark.usefixtures("kernel")

ALL_DTYPES = ("float16", *DTYPES)


def grey(dtype: str, shape: tuple[int, int] = (6, 5)) -> Image:
    """A grey picture in three channels: flat in every chroma, hue and saturation."""
    return np.repeat(build("uniform", (*shape, 1), dtype, 8), 3, axis=-1)


def dyadic_style(dtype: str) -> tuple[Image, list[Fraction]]:
    """A style whose means are numbers every float holds exactly, and those means."""
    levels = np.random.default_rng(3).integers(0, 257, (4, 8, 3)) / 256
    style = np.rint(levels * HIGHEST[dtype]).astype(dtype) if dtype in INTEGERS else levels.astype(dtype)
    means = [sum((Fraction(float(v)) for v in style[..., c].ravel()), Fraction(0)) / 32 for c in range(3)]
    return style, means


EVERY_WAY = pytest.mark.parametrize(("method", "space"), list(product(rc.MATCHERS, rc.SPACES)))


class TestStyleIsContent:
    @staticmethod
    def assert_unchanged(content: Image, method: str, space: str) -> None:
        for strength in (1.0, 0.5):
            out = rc.match(content, content.copy(), method, space, strength=strength)
            assert out.tobytes() == content.tobytes(), f"{content.dtype} at strength {strength}"

    @EVERY_WAY
    def test_bit_for_bit(self, method: str, space: str) -> None:
        for dtype in ALL_DTYPES:
            self.assert_unchanged(build("uniform", (6, 5, 3), dtype, 7), method, space)

    @EVERY_WAY
    def test_grey_pictures_too(self, method: str, space: str) -> None:
        for dtype in ALL_DTYPES:
            self.assert_unchanged(grey(dtype), method, space)

    @EVERY_WAY
    @pytest.mark.parametrize("shape", [(1, 1, 3), (2, 3, 3)])
    def test_flat_pictures_too(self, method: str, space: str, shape: tuple[int, int, int]) -> None:
        for dtype in ALL_DTYPES:
            self.assert_unchanged(np.broadcast_to(build("uniform", (1, 1, 3), dtype, 9), shape).copy(), method, space)

    @pytest.mark.parametrize("dtype", ALL_DTYPES)
    @pytest.mark.parametrize("method", rc.MATCHERS)
    @settings(max_examples=25)
    @given(data=st.data())
    def test_any_image(self, method: str, dtype: str, data: st.DataObject) -> None:
        content = data.draw(images(dtype))
        assert rc.match(content, content.copy(), method, alpha=False).tobytes() == content.tobytes()

    @pytest.mark.parametrize("space", rc.SPACES)
    def test_from_moments(self, space: str) -> None:
        content = build("uniform", (6, 5, 3), "float32", 7)
        assert rc.match(content, rc.measure(content, space=space), space=space).tobytes() == content.tobytes()


class TestFlatContent:
    """Promise 5: the 256 greys of every dtype go to the style's mean exactly."""

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_every_grey_becomes_the_styles_mean(self, dtype: str) -> None:
        style, means = dyadic_style(dtype)
        # round() of a fraction rounds half to even, in exact arithmetic; 53 and, after the map, 24 bits hold these means
        wanted = np.array([round(m) if dtype in INTEGERS else float(m) for m in means], dtype=dtype)
        for level in range(256):
            content = flat_image(level * HIGHEST[dtype] / 255, (3, 7, 3), dtype)
            assert (rc.match(content, style) == wanted).all(), level

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_every_grey_is_flagged(self, dtype: str) -> None:
        style = rc.measure(dyadic_style(dtype)[0])
        for level in range(256):
            content = flat_image(level * HIGHEST[dtype] / 255, (13, 7, 3), dtype)
            planned = rc.plan(rc.measure(content), style)
            assert planned.flags == (("flat",),) * 3, level
            assert planned.gain.tolist() == [0, 0, 0]
            assert planned.content_std.tolist() == [0, 0, 0]

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_flat_from_strips(self, dtype: str) -> None:
        content = flat_image(HIGHEST[dtype] / 10, (11, 7, 3), dtype)
        merged = sum((rc.measure(row[None]) for row in content[1:]), rc.measure(content[:1]))
        assert rc.plan(merged, rc.measure(dyadic_style(dtype)[0])).flags == (("flat",),) * 3
        assert merged.mean.tolist() == content[0, 0].astype(float).tolist()

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_every_method_moves_it_to_the_mean(self, method: str) -> None:
        style, means = dyadic_style("uint8")
        out = rc.match(flat_image(77, (5, 4, 3), "uint8"), style, method)
        assert (out == [round(m) for m in means]).all()

    def test_one_flat_channel_leaves_the_others_alone(self) -> None:
        content, style = build("uniform", (9, 7, 3), "uint8", 1), build("narrow", (9, 7, 3), "uint8", 2)
        flattened = content.copy()
        flattened[..., 1] = 40
        planned = rc.plan(rc.measure(flattened), rc.measure(style))
        assert planned.flags == ((), ("flat",), ())
        out = rc.apply(flattened, planned)
        assert np.array_equal(out[..., [0, 2]], rc.match(content, style)[..., [0, 2]])
        assert (out[..., 1] == np.rint(style[..., 1].mean())).all()

    def test_single_pixel(self) -> None:
        out = rc.match(np.array([[[9, 90, 200]]], np.uint8), np.array([[[1, 2, 3]], [[3, 4, 6]]], np.uint8))
        assert out.tolist() == [[[2, 3, 4]]]  # 4.5 rounds to even


class TestNearlyFlat:
    @staticmethod
    def one_pixel_off(dtype: str) -> Image:
        content = flat_image(128 if dtype in INTEGERS else 0.5, (224, 223), dtype)
        content[100, 50] += 1 if dtype in INTEGERS else 1 / 255
        return content

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("max_gain", [10.0, 1.0, 3.5])
    def test_gain_is_capped_and_flagged(self, dtype: str, max_gain: float) -> None:
        content, style = self.one_pixel_off(dtype), build("uniform", (30, 20), dtype, 2)
        planned = rc.plan(rc.measure(content), rc.measure(style), max_gain=max_gain)
        assert planned.gain.tolist() == [max_gain]
        assert planned.matrix.tolist() == [[max_gain]]
        assert planned.flags == (("gain_capped",),)
        # the mean is carried all the same; one rounding of numbers the size of the range in each of three steps
        carried = planned.gain[0] * planned.content_mean[0] + planned.offset[0]
        assert carried == pytest.approx(planned.style_mean[0], rel=0, abs=HIGHEST[dtype] * max_gain * 2.0**-51)

    def test_uncapped_is_possible_when_asked_for(self) -> None:
        content, style = self.one_pixel_off("uint8"), build("uniform", (30, 20), "uint8", 2)
        planned = rc.plan(rc.measure(content), rc.measure(style), max_gain=math.inf)
        assert planned.gain[0] > 10_000
        assert not planned.flags

    @settings(max_examples=200)
    @given(content=images("float64"), gain=st.floats(0, 20))
    def test_no_gain_above_the_cap(self, content: Image, gain: float) -> None:
        style = build("extremes", (4, 9, content.shape[-1]), "float64", 1)
        planned = rc.plan(rc.measure(content, alpha=False), rc.measure(style, alpha=False), max_gain=gain)
        assert planned.gain.max() <= gain
        unflagged = np.array([not flags for flags in planned.flags])
        # within the cap the gain is the ratio of the deviations: one division and two square roots
        ratio = planned.style_std[unflagged] / planned.content_std[unflagged]
        np.testing.assert_allclose(planned.gain[unflagged], ratio, rtol=4e-16, atol=0)


class TestFlatStyle:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_collapses_and_says_so(self, dtype: str) -> None:
        content = build("uniform", (9, 7, 3), dtype, 1)
        style = flat_image(HIGHEST[dtype] / 5, (3, 4, 3), dtype)
        planned = rc.plan(rc.measure(content), rc.measure(style))
        assert planned.flags == (("collapsed",),) * 3
        assert (rc.apply(content, planned) == style[0, 0]).all()

    def test_flat_content_and_flat_style_is_flat(self) -> None:
        planned = rc.plan(rc.measure(flat_image(3, (2, 5), "uint8")), rc.measure(flat_image(9, (4, 2), "uint8")))
        assert planned.flags == (("flat",),)
        assert rc.apply(flat_image(3, (2, 5), "uint8"), planned).tolist() == [[9] * 5] * 2

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    def test_refused_when_strict(self, dtype: str, method: Any) -> None:
        content, style = build("uniform", (9, 7, 3), dtype, 1), build("uniform", (9, 7, 3), dtype, 2)
        style[..., 2] = style[0, 0, 2]
        with pytest.raises(rc.RecoloristError, match="flat channel"):
            rc.match(content, style, method, strict=True)
        with pytest.raises(rc.RecoloristError, match="flat channel"):
            rc.plan(rc.measure(content), rc.measure(style), method=method, strict=True)

    def test_strict_accepts_ordinary_styles(self) -> None:
        content, style = build("uniform", (9, 7, 3), "uint8", 1), build("uniform", (9, 7, 3), "uint8", 2)
        assert np.array_equal(rc.match(content, style, strict=True), rc.match(content, style))


class TestPrintedFormula:
    """Equation (1) of the paper, ε = 1e-8 and all."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("pattern", ["uniform", "narrow", "nearly_flat", "flat"])
    def test_plan_is_as_printed(self, pattern: str, dtype: str) -> None:
        content, style = rc.measure(build(pattern, (9, 7, 3), dtype, 1)), rc.measure(build("uniform", (5, 8, 3), dtype, 2))
        planned = rc.plan(content, style, eps_mode="paper")
        gain = style.std / (content.std + 1e-8)
        assert planned.gain.tolist() == gain.tolist()
        assert planned.offset.tolist() == (style.mean - gain * content.mean).tolist()
        assert not planned.flags

    def test_pixels_are_as_printed(self) -> None:
        for seed in range(200):
            content, style = build("uniform", (9, 7, 3), "uint8", seed), build("narrow", (5, 8, 3), "uint8", seed + 500)
            deviation = content.std(axis=(0, 1), dtype=np.float64) + 1e-8
            printed = (content - content.mean(axis=(0, 1))) / deviation * style.std(axis=(0, 1)) + style.mean(axis=(0, 1))
            assert np.array_equal(rc.match(content, style, eps_mode="paper"), np.clip(np.rint(printed), 0, 255))

    def test_the_printed_formula_does_not_cap(self) -> None:
        content, style = TestNearlyFlat.one_pixel_off("uint8"), build("uniform", (30, 20), "uint8", 2)
        assert rc.plan(rc.measure(content), rc.measure(style), eps_mode="paper").gain[0] > 10_000
