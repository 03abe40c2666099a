"""The ledger: what is believed, who may work on a cell, and what happens when the disk will not play."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.runs import checkpoints
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.claims import LedgerError
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.sealed import CorruptError, unseal
from recolorist_lab.runs.study import Cell, load
from tests.lab.runs.kit import granted
from tests.lab.study_files import finished, grid, one, rehearsal, with_code


class TestStates:
    def test_from_missing_to_done(self, ledger: Ledger, cell: Cell) -> None:
        assert ledger.state(cell).name == "missing"
        claim = granted(ledger.claim(cell))
        with claim:
            assert ledger.state(cell).name == "claimed"
            checkpoints.save(ledger.folder(cell), 1, b"half")
            assert (ledger.state(cell).name, ledger.state(cell).step) == ("running", 1)
        assert (ledger.state(cell).name, ledger.state(cell).step) == ("missing", 1)
        assert run_cell(ledger.root, ledger.lease, cell).name == "done"
        assert ledger.state(cell).name == "done"

    def test_a_finished_cell_leaves_only_its_result_and_files(self, ledger: Ledger, tmp_path: Path) -> None:
        cell = one(tmp_path, ballast=640)
        finished(load(tmp_path / "single.toml"), ledger)
        assert sorted(path.name for path in ledger.folder(cell).rglob("*")) == ["ballast.bin", "files", "result.json"]

    def test_a_result_says_everything_about_itself(self, ledger: Ledger, cell: Cell) -> None:
        run_cell(ledger.root, ledger.lease, cell)
        payload = ledger.result(cell).payload
        assert set(payload) == {"run", "name", "identity", "selection", "environment", "result", "files", "timings"}
        assert payload["selection"] == "none"
        assert payload["timings"]["attempt"] == 1
        assert {"python", "cpu", "gpus", "commit", "versions", "kernel"} <= set(payload["environment"])

    def test_a_result_names_no_folder_user_or_host(self, ledger: Ledger, tmp_path: Path) -> None:
        (tmp_path / "witness").mkdir()
        cell = one(tmp_path, witness=str(tmp_path / "witness"))
        run_cell(ledger.root, ledger.lease, cell)
        text = (ledger.folder(cell) / "result.json").read_text("utf-8")
        for secret in (str(tmp_path), str(Path.home()), os.uname().nodename):
            assert secret not in text

    def test_a_damaged_result_is_set_aside_and_made_again(self, ledger: Ledger, cell: Cell) -> None:
        run_cell(ledger.root, ledger.lease, cell)
        path = ledger.folder(cell) / "result.json"
        good = path.read_bytes()
        path.write_bytes(good.replace(b'"share": 0', b'"share": 1'))
        assert ledger.state(cell).name == "corrupt"
        with pytest.raises(CorruptError):
            ledger.result(cell)
        assert run_cell(ledger.root, ledger.lease, cell).name == "done"
        assert ledger.result(cell).result == unseal(good, "before")["result"]
        assert len(list(path.parent.glob("corrupt-*-result.json"))) == 1

    def test_a_result_in_the_wrong_place_is_not_believed(self, ledger: Ledger, tmp_path: Path) -> None:
        first, second = load(rehearsal(tmp_path, grid([1, 2]))).cells
        run_cell(ledger.root, ledger.lease, first)
        ledger.folder(second).mkdir(parents=True)
        (ledger.folder(second) / "result.json").write_bytes((ledger.folder(first) / "result.json").read_bytes())
        assert ledger.state(second).name == "corrupt"

    def test_a_result_of_other_code_is_stale(self, ledger: Ledger, cell: Cell) -> None:
        run_cell(ledger.root, ledger.lease, cell)
        state = ledger.state(with_code(cell, "other"))
        assert state.name == "stale"
        assert cell.run_id[:12] in state.detail

    def test_the_first_result_stays(self, ledger: Ledger, cell: Cell) -> None:
        run_cell(ledger.root, ledger.lease, cell)
        before = (ledger.folder(cell) / "result.json").read_bytes()
        ledger.publish(cell, {"run": cell.run_id, "other": True})
        assert (ledger.folder(cell) / "result.json").read_bytes() == before

    def test_kept_files_are_verified(self, ledger: Ledger, tmp_path: Path) -> None:
        cell = one(tmp_path, ballast=640)
        run_cell(ledger.root, ledger.lease, cell)
        result = ledger.result(cell)
        assert len(result.read("ballast.bin")) == 640
        with pytest.raises(OptionError, match="kept no file 'weights'"):
            result.read("weights")
        (ledger.folder(cell) / "files" / "ballast.bin").write_bytes(b"x" * 640)
        with pytest.raises(CorruptError, match="does not match the checksum"):
            result.verify()

    def test_a_folder_with_other_files_is_not_a_ledger(self, tmp_path: Path) -> None:
        (tmp_path / "holiday.jpg").write_bytes(b"")
        with pytest.raises(LedgerError, match="holds other files"):
            Ledger(tmp_path)
        with pytest.raises(LedgerError, match="is not a ledger"):
            Ledger(tmp_path / "absent", must_exist=True)


class TestDisks:
    """Trouble with the disk is an error at once, and what was finished stays finished."""

    @pytest.mark.parametrize(("name", "code"), [("fsync", errno.EIO), ("link", errno.EDQUOT), ("replace", errno.ENOSPC)])
    def test_a_write_that_fails_is_never_a_success(
        self, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: int
    ) -> None:
        first, second = load(rehearsal(tmp_path, grid([1, 2]))).cells
        run_cell(ledger.root, ledger.lease, first)

        def fail(*_: Any, **__: Any) -> None:
            raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(LedgerError, match=os.strerror(code)):
                run_cell(ledger.root, ledger.lease, second)
        assert (ledger.state(first).name, ledger.state(second).name) == ("done", "missing")
        assert run_cell(ledger.root, ledger.lease, second).name == "done"

    def test_a_file_system_without_links_is_refused(self, ledger: Ledger, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", fail)
        with pytest.raises(LedgerError, match="without hard links"):
            run_cell(ledger.root, ledger.lease, cell)

    def test_a_lost_mount_is_not_written_to(self, ledger: Ledger, cell: Cell) -> None:
        (ledger.root / "ledger.json").unlink()
        with pytest.raises(LedgerError, match="a mount may have been lost"):
            ledger.claim(cell)

    def test_the_clock_is_the_file_systems(self, ledger: Ledger) -> None:
        with closing((ledger.root / "now").open("wb")) as file:
            written = os.fstat(file.fileno()).st_mtime
        assert 0 <= ledger.now() - written < 3600
