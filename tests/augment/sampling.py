"""The bank that the samplers are tested with, and many draws from it."""

from __future__ import annotations

import numpy as np

from recolorist import StyleBank
from recolorist.augment.samplers import SAMPLERS, Content, Style
from recolorist.augment.streams import stream

__all__ = ["DOMAINS", "LABELS", "draws", "make_bank"]

LABELS = ["x", "y", "x", "z", "y", "x", "x"]
DOMAINS = ["a", "a", "b", "b", "c", "c", "c"]


def make_bank() -> StyleBank:
    """Return a bank of seven images with the labels and domains above."""
    rng = np.random.default_rng(1)
    tiles = rng.integers(0, 200, (7, 11, 9, 3), dtype=np.uint8) + (np.arange(7) * 8)[:, None, None, None].astype(np.uint8)
    return StyleBank.build(tiles, labels=LABELS, domains=DOMAINS, split="train")


def draws(bank: StyleBank, name: str, content: Content, count: int = 600) -> list[Style]:
    """Return as many styles as are asked for."""
    return [SAMPLERS[name](bank, stream(3, 0, i), content) for i in range(count)]
