"""A style relative to the image: the map it leads to, its limits, and the two ways in which an image is measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core.image import open_image
from recolorist.core.match import match_opened
from recolorist.core.moments import Moments
from recolorist.core.options import MatchOptions
from recolorist.core.style_change import StyleChange, resolve_style
from recolorist.core.sums import integer_pairs
from recolorist.errors import StatisticsError

MATRIX = ((1.2, 0.1, -0.05), (0.1, 0.9, 0.02), (-0.05, 0.02, 1.1))
CHANGE = StyleChange((0.05, -0.02, 0.01), (1.3, 0.8, 1.1), MATRIX)
NOTHING = StyleChange((0.0,) * 3, (1.0,) * 3, tuple(map(tuple, np.eye(3).tolist())))


def picture() -> NDArray[np.uint8]:
    return np.random.default_rng(3).integers(90, 160, (16, 12, 3)).astype(np.uint8)


def change_picture(image: NDArray[Any], change: StyleChange, **options: Any) -> NDArray[Any]:
    opened = open_image(image)
    target = np.empty_like(opened.array)
    match_opened(opened, None, change, target, MatchOptions(**options))
    return target


def test_with_covariance_the_map_is_the_matrix() -> None:
    """A symmetric positive definite matrix is the only such map between the two covariances, so matching finds it again."""
    image = picture()
    own = rc.measure(image)
    wanted = (image - own.mean) @ np.array(MATRIX) + own.mean + 255 * np.array(CHANGE.step)
    assert np.abs(change_picture(image, CHANGE, method="covariance") - wanted).max() <= 0.5 + 1e-6  # one rounding


def test_with_mean_and_deviation_each_channel_has_its_gain() -> None:
    image = picture()
    own = rc.measure(image)
    wanted = (image - own.mean) * CHANGE.gains + own.mean + 255 * np.array(CHANGE.step)
    assert np.abs(change_picture(image, CHANGE) - wanted).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("options", [{}, {"method": "covariance"}, {"space": "ycbcr"}, {"max_clip": 0.5}])
def test_no_change_leaves_the_image_as_it_is(options: dict[str, Any]) -> None:
    dark = picture() // 40  # its mean lies below the least that a changed mean may have
    assert rc.measure(dark).mean.max() < 0.02 * 255
    for image in (picture(), dark):
        assert np.array_equal(change_picture(image, NOTHING, **options), image)


def test_both_ways_of_measuring_give_the_same_bits() -> None:
    """Strips have the whole covariance of an image, the quick way through memory each channel alone."""
    image = picture()
    moments, pairs = rc.measure(image), integer_pairs(open_image(image), None, "image")
    by_channel = CHANGE.change(pairs, 255.0, "mean_std")
    in_full = CHANGE.change(moments, 255.0, "mean_std")
    assert isinstance(in_full.style, Moments)
    assert in_full.style.pairs == by_channel.style
    assert in_full.is_capped is by_channel.is_capped is False


@pytest.mark.parametrize(("step", "mean"), [(-0.9, 0.02), (0.9, 0.98)])
def test_a_mean_stays_inside_the_range(step: float, mean: float) -> None:
    changed = StyleChange((step,) * 3, (1.0,) * 3, NOTHING.matrix).change(rc.measure(picture()), 255.0, "covariance")
    assert isinstance(changed.style, Moments)
    assert changed.is_capped
    assert changed.style.mean.tolist() == [mean * 255.0] * 3


@pytest.mark.parametrize("method", ["mean_std", "covariance"])
def test_no_variance_is_larger_than_the_range_allows(method: str) -> None:
    """All of the covariance is reduced by one factor, so that the channels keep their relation."""
    far = StyleChange((-0.3, 0.0, 0.3), (9.0, 8.0, 7.0), tuple(map(tuple, np.diag([9.0, 8.0, 7.0]).tolist())))
    own = rc.measure(picture())
    changed = far.change(own, 255.0, method)
    assert isinstance(changed.style, Moments)
    assert changed.is_capped
    most = changed.style.mean * (255.0 - changed.style.mean)
    share = changed.style.cov.diagonal() / most
    assert share.max() == pytest.approx(1.0, rel=1e-12)
    relation = changed.style.cov / own.cov / np.multiply.outer([9.0, 8.0, 7.0], [9.0, 8.0, 7.0])
    assert relation == pytest.approx(np.full((3, 3), relation[0, 0]), rel=1e-9)


def test_a_change_of_one_channel_is_for_grey_images() -> None:
    grey = picture()[..., 0]
    own = rc.measure(grey)
    changed = change_picture(grey, StyleChange((0.1,), (0.5,), ((0.5,),)), method="covariance")
    wanted = (grey - own.mean) * 0.5 + own.mean + 25.5
    assert np.abs(changed[..., 0] - wanted).max() <= 0.5 + 1e-6


def test_other_images_are_refused_with_a_sentence() -> None:
    with pytest.raises(StatisticsError, match="1 channel"):
        CHANGE.change(rc.measure(picture()[..., 0]), 255.0, "mean_std")
    with pytest.raises(StatisticsError, match="declare data_range"):
        CHANGE.change([(0.5, 0.1)] * 3, math.inf, "mean_std")
    with pytest.raises(StatisticsError, match="use space='rgb'"):
        CHANGE.change(rc.measure(picture(), space="lab"), 255.0, "mean_std")
    with pytest.raises(StatisticsError, match="pass the image"):
        change_picture(picture(), CHANGE, method="histogram")


def test_a_style_with_moments_of_its_own_is_resolved_to_itself() -> None:
    moments = rc.measure(picture())
    assert resolve_style(moments, moments, 255.0, MatchOptions()) is moments
