"""The tables of the page on colour spaces that the report does not have."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist_lab.studies.spaces import page
from recolorist_lab.studies.spaces.table import AlgebraError, SpaceScores
from tests.lab.studies.spaces.kit import row

COST: dict[str, Any] = {
    "grid": "cost",
    **{f"result.ms.rgb.mean_std.{name}": 0.05 for name in ("median", "low", "high")},
    **{f"result.ms.lab.mean_std.{name}": 1.0 for name in ("median", "low", "high")},
}


def test_costs_are_ratios_to_rgb() -> None:
    assert page.cost([COST])["lab"]["mean_std"]["median"] == 1.0
    lines = page.cost_table([COST]).texts()
    assert [(line[0], line[1], line[4]) for line in lines] == [("CIELAB", "not linear", "20.0"), ("RGB", "linear", "1.0")]


def test_the_parts_of_the_time_add_up() -> None:
    parts = {"result.time.parts.lpips": 3.0, "result.time.parts.ssim": 1.0}
    times = {"result.time.whole": 10.0, "result.time.transform": 0.5, "result.time.audit": 0.25, "result.time.images": 2.0}
    lines = {line[0].strip("*"): line[1] for line in page.speed([{"grid": "speed", **parts, **times}]).texts()}
    assert lines["networks together"] == "3.000"
    assert lines["outside the networks"] == "7.000"
    assert lines["whole"] == "10.000"


def test_details_are_means_over_seeds_with_their_deviation() -> None:
    more: dict[str, Any] = {"kid": 0.01, "ssim_luminance": 0.9, "gradient_similarity": 0.8, "clipped": 0.02}
    rows = [row("d", "rgb", seed=seed, fid=20.0 + seed, **more) for seed in (0, 2)]
    (line,) = page.detail(SpaceScores.of(rows), "d").texts()
    assert line[6] == "21.0 ± 1.4"
    assert line[-1].startswith("2.00")


def test_a_family_whose_algebra_does_not_hold_is_refused() -> None:
    rows = [{**row("d", space, ssim=ssim), "grid": "all-1"} for space, ssim in (("ycbcr", 0.9), ("yuv", 0.8))]
    with pytest.raises(AlgebraError, match="ssim"):
        page.scores_of(rows, "all")
    assert not page.scores_of(rows, "more").cells
