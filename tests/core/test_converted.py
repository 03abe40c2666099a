"""Images in spaces that are not linear: whatever their memory looks like, they are measured and mapped alike."""

from __future__ import annotations

import numpy as np
import pytest

import recolorist as rc
from tests.strategies import build


@pytest.mark.parametrize("layout", ["mask", "strided", "swapped", "float16", "alpha"])
def test_awkward_memory_is_measured_and_mapped_alike(layout: str) -> None:
    image = build("uniform", (41, 37, 3), "float32", 5).astype(np.float16).astype(np.float32)
    mask = np.ones(image.shape[:2], bool)
    awkward = {
        "mask": image,
        "strided": np.ascontiguousarray(np.moveaxis(image, -1, 0)).transpose(1, 2, 0),
        "swapped": image.astype(">f4"),
        "float16": image.astype(np.float16),
        "alpha": np.concatenate([image, image[..., :1]], axis=-1),
    }[layout]
    plain = rc.measure(image, space="lab")
    assert rc.measure(awkward, mask if layout == "mask" else None, space="lab") == plain
    decided = rc.plan(plain, rc.Moments(9, [60.0, 5.0, 3.0], np.diag([300.0, 50.0, 60.0]), 1.0, "lab"), "lab")
    half = layout == "float16"  # which is widened to float64 and rounded once
    wanted = rc.apply(image.astype(np.float64), decided).astype(np.float16) if half else rc.apply(image, decided)
    assert np.array_equal(rc.apply(awkward, decided)[..., :3], wanted)
