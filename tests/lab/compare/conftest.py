"""Small hospitals for comparisons, and results with known numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recolorist_lab.compare.plan import Training
from recolorist_lab.compare.results import Comparison, Floats, MethodResult, title_of
from recolorist_lab.report.paired import difference


def tile(seed: int, label: int, tint: int) -> Image.Image:
    """A flat tile with stripes in one class, in a hospital's colour."""
    pixels = np.random.default_rng(seed).integers(90, 130, (20, 20, 3), dtype=np.uint8)
    if label:
        pixels[::4] //= 2
    pixels[..., tint % 3] += np.uint8(100)
    return Image.fromarray(pixels)


def lay_out(folder: Path) -> Path:
    """Write three hospitals with two classes of eight images each, as hospital/class/patient_image.png."""
    for number in range(48):
        hospital, label = number % 3, number // 3 % 2
        path = folder / "images" / "abc"[hospital] / ("healthy", "ill")[label] / f"p{number // 12}_{number:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        tile(number, label, hospital).save(path)
    return folder / "images"


@pytest.fixture
def hospitals(tmp_path: Path) -> Path:
    return lay_out(tmp_path)


def made(scores: dict[str, Floats], *, known: float = 0.9, is_one_hospital: bool = False) -> Comparison:
    """A comparison with the scores given, by method; the first is the baseline."""
    base = next(iter(scores.values()))
    methods = tuple(
        MethodResult(
            name, title_of(name), each, each + 0.01, np.full_like(each, known),
            None if name == "none" else difference(each - base), difference(each + 0.01 - base),
        )
        for name, each in scores.items()
    )  # fmt: skip
    targets = tuple(f"split {n + 1}" if is_one_hospital else f"hospital {n}" for n in range(len(base)))
    training = Training(tuple(name for name in scores if name != "none"))
    return Comparison(targets, ("healthy", "ill"), dict.fromkeys(targets, 100), methods, training, base.shape[1], is_one_hospital)
