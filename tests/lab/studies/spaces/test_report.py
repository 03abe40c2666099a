"""What the report shows of the colour spaces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from recolorist_lab.report.sections import Section
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.spaces.report import show
from tests.lab.studies.spaces.kit import full, row


def shown(rows: Sequence[dict[str, Any]], folder: Path) -> Section:
    section, cell = Section("spaces", "Spaces"), SimpleNamespace()
    show(section, [(cell, row) for row in rows], Ledger(folder / "ledger"))  # type: ignore[misc]
    return section


def test_a_complete_table_is_tested(tmp_path: Path) -> None:
    section = shown([{**row, "grid": "spaces"} for row in full()], tmp_path)
    assert {"spaces", "methods", "datasets", "friedman", "against-methods", "against-spaces", "sizes"} <= section.tables.keys()
    assert list(section.figures) == ["methods", "ranks"]


def test_one_dataset_is_not_tested_and_that_is_said(tmp_path: Path) -> None:
    section = shown([{**row("d", "rgb"), "grid": "spaces"}], tmp_path)
    assert "friedman" not in section.tables
    assert section.basis == ["Nothing is tested: tests need two datasets, two spaces and three methods."]


def test_grids_of_two_names_are_kept_apart(tmp_path: Path) -> None:
    section = shown([{**row("d", "rgb"), "grid": name} for name in ("all", "all-2", "more")], tmp_path)
    assert {"all-spaces", "more-spaces"} <= section.tables.keys()
    assert section.tables["more-spaces"].title.endswith("(grid “more”)")
