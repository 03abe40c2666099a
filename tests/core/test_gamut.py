"""Colours before they are limited: equal to the conversions where nothing is limited, beyond the range where something is."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.core.gamut import to_unlimited_rgb
from recolorist.core.spaces import SPACES

CURVED = [name for name, space in SPACES.items() if not space.is_linear]


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
