"""The section of a study in a report."""

from __future__ import annotations

from pathlib import Path

from recolorist_lab.report.sections import section_of
from recolorist_lab.report.table import GAP
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study, load
from tests.lab.report.kit import CONFIGS
from tests.lab.study_files import finished as run_here


def test_gaps_are_marked_when_they_are_allowed(tmp_path: Path) -> None:
    study, book = load(CONFIGS / "check.quick.toml"), Ledger(tmp_path / "ledger")
    half = Study(study.name, study.cells[:4])
    run_here(half, book)
    section = section_of(study, book, partial=True)
    assert section.basis[0].startswith("4 of 8 cells")
    assert [line[0] for line in section.tables["missing"].rows] == [cell.name for cell in study.cells[4:]]
    every = section.tables["transfer_check"].rows
    assert [line[-1] == GAP for line in every] == [False] * 4 + [True] * 4
