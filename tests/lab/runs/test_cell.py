"""Running a cell: its outcome, what it may write, and when it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist.errors import RecoloristError
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.claims import LedgerError
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell
from tests.lab.study_files import one, with_code


def test_an_error_is_kept_without_folders(ledger: Ledger, tmp_path: Path) -> None:
    cell = one(tmp_path, trouble="raise")
    assert run_cell(ledger.root, ledger.lease, cell).name == "failed"
    assert (ledger.state(cell).name, ledger.state(cell).detail) == ("failed", "this cell was asked to fail, and does")
    text = (ledger.folder(cell) / "failed.json").read_text("utf-8")
    assert "cell.py:" in text
    assert str(Path(__file__).parents[3]) not in text


def test_a_failed_cell_is_not_run_again_until_asked(ledger: Ledger, tmp_path: Path) -> None:
    cell = one(tmp_path, trouble="raise", witness=str(tmp_path))
    for _ in range(3):
        assert run_cell(ledger.root, ledger.lease, cell).name == "failed"
    assert len(list(tmp_path.glob("start-*"))) == 1
    ledger.retry(cell)
    assert run_cell(ledger.root, ledger.lease, cell).name == "failed"
    assert len(list(tmp_path.glob("start-*"))) == 2


def test_a_number_that_is_not_finite_is_a_failure(ledger: Ledger, tmp_path: Path) -> None:
    outcome = run_cell(ledger.root, ledger.lease, one(tmp_path, trouble="nan"))
    assert outcome.name == "failed"
    assert "use numbers that are finite" in outcome.message


def test_a_worker_with_other_sources_refuses(ledger: Ledger, cell: Cell) -> None:
    with pytest.raises(RecoloristError, match="planned with other sources"):
        run_cell(ledger.root, ledger.lease, with_code(cell, "other"))


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "/etc/x"])
def test_kept_files_stay_in_their_folder(ledger: Ledger, cell: Cell, name: str) -> None:
    with pytest.raises(LedgerError, match="cannot keep a file called"):
        ledger.keep(cell, name, b"")
