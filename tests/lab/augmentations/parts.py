"""What the tests of augmentations share: a small training split of two hospitals, and every choice that must be keyed."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from recolorist_lab.augmentations import NAMES, Augmentation, TrainingImages, build
from recolorist_lab.data.pixels import Bytes
from recolorist_lab.data.synthetic import Recipe, make

CHAINS: Final = ("colorist+random_flip", "random_flip+color_jitter+colorist(p=0.5, space='ycbcr')", "targeted+targeted")
RANDOM: Final = tuple(name for name in NAMES if name not in ("none", "gray_scale"))
EVERY: Final = (*NAMES, *CHAINS)


@lru_cache(maxsize=1)
def images() -> TrainingImages:
    return TrainingImages(make(Recipe(hospitals=4, tiles=12, size=32)).samples("train"))


@lru_cache(maxsize=64)
def built(name: str, seed: int = 7) -> Augmentation:
    return build(name, images(), seed=seed)


def always(name: str, seed: int = 7) -> Augmentation:
    return build(name, images(), seed=seed, p=1.0)


def picture(side: int = 32, seed: int = 0) -> Bytes:
    """Values from black to white in all channels, smooth enough for blurs to act on."""
    rng = np.random.default_rng(seed)
    across = np.linspace(0, 255, side)
    base = np.stack([np.broadcast_to(across, (side, side)), np.broadcast_to(across[:, None], (side, side))], -1)
    third = rng.integers(0, 256, (side, side, 1))
    return np.concatenate([base, third], axis=-1).astype(np.uint8)
