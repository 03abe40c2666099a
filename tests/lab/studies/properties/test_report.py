"""What the report shows of the properties, from invented results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recolorist_lab.report.sections import section_of
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study
from tests.lab.report import invented


def test_every_family_of_grids_has_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    (study,), ledger = invented.studies(tmp_path, ("properties",)), Ledger(tmp_path / "ledger")
    invented.fill(ledger, study)
    section = section_of(study, ledger)
    assert list(section.tables) == ["comparison", "limits", "spaces"]
    assert list(section.figures) == ["limits", "clipping"]
    only = Study(study.name, tuple(cell for cell in study.cells if cell.grid == "space"))
    assert list(section_of(only, ledger).tables) == ["spaces"]
    assert not section_of(only, ledger).figures
