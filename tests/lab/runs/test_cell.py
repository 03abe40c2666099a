"""Running a cell: its outcome, what it may write, and when it refuses."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recolorist.errors import RecoloristError
from recolorist_lab.runs import cell as running
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.claims import LedgerError
from recolorist_lab.runs.kinds import KINDS
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


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="there is no such signal here")
def test_a_failed_cell_leaves_no_process_behind(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped loader worker ignores SIGTERM, so that Python would wait for it for ever when it ends."""
    fork = multiprocessing.get_context("fork")
    cell, started = one(tmp_path), []

    def leave_a_stopped_one(*_: object) -> Any:
        started.append(fork.Process(target=time.sleep, args=(600,), daemon=True))
        started[0].start()
        os.kill(started[0].pid or 0, signal.SIGSTOP)
        raise RecoloristError("no images came")

    other = fork.Process(target=time.sleep, args=(600,), daemon=True)
    other.start()
    kind = KINDS[cell.kind]
    kept = {"fingerprint": kind.fingerprint, "data": kind.data, "selection": kind.selection}
    monkeypatch.setattr(running, "KINDS", {cell.kind: SimpleNamespace(run=leave_a_stopped_one, **kept)})
    assert run_cell(ledger.root, ledger.lease, cell).message == "no images came"
    assert started[0].exitcode == -signal.SIGKILL
    assert other.is_alive()
    other.kill()
    other.join()


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
