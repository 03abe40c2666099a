"""The pairs of the transfer protocol."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.data.pairs import COUNT, draw_pairs


@pytest.mark.parametrize("images", [2, 3, 208, 799, 800, 5000])
def test_no_image_is_paired_with_itself_and_none_comes_too_often(images: int) -> None:
    pairs = draw_pairs(images, seed=3)
    assert len(pairs) == COUNT
    assert (pairs.content != pairs.style).all()
    assert pairs.repeats is (images < COUNT)
    passes = -(-COUNT // images)
    assert max(Counter(pairs.content.tolist()).values()) <= passes


def test_seeds() -> None:
    assert np.array_equal(draw_pairs(50, 1).style, draw_pairs(50, 1).style)
    assert not np.array_equal(draw_pairs(50, 1).style, draw_pairs(50, 2).style)


def test_a_single_image_is_its_own_style() -> None:
    assert draw_pairs(1, 0, 3).style.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("images", "count"), [(0, 5), (5, 0)])
def test_nothing_to_draw(images: int, count: int) -> None:
    with pytest.raises(OptionError, match="both must be at least 1"):
        draw_pairs(images, 0, count)
