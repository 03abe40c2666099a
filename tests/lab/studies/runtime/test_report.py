"""What the report shows of the runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from recolorist_lab.report.sections import Section
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.runtime.report import show
from tests.lab.studies.runtime.kit import ROWS, row


def shown(rows: Sequence[dict[str, Any]], folder: Path) -> Section:
    section, cell = Section("runtime", "Runtime"), SimpleNamespace()
    show(section, [(cell, row) for row in rows], Ledger(folder / "ledger"))  # type: ignore[misc]
    return section


def test_a_device_has_two_tables_and_two_figures(tmp_path: Path) -> None:
    section = shown(ROWS, tmp_path)
    assert list(section.tables) == ["latency-cpu", "energy-cpu"]
    assert list(section.figures) == ["time-cpu", "energy-cpu"]


def test_growth_is_shown_where_it_was_measured(tmp_path: Path) -> None:
    section = shown([*ROWS, row("colorist", 0.01, 64, grid="growth"), row("colorist", 0.05, 128, grid="growth-2")], tmp_path)
    assert section.tables["growth"].texts()[0][0].startswith("Colorist")
    assert "growth" in section.figures
