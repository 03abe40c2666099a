"""Random features for the tests of distances."""

from __future__ import annotations

import math

import numpy as np

from recolorist_lab.metrics.frechet import Features


def drawn(seed: int, rows: int, columns: int, shift: float = 0.0, scale: float = 1.0) -> Features:
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(columns, columns)) / math.sqrt(columns)
    return rng.normal(size=(rows, columns)) @ mixed * scale + shift
