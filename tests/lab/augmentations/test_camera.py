"""A random camera: gamma, matrix and offset."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.augmentations import build
from recolorist_lab.augmentations.camera import photograph
from recolorist_lab.data.pixels import Bytes
from tests.lab.augmentations.parts import images


def grey_ramp() -> Bytes:
    values = np.random.default_rng(3).integers(90, 160, (16, 12, 3))
    return values.astype(np.uint8)


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


def test_sizes_outside_the_limits_are_refused() -> None:
    with pytest.raises(OptionError, match="gamma"):
        build("camera", images(), seed=1, options={"gamma": 2.0})
