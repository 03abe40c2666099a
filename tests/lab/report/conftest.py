"""A finished study for the tests of reports."""

from __future__ import annotations

import pytest

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study, load
from tests.lab.report.kit import CONFIGS
from tests.lab.study_files import finished as run_here


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Ledger]:
    study, book = load(CONFIGS / "check.quick.toml"), Ledger(tmp_path_factory.mktemp("ledger"))
    run_here(study, book)
    return study, book
