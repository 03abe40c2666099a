"""Checkpoints: the last two are kept, and a resumed cell ends as an uninterrupted one."""

from __future__ import annotations

from pathlib import Path

from recolorist_lab.runs import checkpoints
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.ledger import Ledger
from tests.lab.study_files import one


class TestCheckpoints:
    def test_the_last_two_are_kept(self, tmp_path: Path) -> None:
        for step in range(5):
            checkpoints.save(tmp_path, step, b"%d" % step)
        assert checkpoints.steps(tmp_path) == [3, 4]
        assert checkpoints.load(tmp_path) == (4, b"4")

    def test_a_damaged_one_costs_one_step(self, tmp_path: Path) -> None:
        for step in (1, 2):
            checkpoints.save(tmp_path, step, b"state %d" % step)
        newest = tmp_path / "ckpt-000000002.bin"
        newest.write_bytes(newest.read_bytes()[:-1])
        assert checkpoints.load(tmp_path) == (1, b"state 1")
        (tmp_path / "ckpt-000000001.bin").write_bytes(b"")
        assert checkpoints.load(tmp_path) is None

    def test_a_resumed_cell_ends_as_an_uninterrupted_one(self, ledger: Ledger, tmp_path: Path) -> None:
        cell = one(tmp_path, steps=6)
        run_cell(ledger.root, ledger.lease, cell)
        whole = ledger.result(cell)
        other = Ledger(tmp_path / "other")
        other.folder(cell).mkdir(parents=True)
        from recolorist_lab.studies.rehearsal.cell import chain

        checkpoints.save(other.folder(cell), 4, chain(0, 4).encode())
        run_cell(other.root, other.lease, cell)
        assert other.result(cell).payload["timings"]["resumed_from"] == 4
        assert other.result(cell).result == whole.result
