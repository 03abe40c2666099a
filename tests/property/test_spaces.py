"""The promises about numbers once more, in every colour space: identity, layout, routes, statistics, equal loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recolorist as rc
from recolorist.core import kernels
from recolorist.core.plan import AffineMethod
from tests.full import full
from tests.strategies import DTYPES, PATTERNS, Image, build, pairs

SPACES = tuple(rc.SPACES)
SHAPE = (13, 29, 3)


def match(content: Image, style: Image, space: str, method: str = "mean_std", strength: float = 1.0) -> Image:
    return np.asarray(rc.match(content, style, method, space, strength=strength, alpha=False))


@pytest.mark.usefixtures("kernel")
class TestEverySpace:
    @pytest.mark.parametrize("method", rc.MATCHERS)
    @pytest.mark.parametrize("space", SPACES)
    @settings(max_examples=full(5, 60))
    @given(data=st.data())
    def test_output_is_an_image_and_the_input_stays(self, space: str, method: str, data: st.DataObject) -> None:
        content, style = data.draw(pairs(data.draw(st.sampled_from(DTYPES)), channels=3))
        before = content.tobytes()
        out = match(content, style, space, method)
        assert (out.shape, out.dtype) == (content.shape, content.dtype)
        assert np.isfinite(out).all()
        assert content.dtype.kind == "u" or (out.min() >= 0 and out.max() <= 1)
        assert content.tobytes() == before

    @pytest.mark.parametrize("method", rc.MATCHERS)
    @pytest.mark.parametrize("space", SPACES)
    @settings(max_examples=full(5, 60))
    @given(data=st.data())
    def test_matched_to_itself_and_at_strength_zero_it_stays(self, space: str, method: str, data: st.DataObject) -> None:
        content, style = data.draw(pairs(data.draw(st.sampled_from(DTYPES)), channels=3))
        assert match(content, content, space, method).tobytes() == content.tobytes()
        assert match(content, style, space, method, strength=0.0).tobytes() == content.tobytes()

    @pytest.mark.parametrize("method", ["histogram", "exact_histogram"])
    @pytest.mark.parametrize("space", SPACES)
    @settings(max_examples=full(5, 60))
    @given(data=st.data())
    def test_ranks_do_not_depend_on_the_layout(self, space: str, method: str, data: st.DataObject) -> None:
        content, style = data.draw(pairs(data.draw(st.sampled_from(DTYPES)), channels=3))
        other = np.empty((content.shape[0] * 2, *content.shape[1:]), content.dtype)[::2]
        other[...] = content
        out = match(content, style, space, method)
        assert match(other, style, space, method).tobytes() == out.tobytes()
        assert match(content, np.asfortranarray(style), space, method).tobytes() == out.tobytes()

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    @pytest.mark.parametrize("space", SPACES)
    @settings(max_examples=full(5, 60))
    @given(data=st.data())
    def test_every_route_and_layout_gives_the_same_bytes(self, space: str, method: AffineMethod, data: st.DataObject) -> None:
        content, style = data.draw(pairs(data.draw(st.sampled_from(DTYPES)), channels=3))
        out, measured = match(content, style, space, method), "rgb" if rc.SPACES[space].is_linear else space
        own, goal = (rc.measure(image, space=measured, alpha=False) for image in (content, style))
        planned = rc.plan(own, goal, space, method=method)
        assert rc.apply(content, planned, alpha=False).tobytes() == out.tobytes()
        other = np.empty((content.shape[0] * 2, *content.shape[1:]), content.dtype)[::2]
        other[...] = content
        assert match(other, style, space, method).tobytes() == out.tobytes()

    @pytest.mark.parametrize("method", ["mean_std", "covariance", "histogram"])  # exact_histogram tells equal pixels apart
    @pytest.mark.parametrize("space", SPACES)
    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_equal_pixels_stay_equal(self, space: str, dtype: str, method: str) -> None:
        content = build("uniform", SHAPE, dtype, 5)
        content[7:] = content[:6]
        out = match(content, build("narrow", SHAPE, dtype, 6), space, method)
        assert out[7:].tobytes() == out[:6].tobytes()

    @pytest.mark.parametrize("space", SPACES)
    def test_the_style_is_reached_where_nothing_is_clipped(self, space: str) -> None:
        # greys and hues that wrap have no mean to reach, and stains below zero are held: a patch with none of these
        base, rng = np.array([0.55, 0.4, 0.35] if space == "hed" else [0.4, 0.35, 0.55]), np.random.default_rng(8)
        content, style = (np.clip(base + offset + 0.02 * rng.standard_normal(SHAPE), 0, 1) for offset in (0.0, 0.02))
        out = rc.match(content, style, space=space)
        goal, got = (rc.SPACES[space].forward(image).reshape(-1, 3) for image in (style, out))
        np.testing.assert_allclose(got.mean(axis=0), goal.mean(axis=0), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(got.std(axis=0), goal.std(axis=0), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("method", rc.MATCHERS)
@pytest.mark.parametrize("space", SPACES)
def test_both_loops_give_the_same_bytes(space: str, method: str) -> None:
    if kernels._compiled is None:
        pytest.skip("the compiled loops were not built here")
    for seed, dtype in enumerate(DTYPES):
        for pattern in PATTERNS if full(0, 1) else PATTERNS[seed::4]:
            content, style = build(pattern, SHAPE, dtype, seed), build("skewed", (9, 14, 3), dtype, seed + 9)
            outputs = []
            for name in ("c", "numpy"):
                with kernels.using(name):
                    outputs.append(match(content, style, space, method).tobytes())
            assert outputs[0] == outputs[1], (dtype, pattern)
