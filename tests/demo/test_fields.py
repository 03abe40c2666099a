"""Smooth random fields: widths, means and spreads are those asked for, and streams are apart."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.demo.fields import _STREAMS, along, cloud, smooth, step, stream


def test_smooth_is_the_gaussian() -> None:
    spike = np.zeros((41, 61))
    spike[20, 30] = 1.0
    y, x = np.mgrid[-20:21, -30:31]
    bell = np.exp(-(y**2 + x**2) / (2 * 2.5**2)) / (2 * np.pi * 2.5**2)
    assert np.abs(smooth(spike, 2.5) - bell).max() < 1e-5


def test_smooth_of_zero_width_changes_nothing() -> None:
    field = np.random.default_rng(1).random((5, 7))
    assert np.array_equal(smooth(field, 0.0), field)


@pytest.mark.parametrize("sigma", [0.8, 2.2, 9.0])
def test_cloud_has_mean_0_and_spread_1(sigma: float) -> None:
    values = cloud(np.random.default_rng(1), (300, 500), sigma)
    assert abs(values.mean()) < 0.15
    assert abs(values.std() - 1.0) < 0.12


def test_step_is_monotone_between_0_and_1() -> None:
    values = step(np.linspace(-5, 5, 99), 0.5, 0.7)
    assert (np.diff(values) > 0).all()
    assert 0.0 <= values[0] < 0.01
    assert 0.99 < values[-1] <= 1.0


def test_along_keeps_the_spread_across() -> None:
    noise = np.random.default_rng(1).standard_normal((80, 120))
    down = along(noise, (np.ones((80, 120)), np.zeros((80, 120))), 10)
    assert np.abs(np.diff(down, axis=0)).mean() < 0.5 * np.abs(np.diff(down, axis=1)).mean()


def test_no_two_parts_draw_alike() -> None:
    assert len({stream(1, part).random() for part in _STREAMS}) == len(_STREAMS)
