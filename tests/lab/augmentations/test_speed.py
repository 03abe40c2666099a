"""The benchmark of the augmentations: the documented table is that of the stored figures."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.augmentations import DECODE, table
from recolorist_lab.augmentations import NAMES
from recolorist_lab.report.pages import tables_of

ROOT = Path(__file__).parents[3]


def test_the_page_has_the_newest_figures() -> None:
    newest = max((ROOT / "benchmarks" / "results" / "augmentations").glob("*.json"))
    record = json.loads(newest.read_text("utf-8"))
    medians = {name: one["median"] for name, one in record["microseconds"].items()}
    page = (ROOT / "docs" / "augmentations.md").read_text("utf-8")
    assert tables_of(page)["speed"] == "\n".join(table(medians)) + "\n"
    assert {f"{name}, always" for name in NAMES} | {DECODE} <= set(medians)
    assert record["rounds"] >= 7
