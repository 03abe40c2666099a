"""Corrupted images for the tests of corruptions."""

from __future__ import annotations

import numpy as np

from recolorist_lab.augmentations.corruptions import CORRUPTIONS
from recolorist_lab.data.pixels import Bytes
from tests.lab.augmentations.parts import picture


def corrupted(name: str, *strength: float, image: Bytes | None = None, seed: int = 0, scale: float = 1.0) -> Bytes:
    return CORRUPTIONS[name](picture(64) if image is None else image, strength, np.random.default_rng(seed), scale)


def flat(level: int, side: int = 224) -> Bytes:
    return np.full((side, side, 3), level, np.uint8)
