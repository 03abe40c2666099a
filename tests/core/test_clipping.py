"""The exact share of values that a map clips, on every way to count it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist.core.clipping import clipped_share, to_unlimited_rgb
from recolorist.core.image import open_image
from recolorist.core.match import match_opened
from recolorist.core.options import MatchOptions
from recolorist.core.spaces import SPACES

RNG = np.random.default_rng(8)
CURVED = [name for name, space in SPACES.items() if not space.is_linear]
STYLE = rc.Moments(9, [0.5, 0.8, 0.1], np.diag([0.2, 0.1, 0.2]), 1.0)


def by_hand(image: Any, plan: rc.Plan, mask: Any, high: float) -> list[float]:
    pixels = image[mask] if mask is not None else image.reshape(-1, 3)
    values = pixels.astype(np.float64) @ plan.matrix.T + plan.offset
    values = np.rint(values) if image.dtype.kind == "u" else values
    return [float(share) for share in ((values < 0) | (values > high)).mean(axis=0)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("space", ["rgb", "yuv"])
@pytest.mark.parametrize(("dtype", "high"), [("uint8", 255.0), ("uint8", 200.0), ("uint16", 65535.0), ("uint16", 4095.0)])
def test_share_is_that_of_the_formula(dtype: str, high: float, space: str, masked: bool) -> None:
    image = RNG.integers(0, int(high) + 1, (7, 5, 3)).astype(dtype)
    mask = RNG.random((7, 5)) < 0.6 if masked else None
    opened = open_image(image, high)
    done = match_opened(opened, mask, STYLE, np.empty_like(image), MatchOptions(space=space, apply_to="mask"))
    assert done is not None
    assert done.clipped_share() == pytest.approx(by_hand(image, done.plan(), mask, high), abs=1e-12)
    assert clipped_share(opened, done.plan(), mask) == done.clipped_share()
    assert sum(done.clipped_share()) > 0
    assert done.to_json() == done.plan().to_json()


def test_a_range_that_is_not_declared_clips_nothing() -> None:
    image = RNG.normal(0, 5, (6, 7, 3)).astype(np.float32)
    goal = rc.Moments(9, [0.0] * 3, np.eye(3) * 4.0, float("inf"))
    plan = rc.plan(rc.measure(image, data_range=float("inf")), goal)
    assert clipped_share(open_image(image, float("inf")), plan, None) == [0.0, 0.0, 0.0]
    assert rc.audit(image, plan, data_range=float("inf")).predicted_clipped.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", CURVED)
def test_inside_the_gamut_it_is_the_inverse(name: str) -> None:
    rgb = np.random.default_rng(0).uniform(0.05, 0.95, (5, 40, 3))
    values = SPACES[name].forward(rgb)
    assert np.abs(to_unlimited_rgb(name, values) - SPACES[name].inverse(values)).max() < 1e-6


@pytest.mark.parametrize("name", CURVED)
def test_what_a_limit_changes_is_beyond_the_range(name: str) -> None:
    space = SPACES[name]
    values = space.forward(np.random.default_rng(1).uniform(0.0, 1.0, (5, 40, 3)))
    centre = values.mean(axis=(0, 1))
    free = to_unlimited_rgb(name, centre + 2.5 * (values - centre))
    written = np.clip(space.inverse(centre + 2.5 * (values - centre)), 0.0, 1.0)
    outside = (free < -0.01) | (free > 1.01)
    assert 0.02 < outside.mean() < 0.98  # the map was chosen to leave the gamut
    free[np.isinf(free)] = 9.0
    limited = np.abs(free - written) > 0.01
    assert limited[outside].all()
    if name in ("lalphabeta", "hed"):  # these have no limits but those of RGB
        assert not limited[~outside].any()


@pytest.mark.parametrize(("space", "value", "wanted"), [("hsv", 0.4, [0.4, -0.2, -0.2]), ("hsi", 0.2, [0.8, -0.1, -0.1])])
def test_saturation_beyond_one_goes_on_in_a_straight_line(space: str, value: float, wanted: list[float]) -> None:
    np.testing.assert_allclose(to_unlimited_rgb(space, np.array([0.0, 1.5, value])), wanted, atol=1e-12)


def test_negative_chroma_is_that_of_the_opposite_hue() -> None:
    lab = SPACES["lab"].inverse(np.array([[50.0, -20.0, 0.0]]))
    np.testing.assert_allclose(to_unlimited_rgb("lch", np.array([[50.0, -20.0, 0.0]])), lab, atol=1e-12)


def test_a_lightness_below_black_is_below_zero() -> None:
    assert (to_unlimited_rgb("luv", np.array([[-5.0, 0.0, 0.0]])) < 0).all()
