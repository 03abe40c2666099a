"""The rare distortions of SGViTs' training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recolorist_lab.augmentations.corruptions import CORRUPTIONS
from recolorist_lab.baselines.networks import sgvits_distortions as distortions
from recolorist_lab.baselines.networks.sgvits_distortions import GROUPS, distort
from recolorist_lab.data.pixels import Bytes
from tests.commands import picture

IMAGE = picture(1, (24, 24))


def test_one_seed_gives_one_image_and_the_input_is_left_alone() -> None:
    before = IMAGE.copy()
    for seed in range(12):
        first, second = (distort(IMAGE, np.random.default_rng(seed)) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert (first.shape, first.dtype) == (IMAGE.shape, IMAGE.dtype)
    np.testing.assert_array_equal(IMAGE, before)


def test_about_four_images_in_ten_stay_as_they_are() -> None:
    same = sum(np.array_equal(distort(IMAGE, np.random.default_rng(seed)), IMAGE) for seed in range(300))
    assert same / 300 == pytest.approx(0.9**9, abs=0.1)  # nine independent chances


def test_as_many_numbers_are_drawn_whatever_is_applied() -> None:
    states = set()
    for image in (IMAGE, picture(2, (40, 24))):
        random = np.random.default_rng(5)
        distort(image, random)
        states.add(int(random.integers(2**40)))
    assert len(states) == 1


@pytest.mark.parametrize("apply", distortions._GEOMETRY, ids=lambda apply: apply.__name__)
def test_each_distortion_moves_pixels_and_keeps_their_range(apply: Callable[..., Bytes]) -> None:
    moved = apply(IMAGE, np.random.default_rng(3))
    assert moved.shape == IMAGE.shape
    assert not np.array_equal(moved, IMAGE)
    assert int(moved.min()) >= int(IMAGE.min()) - 1
    assert int(moved.max()) <= int(IMAGE.max()) + 1


def test_there_are_five_groups_of_known_members() -> None:
    assert list(GROUPS) == ["blur", "noise", "quality", "colour", "brightness"]
    for members in GROUPS.values():
        for name, strength in members.items():
            changed = CORRUPTIONS[name](picture(1, (224, 224)), strength, np.random.default_rng(0), 1.0)
            assert not np.array_equal(changed, picture(1, (224, 224))), name
