"""The benchmark of a training step: every form has its line, and what was committed is whole."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import training_step as bench
from benchmarks.loader_report import stamp

RESULTS = Path(bench.__file__).parent / "results" / "training_step"


def test_every_form_has_its_line() -> None:
    asked = Namespace(batch=2, size=16, rounds=1)
    rows = bench.steps("test_resnet", asked, is_compiled=False)
    assert [(row["memory_format"], row["compiled"]) for row in rows] == [("contiguous", False), ("channels_last", False)]
    assert all(row["image_ms"][1] > 0 for row in rows)
    facts = {"command": bench.COMMAND, "cores": 1, "threads": 1, "device": "cpu", **vars(asked), "steps": rows}
    page = bench.markdown({**stamp(), **facts})
    assert page.count("| test_resnet |") == 2
    assert "| 1.00 |" in page.splitlines()[-2]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_committed_pages_are_those_of_their_data(path: Path) -> None:
    result = json.loads(path.read_text("utf-8"))
    assert path.with_suffix(".md").read_text("utf-8") == bench.markdown(result)


def test_the_page_has_the_newest_numbers() -> None:
    path = max(RESULTS.glob("*.json"))
    result = json.loads(path.read_text("utf-8"))
    page = (RESULTS.parents[2] / "docs" / "training.md").read_text("utf-8")
    assert str(path.relative_to(RESULTS.parents[2])) in page
    for model, title in (("resnet18", "ResNet-18"), ("densenet121", "DenseNet-121")):
        rows = [row for row in result["steps"] if row["model"] == model]
        plain, last, compiled = (row["image_ms"][1] for row in rows)
        shares = f"{last:.1f} ({last / plain:.2f}) | {compiled:.1f} ({compiled / plain:.2f})"
        assert f"| {title} | {plain:.1f} | {shares} | {rows[2]['first_s']:.1f} s |" in page
