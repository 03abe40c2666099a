"""What the report shows of classification."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from recolorist_lab.data.named import ABSENT
from recolorist_lab.report.sections import Section
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.classify.report import show
from tests.lab.studies.classify.kit import row, swept

CELL: Any = SimpleNamespace(config=SimpleNamespace(root=""), data=ABSENT)


def shown(rows: Sequence[dict[str, Any]], folder: Path) -> Section:
    section = Section("classify", "Classification")
    show(section, [(CELL, row) for row in rows], Ledger(folder / "ledger"))
    return section


def test_datasets_of_the_paper_get_its_tables(tmp_path: Path) -> None:
    section = shown([row("none", "ddi", 0, 0.5), row("colorist", "ddi", 0, 0.6)], tmp_path)
    assert list(section.tables) == ["main", "datasets", "data"]
    assert all("not counted here" in line for line in section.tables["data"].rows)
    assert not section.figures


def test_own_images_get_a_table_without_a_column_of_the_paper(tmp_path: Path) -> None:
    section = shown([row("none", "mine.parquet", 0, 0.5), row("none", "yours.parquet", 0, 0.6)], tmp_path)
    assert list(section.tables) == ["scored", "scored-1"]
    assert section.tables["scored-1"].title == "Balanced accuracy on yours.parquet"


def test_a_sweep_gets_a_table_and_a_figure(tmp_path: Path) -> None:
    section = shown(swept(["ddi"], seeds=1), tmp_path)
    assert list(section.tables) == ["probabilities"]
    assert list(section.figures) == ["sweep"]
