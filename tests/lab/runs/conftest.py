"""A ledger and a cell for the tests of the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell
from tests.lab.study_files import one


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", lease=30.0)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return one(tmp_path)
