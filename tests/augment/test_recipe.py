"""`Colorist.recommended` is the training part of docs/recipe.md."""

from __future__ import annotations

import numpy as np

from recolorist import Colorist, StyleBank
from recolorist.augment.recipe import RECOMMENDED


def test_it_is_the_recipe_s_setting_and_options_go_before_it() -> None:
    tiles = np.random.default_rng(2).integers(0, 256, (5, 16, 16, 3), dtype=np.uint8)
    bank = StyleBank.build(tiles, split="train")
    aug = Colorist.recommended(bank, seed=1)
    assert {name: value for name, value in RECOMMENDED.items() if f"{name}={value!r}" not in repr(aug)} == {}
    assert Colorist.recommended(bank, p=1.0).p == 1.0
    plain = Colorist(bank, seed=1, **RECOMMENDED)
    for key in "abcdef":
        np.testing.assert_array_equal(aug(tiles[0], key=key), plain(tiles[0], key=key))
