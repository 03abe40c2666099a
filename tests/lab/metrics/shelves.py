"""What processes that share a cache do; without torch, so that they start quickly."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recolorist_lab.metrics import FeatureCache
from recolorist_lab.metrics.cache import Row


def write_often(folder: Path, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(6, 16)).astype(np.float32)
    for number, row in enumerate(rows):
        shelf = FeatureCache(folder).shelf("net", "set")
        shelf.add([f"{seed}-{number}"], row[None])
        shelf.save()


def expected(name: str) -> Row:
    seed, number = map(int, name.split("-"))
    row: Row = np.random.default_rng(seed).normal(size=(6, 16)).astype(np.float32)[number]
    return row
