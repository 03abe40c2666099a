"""Tables of measurements on the pages: every line is made from the figures that are committed."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks.claims.pages import PAGES, lines_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", PAGES)
def test_every_line_of_a_result_stands_on_its_page(name: str) -> None:
    lines = lines_of(name)
    if lines is None:
        pytest.skip(f"benchmarks/results/claims/{name}.json was not measured")
    page = (ROOT / PAGES[name][0]).read_text(encoding="utf-8")
    assert lines
    assert [line for line in lines if line not in page] == []


def test_what_seeds_and_images_can_tell_on_the_page_of_blood_cells() -> None:
    """The standard error by the number of images, from the recalls, and the largest difference between seeds."""
    cells = {"neutrophil": 176, "lymphocyte": 53, "monocyte": 48, "eosinophil": 22}  # of the target, 299 images
    rows = json.loads((ROOT / "docs/results/blood.json").read_text(encoding="utf-8"))["rows"]
    errors, seeds = [], defaultdict(list)
    for row in rows:
        recall = row["recall"]["target"]
        errors.append(25 * math.sqrt(sum(recall[name] * (1 - recall[name]) / count for name, count in cells.items())))
        seeds[row["algorithm"], row["augmentation"]].append(100 * row["balanced_accuracy"]["target"])
    apart = max(max(values) - min(values) for values in seeds.values())
    page = " ".join((ROOT / "docs/results/blood.md").read_text(encoding="utf-8").split())
    assert f"is {min(errors):.1f} to {max(errors):.1f} points by the number of images alone" in page
    assert f"seeds of one method differ by up to {apart:.1f}." in page
