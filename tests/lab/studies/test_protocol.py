"""The pairs that several studies share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.studies.properties.cell import Properties
from recolorist_lab.studies.protocol import open_pairs, refuse_odd_pairs

CONFIG = Properties(dataset="synthetic:hospitals=3,tiles=4,size=24", pairs=4, size=16, seed=3)


def test_pairs_are_two_images_of_one_size() -> None:
    pairs = list(open_pairs(CONFIG).stream())
    assert [pair.number for pair in pairs] == [0, 1, 2, 3]
    assert all(pair.content.image.shape == pair.style.image.shape == (16, 16, 3) for pair in pairs)
    assert all(pair.content.key != pair.style.key for pair in pairs)


def test_a_part_of_the_stream_is_that_part_of_the_whole() -> None:
    paired = open_pairs(CONFIG)
    (part,) = paired.stream(2, 3)
    whole = list(open_pairs(CONFIG).stream())
    assert np.array_equal(part.content.image, whole[2].content.image)
    assert len(list(paired.stream(3, 99))) == 1


def test_another_seed_draws_other_pairs() -> None:
    first, second = (open_pairs(replace(CONFIG, seed=seed)).pairs for seed in (3, 4))
    assert (first.content.tolist(), first.style.tolist()) != (second.content.tolist(), second.style.tolist())


@pytest.mark.parametrize("numbers", [(1, 0, 0), (2, -1, 0), (2, 0, -1)])
def test_what_no_study_can_use_is_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(OptionError, match="two pairs or more"):
        refuse_odd_pairs(*numbers)
