"""Colour changes beyond the bank: their size, what they are applied to, and the map that comes out."""

from __future__ import annotations

import numpy as np
import pytest

import recolorist as rc
from recolorist.errors import OptionError
from recolorist_lab.augmentations import build
from recolorist_lab.augmentations.beyond import StyleChange, _changed, photograph, symmetric_exponential
from recolorist_lab.augmentations.table import make_part
from recolorist_lab.data.pixels import Bytes
from tests.lab.augmentations.parts import images


def grey_ramp() -> Bytes:
    values = np.random.default_rng(3).integers(90, 160, (16, 12, 3))
    return values.astype(np.uint8)


def test_the_map_is_the_drawn_matrix() -> None:
    """A symmetric positive definite matrix is the only such map between the two covariances, so matching finds it again."""
    image = grey_ramp()
    matrix = symmetric_exponential(np.array([[0.2, 0.1, 0.0], [0.1, -0.1, 0.05], [0.0, 0.05, 0.1]]))
    step = np.array([0.05, -0.02, 0.0])
    own = rc.measure(image)
    wanted = (image - own.mean) @ matrix + own.mean + 255 * step
    assert np.abs(_changed(image, step, matrix) - wanted).max() <= 0.5 + 1e-6  # one rounding


def test_steps_have_the_size_of_the_bank_s_differences() -> None:
    bank = images().bank()
    change = StyleChange(make_part("style_change", {"scale": 2.0, "least": 0.0}), images(), 0)
    assert change.axes @ change.axes.T == pytest.approx(4 * np.cov(bank.mean, rowvar=False), abs=1e-12)
    assert change.gains == pytest.approx(2 * np.log(bank.std).std(axis=0))


def test_a_bank_of_equal_styles_still_gives_steps() -> None:
    change = StyleChange(make_part("style_change", {"scale": 0.0, "least": 0.1}), images(), 0)
    assert change.axes @ change.axes.T == pytest.approx(0.01 * np.eye(3))
    assert change.gains.tolist() == [0.1] * 3


def test_no_variance_is_larger_than_the_range_allows() -> None:
    dark = np.where(grey_ramp() > 150, 60, 2).astype(np.uint8)
    wild = build("style_change", images(), seed=7, options={"scale": 50.0, "p": 1.0})
    for epoch in range(20):
        result = wild(dark, index=0, epoch=epoch)
        assert result.dtype == np.uint8
        assert result.shape == dark.shape


def test_a_camera_without_deviations_changes_nothing() -> None:
    same = build("camera", images(), seed=1, options={"matrix": 0.0, "offset": 0.0, "gamma": 0.0, "p": 1.0})
    image = images().pixels(0)
    assert np.array_equal(same(image, index=0, epoch=0), image)


def test_a_camera_applies_gamma_matrix_and_offset() -> None:
    image = grey_ramp()
    matrix = np.array([[0.9, 0.1, 0.0], [0.05, 1.0, -0.05], [0.0, 0.2, 0.8]])
    offset = np.array([0.02, -0.01, 0.0])
    wanted = 255 * ((image / 255) ** 1.3 @ matrix.T + offset)
    assert np.abs(photograph(image, matrix, offset, 1.3) - np.clip(wanted, 0, 255)).max() <= 0.5 + 1e-3  # rounding, and float32


@pytest.mark.parametrize(("name", "options"), [("style_change", {"scale": -1.0}), ("camera", {"gamma": 2.0})])
def test_sizes_outside_the_limits_are_refused(name: str, options: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        build(name, images(), seed=1, options=options)
