"""What a bank says of itself."""

import json

import numpy as np

from recolorist import StyleBank
from recolorist.bank.summary import find_outliers

TILES = np.random.default_rng(0).integers(0, 200, (4, 9, 8, 3), dtype=np.uint8)
GLASS = np.full((9, 8, 3), 243, np.uint8)


def test_the_making_is_part_of_the_summary() -> None:
    summary = StyleBank.build([*TILES, GLASS], masks="tissue", preprocessing="resize 8", split="train").summary()
    made = {name: summary[name] for name in ("mask", "blank", "blank_left_out", "preprocessing", "size", "styles")}
    expected = {"mask": "tissue", "blank": "left out", "blank_left_out": 1, "preprocessing": "resize 8", "size": (9, 8)}
    assert made == expected | {"styles": 4}
    assert json.dumps(summary)


def test_outliers_are_far_from_the_median() -> None:
    mean = np.full((9, 1), 0.5)
    mean[4] = 0.9
    assert find_outliers(mean, np.full((9, 1), 0.1)).tolist() == [4]
    assert find_outliers(mean, np.full((9, 1), 0.1), threshold=1000).tolist() == []
