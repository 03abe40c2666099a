"""The quick study of properties, run once for its tests."""

from __future__ import annotations

import pytest

from recolorist_lab.report import rows as table
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies.properties.cell import FILE
from tests.lab.studies.properties.kit import QUICK, Row
from tests.lab.study_files import finished


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Row], dict[str, bytes]]:
    """The quick study, run for real."""
    study, ledger = load(QUICK), Ledger(tmp_path_factory.mktemp("ledger") / "book")
    finished(study, ledger)
    kept = {cell.name: ledger.result(cell).read(FILE) for cell in study.cells}
    return table.rows(study, ledger), kept
