"""Tiles and a bank of them, for the tests of banks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist import StyleBank

Images = NDArray[np.uint8]


@pytest.fixture
def tiles() -> Images:
    """Six small tiles of two hospitals, the second one brighter."""
    rng = np.random.default_rng(5)
    images = rng.integers(20, 180, (6, 13, 17, 3), dtype=np.uint8)
    images[3:] += 60
    return images


@pytest.fixture
def bank(tiles: Images) -> StyleBank:
    return StyleBank.build(tiles, labels=list("xyxyxy"), domains=["a"] * 3 + ["b"] * 3, name="demo", split="train")
