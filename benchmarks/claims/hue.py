"""How many images have a hue on both sides of the jump from 2π to 0, where its mean and deviation have no meaning.

Hues are those of LCH. An image counts if 5 % of its pixels or more lie within a quarter turn on each side: below π/2, above 3π/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.claims.images import Pixels, load_set, run
from recolorist.core.spaces import SPACES
from recolorist.demo import synthetic

__all__ = ["measure"]

NAMES: Final = ("acevedo20", "tecom", "DeepDRiD", "IDRiD", "BreakHis")
SIDE: Final = 224
LEAST: Final = 0.05
TILES: Final = 40


def measure(folder: Path) -> dict[str, Any]:
    """Return the counts of every set, and of synthetic tiles of every scanner."""
    rows = [_count(name, load_set(folder, name, SIDE).images) for name in NAMES]
    tiles = [np.asarray(synthetic.tile(seed, scanner, SIDE)) for scanner in synthetic.SCANNERS for seed in range(TILES)]
    return {"side": SIDE, "least": LEAST, "rows": [*rows, _count("synthetic", tiles)]}


def _count(name: str, images: Sequence[Pixels]) -> dict[str, Any]:
    return {"set": name, "images": len(images), "split": sum(map(_is_split, images))}


def _is_split(image: Pixels) -> bool:
    hue = SPACES["lch"].forward(image / 255.0)[..., 2]
    return bool(min((hue < np.pi / 2).mean(), (hue > 1.5 * np.pi).mean()) >= LEAST)


if __name__ == "__main__":
    run(measure, "hue")
