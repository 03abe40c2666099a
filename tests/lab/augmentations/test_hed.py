"""Jitter of stains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.augmentations import build
from recolorist_lab.augmentations.hed import jitter_dyes
from tests.lab.augmentations.parts import images, picture


def test_dyes_are_separated_scaled_and_put_together() -> None:
    from skimage.color import hed2rgb, rgb2hed

    image = np.clip(picture(), 20, 235)
    factors, shifts = (1.1, 0.9, 1.05), (0.02, -0.03, 0.01)
    unit = -np.log(1e-6)  # scikit-image's densities are shares of that of a millionth of the light
    wanted = hed2rgb((rgb2hed(image) * factors) + np.array(shifts) / unit)
    # scikit-image takes negative amounts of a dye for none, so only pixels without them are comparable
    plain = ((rgb2hed(image) > 0) & (rgb2hed(image) * factors + np.array(shifts) / unit > 0)).all(axis=-1)
    assert plain.sum() > 20
    assert np.abs(jitter_dyes(image, factors, shifts)[plain] / 255 - wanted[plain]).max() < 0.6 / 255


def test_no_jitter_is_no_change() -> None:
    every = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    every[0, :3] = [[0, 0, 0], [255, 255, 255], [0, 255, 1]]
    assert np.array_equal(jitter_dyes(every, (1, 1, 1), (0, 0, 0)), every)


@pytest.mark.parametrize(
    "run", [lambda: build("hed_jitter(scale=2.0)", images(), seed=0), lambda: build("hed_jitter(p=-0.1)", images(), seed=0)]
)
def test_jitter_out_of_range_is_refused(run: Callable[[], Any]) -> None:
    with pytest.raises(OptionError):
        run()
