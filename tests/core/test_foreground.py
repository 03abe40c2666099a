"""Foreground rules: tissue is not glass, retina is not its black surround, and too little of either is nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.core.foreground import LEAST, PIXELS, RULES, find_foreground, fundus, tissue
from recolorist.core.image import NATURAL_RANGE

BACKGROUND = {"tissue": 250, "fundus": 4}
STAIN = (150, 80, 160)


def picture(rule: str, inside: int, shape: tuple[int, int] = (20, 35)) -> NDArray[np.uint8]:
    """A picture of background whose first pixels are stained."""
    pixels = np.full((*shape, 3), BACKGROUND[rule], np.uint8)
    pixels.reshape(-1, 3)[:inside] = STAIN
    return pixels


@pytest.mark.parametrize("rule", RULES)
class TestRules:
    def test_the_stained_pixels_are_inside(self, rule: str) -> None:
        mask = RULES[rule](picture(rule, 200), 255.0)
        assert mask is not None
        assert (mask.shape, mask.dtype.name) == ((20, 35), "bool")
        assert np.array_equal(np.flatnonzero(mask), np.arange(200))

    @pytest.mark.parametrize("dtype", ["uint16", "float32", "float64"])
    def test_the_same_picture_in_another_type_has_the_same_mask(self, rule: str, dtype: str) -> None:
        pixels = picture(rule, 200)
        other: NDArray[Any] = pixels.astype(dtype) * 257 if dtype == "uint16" else (pixels / 255).astype(dtype)
        high = NATURAL_RANGE["H"] if dtype == "uint16" else 1.0
        mask, wanted = RULES[rule](other, high), RULES[rule](pixels, 255.0)
        assert mask is not None
        assert wanted is not None
        assert np.array_equal(mask, wanted)

    def test_less_than_a_hundredth_is_nothing(self, rule: str) -> None:
        enough = int(LEAST * 20 * 35)
        assert RULES[rule](picture(rule, enough), 255.0) is not None
        assert RULES[rule](picture(rule, enough - 1), 255.0) is None

    def test_one_channel_is_enough(self, rule: str) -> None:
        grey = picture(rule, 200)[..., :1]
        mask = RULES[rule](grey, 255.0)
        assert mask is not None
        assert mask.sum() == 200

    def test_pixels_judges_each_piece_without_counting(self, rule: str) -> None:
        pixels = picture(rule, 3)
        assert RULES[rule](pixels, 255.0) is None
        assert np.concatenate([PIXELS[rule](pixels[at : at + 7], 255.0) for at in range(0, 20, 7)]).sum() == 3

    def test_an_image_without_foreground_is_taken_whole_or_not_at_all(self, rule: str) -> None:
        blank = picture(rule, 0)
        assert find_foreground(RULES[rule], blank, 255.0, or_all=True) is None
        none = find_foreground(RULES[rule], blank, 255.0, or_all=False)
        assert none is not None
        assert (none.shape, none.any()) == ((20, 35), np.False_)

    def test_every_image_of_a_batch_has_its_own_mask(self, rule: str) -> None:
        batch = np.stack([picture(rule, 200), picture(rule, 0), picture(rule, 90)])
        for or_all, counts in ((True, [200, 700, 90]), (False, [200, 0, 90])):
            masks = find_foreground(RULES[rule], batch, 255.0, or_all=or_all)
            assert masks is not None
            assert masks.sum(axis=(1, 2)).tolist() == counts


def test_glass_is_what_no_channel_absorbs() -> None:
    pale = np.array([[[255, 219, 255], [255, 220, 255]]], np.uint8)  # 0.86 of 255 is 219.3
    mask = tissue(pale, 255.0)
    assert mask is not None
    assert mask.tolist() == [[True, False]]


def test_black_is_what_no_channel_lights() -> None:
    dark = np.array([[[0, 16, 0], [15, 15, 15]]], np.uint8)  # 0.06 of 255 is 15.3
    mask = fundus(dark, 255.0)
    assert mask is not None
    assert mask.tolist() == [[True, False]]
