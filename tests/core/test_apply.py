"""Applying: rounding, levels, clipping, non-finite pixels, and what stays as it was."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core import kernels
from recolorist.errors import ImageError, StatisticsError
from tests.core.contracts import KERNELS

CONTENT = np.random.default_rng(23).uniform(0.3, 0.6, (8, 8, 3))
STYLE = np.random.default_rng(24).uniform(0.2, 0.9, (8, 9, 3))
FLOATS = ("float16", "float32", "float64")
BAD = (math.nan, math.inf, -math.inf)


@pytest.fixture(params=KERNELS, autouse=True)
def _each_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    with kernels.using(request.param):
        yield


def affine(gain: float, offset: float, data_range: float, channels: int = 3) -> rc.Plan:
    """A plan with these very numbers, by way of its JSON."""
    base = rc.Moments(2, [1.0] * channels, np.eye(channels), data_range)
    text = rc.plan(base, base).to_json()
    ones, zeros = [1.0] * channels, [0.0] * channels
    matrix = np.eye(channels)
    text = text.replace(f'"matrix": {matrix.tolist()}', f'"matrix": {(matrix * gain).tolist()}')
    text = text.replace(f'"offset": {zeros}', f'"offset": {[offset] * channels}')
    text = text.replace(f'"gain": {ones}', f'"gain": {[gain] * channels}')
    made = rc.Plan.from_json(text)
    assert (made.matrix[0, 0], made.offset[0]) == (gain, offset)
    return made


class TestLevels:
    @pytest.mark.parametrize("channels", [1, 3])
    def test_identity_keeps_all_sixteen_bits(self, channels: int) -> None:
        ramp = np.repeat(np.arange(65536, dtype=np.uint16).reshape(256, 256, 1), channels, axis=-1)
        measured = rc.measure(ramp)
        assert rc.apply(ramp, rc.plan(measured, measured)).tobytes() == ramp.tobytes()
        assert rc.match(ramp, ramp).tobytes() == ramp.tobytes()
        # not quite the identity, so that the loop itself has to carry every level
        nearly = rc.apply(ramp, affine(1.0, 1e-9, 65535.0, channels))
        assert len(np.unique(nearly)) == 65536

    @pytest.mark.parametrize("kind", ["uint8", "uint16"])
    @pytest.mark.parametrize("gain", [0.5, 0.25, 1.5, 0.1, 2.5])
    def test_half_to_even(self, kind: str, gain: float) -> None:
        top = int(np.iinfo(kind).max)
        ramp = np.repeat(np.arange(top + 1, dtype=kind).reshape(256, -1, 1), 3, axis=-1)
        expected = [min(round(gain * level + 0.5), top) for level in range(top + 1)]  # Python rounds half to even
        np.testing.assert_array_equal(rc.apply(ramp, affine(gain, 0.5, float(top)))[..., 1].ravel(), expected)

    @pytest.mark.parametrize("kind", ["uint8", "uint16"])
    def test_clips_at_both_ends(self, kind: str) -> None:
        top = int(np.iinfo(kind).max)
        ramp = np.repeat(np.arange(top + 1, dtype=kind).reshape(256, -1, 1), 3, axis=-1)
        result = rc.apply(ramp, affine(3.0, -float(top), float(top)))[..., 2].ravel()
        np.testing.assert_array_equal(result, np.clip(3 * np.arange(top + 1) - top, 0, top))

    def test_a_flat_channel_is_the_styles_mean(self) -> None:
        style = np.array([[10, 20], [30, 42]], np.uint8)
        for level in range(256):
            np.testing.assert_array_equal(rc.match(np.full((3, 5), level, np.uint8), style), round(25.5))

    @pytest.mark.parametrize("space", ["rgb", "yuv", "lab", "hsi", "lalphabeta"])
    @pytest.mark.parametrize("method", rc.MATCHERS)
    @pytest.mark.parametrize("kind", ["uint8", "uint16", *FLOATS])
    def test_style_is_content(self, kind: str, method: str, space: str) -> None:
        image = (CONTENT * {"uint8": 255, "uint16": 65535}.get(kind, 1)).astype(kind)
        assert rc.match(image, image, method, space).tobytes() == image.tobytes()


class TestFloats:
    @pytest.mark.parametrize("kind", FLOATS)
    def test_clip_and_no_clip(self, kind: str) -> None:
        image = CONTENT.astype(kind)
        plan = affine(5.0, -1.75, 1.0)
        free, held = rc.apply(image, plan, clip=False), rc.apply(image, plan)
        np.testing.assert_array_equal(free, (image.astype(np.float64) * 5 - 1.75).astype(kind))
        np.testing.assert_array_equal(held, np.clip(free, 0, 1))
        assert free.min() < 0
        assert free.max() > 1

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_match_without_clipping(self, method: str) -> None:
        wild = np.where(STYLE > 0.5, 1.0, 0.0)
        free = rc.match(CONTENT, wild, method, clip=False)
        np.testing.assert_array_equal(np.clip(free, 0, 1), rc.match(CONTENT, wild, method))

    @pytest.mark.parametrize("method", rc.MATCHERS)
    @pytest.mark.parametrize("kind", ["float32", "float64"])
    def test_undeclared_range(self, kind: str, method: str) -> None:
        content, style = ((image * 5000 - 2000).astype(kind) for image in (CONTENT, STYLE))
        result = rc.match(content, style, method, data_range=math.inf, style_range=math.inf)
        assert result.min() < 0
        assert result.max() > 1
        np.testing.assert_allclose(result.mean((0, 1)), style.mean((0, 1)), rtol=0.05, atol=20)

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_ranges_that_cannot_be_compared(self, method: str) -> None:
        with pytest.raises(rc.RecoloristError, match="data_range"):
            rc.match(CONTENT * 9 - 3, STYLE, method, data_range=math.inf)

    @pytest.mark.parametrize("space", [name for name in rc.SPACES if not rc.SPACES[name].is_linear])
    def test_spaces_need_white(self, space: str) -> None:
        for method in rc.MATCHERS:
            with pytest.raises(rc.RecoloristError, match="range"):
                rc.match(CONTENT, STYLE, method, space, data_range=math.inf, style_range=math.inf)
        plan = rc.plan(rc.measure(CONTENT, space=space), rc.measure(STYLE, space=space), space)
        with pytest.raises(rc.RecoloristError, match="range"):
            rc.apply(CONTENT, plan, data_range=math.inf)

    @pytest.mark.parametrize("kind", FLOATS)
    def test_negative_zero_is_zero_and_in_range(self, kind: str) -> None:
        image = CONTENT.astype(kind)
        image[0, 0] = -0.0
        assert rc.match(image, STYLE.astype(kind)).min() >= 0


def spoilt(kind: str, bad: float, where: tuple[int, int], channel: int = 1) -> NDArray[Any]:
    image = CONTENT.astype(kind)
    image[(*where, channel)] = bad
    return image


class TestNonFinite:
    @pytest.mark.parametrize("kind", FLOATS)
    @pytest.mark.parametrize("bad", BAD)
    def test_refused_by_default(self, kind: str, bad: float) -> None:
        image, style = spoilt(kind, bad, (3, 5)), STYLE.astype(kind)
        plan = rc.plan(rc.measure(CONTENT), rc.measure(STYLE))
        for call in (
            lambda: rc.measure(image),
            lambda: rc.apply(image, plan),
            lambda: rc.audit(image, plan),
            lambda: rc.audit(CONTENT.astype(kind), image),
            lambda: rc.match(style, image),
        ):
            with pytest.raises(ImageError, match="NaN or infinite"):
                call()

    @pytest.mark.parametrize("kind", FLOATS)
    @pytest.mark.parametrize("bad", BAD)
    @pytest.mark.parametrize("space", ["rgb", "yuv", "lab"])
    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_refused_by_every_method(self, kind: str, bad: float, method: str, space: str) -> None:
        for content, style in ((spoilt(kind, bad, (3, 5)), STYLE.astype(kind)), (STYLE.astype(kind), spoilt(kind, bad, (0, 7)))):
            with pytest.raises(ImageError, match="NaN or infinite"):
                rc.match(content, style, method, space)

    @pytest.mark.parametrize("bad", BAD)
    def test_every_position_masked(self, bad: float) -> None:
        for where in product(range(8), range(8)):
            image = spoilt("float64", bad, where)
            others = np.ones((8, 8), bool)
            others[where] = False
            assert rc.measure(image, on_nonfinite="mask") == rc.measure(CONTENT, others)
            result = rc.match(image, STYLE, on_nonfinite="mask")
            assert result[where].tobytes() == image[where].tobytes()
            expected = rc.match(CONTENT, STYLE, mask=others)
            assert result[others].tobytes() == expected[others].tobytes()

    @pytest.mark.parametrize("bad", BAD)
    @pytest.mark.parametrize("kind", FLOATS)
    @pytest.mark.parametrize("method", rc.MATCHERS)
    @pytest.mark.parametrize("space", ["rgb", "yiq", "lab", "hsi", "lalphabeta"])
    def test_every_method_keeps_the_pixel(self, kind: str, method: str, space: str, bad: float) -> None:
        image = spoilt(kind, bad, (2, 6))
        result = rc.match(image, STYLE.astype(kind), method, space, on_nonfinite="mask")
        assert result[2, 6].tobytes() == image[2, 6].tobytes()
        others = np.arange(64).reshape(8, 8) != 2 * 8 + 6
        assert np.isfinite(result[others]).all()
        assert not np.array_equal(result[others], image[others])

    @pytest.mark.parametrize("kind", FLOATS)
    def test_apply_and_audit_keep_it_too(self, kind: str) -> None:
        image = spoilt(kind, math.nan, (4, 4))
        plan = rc.plan(rc.measure(CONTENT), rc.measure(STYLE))
        result = rc.apply(image, plan, on_nonfinite="mask")
        assert result[4, 4].tobytes() == image[4, 4].tobytes()
        np.testing.assert_array_equal(result[:4], rc.apply(CONTENT.astype(kind), plan)[:4])
        assert math.isfinite(rc.audit(image, plan, on_nonfinite="mask").pearson_pooled)

    @pytest.mark.parametrize("kind", FLOATS)
    def test_nothing_left_is_refused(self, kind: str) -> None:
        image = CONTENT.astype(kind)
        image[..., 2] = math.nan
        for call in (
            lambda: rc.measure(image, on_nonfinite="mask"),
            lambda: rc.match(image, STYLE.astype(kind), on_nonfinite="mask"),
            lambda: rc.match(STYLE.astype(kind), image, "histogram", on_nonfinite="mask"),
        ):
            with pytest.raises(ImageError, match="nothing is left"):
                call()

    @pytest.mark.parametrize("method", rc.MATCHERS)
    @pytest.mark.parametrize("value", [math.nan, math.inf, 7.0])
    def test_outside_the_mask_is_looked_at_as_well(self, method: str, value: float) -> None:
        image, inside = spoilt("float64", value, (0, 0)), np.ones((8, 8), bool)
        inside[0, 0] = False
        with pytest.raises(ImageError, match=r"image|content"):
            rc.match(image, STYLE, method, mask=inside)

    def test_alpha_may_hold_anything(self) -> None:
        image = np.concatenate([CONTENT, np.full((8, 8, 1), math.nan)], axis=-1)
        result = rc.match(image, STYLE)
        np.testing.assert_array_equal(result[..., :3], rc.match(CONTENT, STYLE))
        assert np.isnan(result[..., 3]).all()


class TestRefused:
    @pytest.mark.parametrize("thing", [None, 5, "plan", np.eye(3), {"matrix": 1}, [None]], ids=lambda thing: type(thing).__name__)
    def test_only_plans(self, thing: Any) -> None:
        with pytest.raises(StatisticsError, match="plan"):
            rc.apply(CONTENT, thing)

    def test_sums_that_overflow(self) -> None:
        with pytest.raises(ImageError, match="overflow"):
            rc.measure(np.full((3, 4, 3), 1e308), data_range=math.inf)


class TestOutputArrays:
    """An output array must overlap neither an input nor itself: results would depend on the order of writing."""

    CONTENT, STYLE = np.random.default_rng(2).integers(0, 256, (2, 6, 5, 3), dtype=np.uint8)

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_the_style_is_not_written_to(self, method: str) -> None:
        style = self.STYLE.copy()
        with pytest.raises(ImageError, match="out overlaps"):
            rc.match(self.CONTENT, style, method, out=style)
        assert np.array_equal(style, self.STYLE)

    def test_masks_are_not_written_to(self) -> None:
        memory = np.ones((6, 5), np.uint8)
        grey = self.CONTENT[..., 0].copy()
        plan = rc.plan(rc.measure(grey), rc.measure(self.STYLE[..., 0]))
        with pytest.raises(ImageError, match="out overlaps"):
            rc.apply(grey, plan, out=memory, mask=memory)
        for name in ("mask", "style_mask"):
            with pytest.raises(ImageError, match="out overlaps"):
                rc.match(grey, self.STYLE[..., 0], out=memory, **{name: memory})  # type: ignore[arg-type]

    @pytest.mark.parametrize("strides", [(0, 3, 1), (15, 0, 1), (15, 3, 0), (3, 3, 1), (1, 1, 1)])
    def test_pixels_that_share_memory_are_refused(self, strides: tuple[int, ...]) -> None:
        out = np.lib.stride_tricks.as_strided(np.zeros(200, np.uint8), (6, 5, 3), strides)
        with pytest.raises(ImageError, match="share memory"):
            rc.match(self.CONTENT, self.STYLE, out=out)

    @pytest.mark.parametrize("view", ["transposed", "reversed", "wide"])
    def test_other_layouts_are_served(self, view: str) -> None:
        out = {
            "transposed": np.zeros((3, 6, 5), np.uint8).transpose(1, 2, 0),
            "reversed": np.zeros((6, 5, 3), np.uint8)[::-1, ::-1],
            "wide": np.zeros((6, 5, 4), np.uint8)[..., :3],
        }[view]
        rc.match(self.CONTENT, self.STYLE, out=out)
        assert np.array_equal(out, rc.match(self.CONTENT, self.STYLE))
