"""The class of a tile is the shape of its nuclei, and its dyes do not give it away."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist_lab.data.morphology import MORPHOLOGIES, dyes


@pytest.mark.parametrize("name", MORPHOLOGIES)
def test_a_tile_is_drawn_from_its_generator_alone(name: str) -> None:
    first, second = (dyes(np.random.default_rng(4), MORPHOLOGIES[name], 24) for _ in range(2))
    assert np.array_equal(first, second)
    assert first.shape == (24, 24, 2)
    assert first.min() >= 0


def test_means_do_not_tell_the_class() -> None:
    """Coverage and dye are drawn before the class is looked at, so one generator gives all classes the same means."""
    means = [dyes(np.random.default_rng(9), kind, 64).mean(axis=(0, 1)) for kind in MORPHOLOGIES.values()]
    assert np.ptp(means, axis=0).max() < 0.02


def test_tiles_larger_than_the_ground() -> None:
    assert np.isfinite(dyes(np.random.default_rng(1), MORPHOLOGIES["oval"], 400)).all()
