"""The table of samplers: every one gives valid styles, and the public path holds all of them."""

from __future__ import annotations

import numpy as np
import pytest

import recolorist.samplers
from recolorist import StyleBank
from recolorist.augment import samplers
from recolorist.augment.samplers import SAMPLERS, Content
from recolorist.core.moments import Moments
from tests.augment.sampling import draws, make_bank


@pytest.fixture(scope="module")
def bank() -> StyleBank:
    return make_bank()


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_every_style_is_valid(bank: StyleBank, name: str) -> None:
    for style in draws(bank, name, Content(row=1), 300):
        goal = style.goal
        moments = goal if isinstance(goal, Moments) else goal.change(bank.moments(1), 1.0, "covariance").style
        assert isinstance(moments, Moments)
        assert np.linalg.eigvalsh(moments.cov).min() > 0
        assert (moments.mean >= 0).all()
        assert (moments.mean <= 1).all()
        assert (moments.std <= 0.5 + 1e-12).all()  # nothing in [0, 1] varies more
        np.testing.assert_array_equal(moments.cov, moments.cov.T)


def test_the_public_path_has_every_sampler_by_its_name() -> None:
    for name, sampler in SAMPLERS.items():
        assert getattr(recolorist.samplers, name) is getattr(samplers, name) is sampler
