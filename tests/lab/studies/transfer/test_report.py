"""What the report shows of style transfer, from invented results."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recolorist_lab.report.sections import Section, section_of
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.transfer import report
from tests.lab.report import invented


def test_the_trainings_the_metrics_and_the_pictures_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    (study,), ledger = invented.studies(tmp_path, ("transfer",)), Ledger(tmp_path / "ledger")
    invented.fill(ledger, study)
    section = section_of(study, ledger)
    assert list(section.tables) == ["training", "transfer"]
    assert list(section.figures) == ["triplets", "qualitative"]


def test_many_trainings_are_counted_and_not_listed(tmp_path: Path) -> None:
    section, cell, row = Section("transfer", "Transfer"), SimpleNamespace(), {"method": "adain"}
    cells: Any = [(cell, row)] * 41
    report.show_training(section, cells, Ledger(tmp_path / "ledger"))
    assert not section.tables
    assert section.basis == ["41 trainings are behind it; `recolorist-lab sweep export` lists them."]
