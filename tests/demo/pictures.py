"""What several tests of the demonstration need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist.demo.pairs import SIDE, Pair


def read(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def inside(pair: Pair) -> NDArray[np.bool_]:
    return np.ones((SIDE, SIDE), bool) if pair.case.mask is None else pair.case.mask
