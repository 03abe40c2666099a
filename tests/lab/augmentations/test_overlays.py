"""What lies over an image: lens, drops, bubbles and words."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lab.augmentations.corrupted import corrupted, flat


def test_the_lens_is_round() -> None:
    result = corrupted("black_corner", 1.0, image=flat(255))
    assert result[112, 112, 0] == 255
    assert result[2, 2, 0] == 0
    assert np.mean(result > 0) == pytest.approx(np.pi / 4, rel=0.01)


def test_drops_are_black_and_about_as_large_as_they_should_be() -> None:
    sizes = [np.count_nonzero(corrupted("stain_deposit", 1, image=flat(200), seed=seed)[..., 0] == 0) for seed in range(100)]
    assert 250 < np.mean(sizes) < 450  # of 24 × 24 = 576; the package's ten masks have 276 to 447
    assert set(np.unique(corrupted("stain_deposit", 3, image=flat(200)))) == {0, 200}


def test_bubbles_are_as_white_as_the_packages() -> None:
    assert set(np.unique(corrupted("bubble", 15, 12, image=flat(100)))) == {100, 161, 179}


def test_words_are_small_and_of_one_colour_each() -> None:
    result = corrupted("characters", 1, 6, 0.18, image=flat(200))
    changed = (result != 200).any(axis=-1)
    assert 0 < changed.mean() < 0.02
