"""Removing leftovers and unused results."""

from __future__ import annotations

import os
import time
from pathlib import Path

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from tests.lab.command import answer, lab
from tests.lab.study_files import finished, grid, rehearsal


def test_gc_takes_leftovers_and_nothing_else(done: Path, book: Path) -> None:
    folder = Ledger(book).folder(load(done).cells[0])
    litter = [folder / ".result.part", folder / "claim-000004.json", folder / "ckpt-000000003.bin", book / ".probe-1"]
    fresh = folder / ".young.part"
    for path in (*litter, fresh):
        path.write_bytes(b"{}")
    for path in litter:
        os.utime(path, (time.time() - 9999,) * 2)
    before = answer("sweep", "export", done, "--ledger", book)
    assert len(answer("sweep", "gc", "--ledger", book, "--dry-run")["leftovers"]) == 4
    assert all(path.exists() for path in litter)
    assert len(answer("sweep", "gc", "--ledger", book)["leftovers"]) == 4
    assert not any(path.exists() for path in litter)
    assert fresh.exists()
    assert answer("sweep", "export", done, "--ledger", book) == before


def test_gc_deletes_results_only_by_name(done: Path, book: Path, tmp_path: Path) -> None:
    other = rehearsal(tmp_path, grid([3, 4]), name="other")
    finished(load(other), Ledger(book))
    assert lab("sweep", "gc", "--ledger", book, "--unused").code == 1
    assert answer("sweep", "gc", done, other, "--ledger", book, "--unused")["runs"] == []
    assert len(answer("sweep", "gc", other, "--ledger", book, "--unused")["runs"]) == 2
    assert answer("sweep", "status", other, "--ledger", book)["done"] == 2
    assert answer("sweep", "status", done, "--ledger", book)["done"] == 1  # the cell both have
