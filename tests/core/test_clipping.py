"""The exact share of values that a map clips, on every way to count it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist.core.clipping import clipped_share
from recolorist.core.image import open_image
from recolorist.core.match import match_opened
from recolorist.core.options import MatchOptions

RNG = np.random.default_rng(8)
STYLE = rc.Moments(9, [0.5, 0.8, 0.1], np.diag([0.2, 0.1, 0.2]), 1.0)


def by_hand(image: Any, plan: rc.Plan, mask: Any, high: float) -> list[float]:
    pixels = image[mask] if mask is not None else image.reshape(-1, 3)
    values = pixels.astype(np.float64) @ plan.matrix.T + plan.offset
    values = np.rint(values) if image.dtype.kind == "u" else values
    return [float(share) for share in ((values < 0) | (values > high)).mean(axis=0)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("space", ["rgb", "yuv"])
@pytest.mark.parametrize(("dtype", "high"), [("uint8", 255.0), ("uint8", 200.0), ("uint16", 65535.0), ("uint16", 4095.0)])
def test_share_is_that_of_the_formula(dtype: str, high: float, space: str, masked: bool) -> None:
    image = RNG.integers(0, int(high) + 1, (7, 5, 3)).astype(dtype)
    mask = RNG.random((7, 5)) < 0.6 if masked else None
    opened = open_image(image, high)
    done = match_opened(opened, mask, STYLE, np.empty_like(image), MatchOptions(space=space, apply_to="mask"))
    assert done is not None
    assert done.clipped_share() == pytest.approx(by_hand(image, done.plan(), mask, high), abs=1e-12)
    assert clipped_share(opened, done.plan(), mask) == done.clipped_share()
    assert sum(done.clipped_share()) > 0
    assert done.to_json() == done.plan().to_json()


def test_a_range_that_is_not_declared_clips_nothing() -> None:
    image = RNG.normal(0, 5, (6, 7, 3)).astype(np.float32)
    goal = rc.Moments(9, [0.0] * 3, np.eye(3) * 4.0, float("inf"))
    plan = rc.plan(rc.measure(image, data_range=float("inf")), goal)
    assert clipped_share(open_image(image, float("inf")), plan, None) == [0.0, 0.0, 0.0]
    assert rc.audit(image, plan, data_range=float("inf")).predicted_clipped.tolist() == [0.0, 0.0, 0.0]
