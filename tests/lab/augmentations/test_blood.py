"""The study of blood cells: its data, and its page, which must say what its numbers say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.report.pages import tables_of
from recolorist_lab.runs.study import load
from tools import blood_cells, blood_results

ROOT = Path(__file__).parents[3]
SEEDS = (71397589, 133560673, 265017005)


def manifest(count: int = 240) -> Manifest:
    kinds = (*blood_cells.CLASSES, "platelet")
    places = [(kind, domain) for domain in (blood_cells.SOURCE, blood_cells.TARGET) for kind in kinds]
    entries = [
        Entry("all", "train", domain, f"{domain}/{kind}/{number}.png", (kinds.index(kind),), None, kind)
        for kind, domain in places
        for number in range(count if domain == blood_cells.SOURCE else 7)
    ]
    return Manifest.of(entries, Facts("all", "All", "multiclass", kinds))


def test_the_source_is_split_alike_for_every_class_and_the_target_is_only_tested_on() -> None:
    entries = blood_cells.splits(manifest())
    counts = Counter((entry.domain, entry.split, entry.source_label) for entry in entries)
    for kind in blood_cells.CLASSES:
        own = {split: counts[blood_cells.SOURCE, split, kind] for split in ("train", "val", "id_val", "test")}
        assert own == {"train": 160, "val": 40, "id_val": 40, "test": 0}
        assert counts[blood_cells.TARGET, "test", kind] == 7
    assert len(entries) == 4 * 247
    assert {entry.source_label for entry in entries} == set(blood_cells.CLASSES)


def test_the_split_depends_on_nothing_but_the_names() -> None:
    assert blood_cells.splits(manifest()) == blood_cells.splits(manifest())
    ordered = [entry.split for entry in blood_cells.splits(manifest()) if entry.domain == blood_cells.SOURCE]
    assert len(set(ordered[:40])) == 3  # mixed, not the first forty


def test_the_study_holds_every_augmentation_and_algorithm_that_was_promised() -> None:
    cells = load(ROOT / "docs" / "results" / "blood.toml").cells
    seen = Counter((cell.config.algorithm, cell.config.augmentation) for cell in cells)
    assert set(seen.values()) == {3}
    assert {cell.config.seed for cell in cells} == set(SEEDS)
    assert {algorithm for algorithm, _ in seen} == {"plain", "erm", "sd", "rsc", "ib_erm", "selfreg"}
    assert all(cell.config.validation == "val" and cell.config.harmonise for cell in cells)


@pytest.fixture(scope="module")
def document() -> dict[str, object]:
    found: dict[str, object] = json.loads((ROOT / "docs" / "results" / "blood.json").read_text("utf-8"))
    return found


def test_the_page_says_what_the_numbers_say(document: dict[str, object]) -> None:
    page = (ROOT / "docs" / "results" / "blood.md").read_text("utf-8")
    assert tables_of(page) == blood_results.tables(document)


def test_every_run_of_the_study_is_in_the_results(document: dict[str, object]) -> None:
    rows = document["rows"]
    assert isinstance(rows, list)
    given = Counter((row["algorithm"], row["augmentation"], row["seed"]) for row in rows)
    cells = load(ROOT / "docs" / "results" / "blood.toml").cells
    assert given == Counter((cell.config.algorithm, cell.config.augmentation, cell.config.seed) for cell in cells)
    for row in rows:
        recalls = row["recall"]["target"].values()
        assert sum(recalls) / 4 == pytest.approx(row["balanced_accuracy"]["target"])
