"""The ledger: what is believed, who may work on a cell, and what happens when the disk will not play."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.runs import cell as cells
from recolorist_lab.runs import checkpoints, claims
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.claims import Claim, Holder, LedgerError, LostClaimError
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.sealed import CorruptError, seal, unseal
from recolorist_lab.runs.study import Cell, load
from tests.lab.study_files import finished, grid, one, rehearsal, until, with_code

HOLD = """
import sys, time
from pathlib import Path
from recolorist_lab.runs.claims import take
with take(Path(sys.argv[1]), float(sys.argv[2])) as claim:
    print("held", flush=True)
    time.sleep(3600)
"""
LEASE = 600.0  # seconds; a test that needs it to run out dates the claim back


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", lease=30.0)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return one(tmp_path)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the claim on `tmp_path`, with a lease longer than any test."""
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path, str(LEASE)], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def granted(claim: Claim | None) -> Claim:
    assert claim is not None
    return claim


def foreign(folder: Path, age: float, lease: float = 30.0) -> None:
    """A claim by another machine, refreshed so many seconds ago."""
    holder = {"machine": "elsewhere", "host": "node7", "pid": 1, "started": "1"}
    path = folder / "claim-000001.json"
    path.write_text(json.dumps({"holder": holder, "lease": lease}), "utf-8")
    date_back(path, age)


def date_back(path: Path, seconds: float) -> None:
    """Make a claim look as if it had been refreshed so many seconds ago."""
    os.utime(path, (time.time() - seconds,) * 2)


class TestSeal:
    def test_every_flipped_bit_is_found(self) -> None:
        data = seal({"result": {"error": 0.25, "name": "é"}, "run": "ab"})
        for place in range(len(data)):
            for bit in range(8):
                damaged = bytearray(data)
                damaged[place] ^= 1 << bit
                with pytest.raises(CorruptError):
                    unseal(bytes(damaged), "result.json")

    def test_every_cut_is_found(self) -> None:
        data = seal({"result": {"error": 0.25}})
        for length in range(len(data)):
            with pytest.raises(CorruptError, match=r"result\.json does not match its checksum"):
                unseal(data[:length], "result.json")

    @pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b'{"payload": 3}', b"[" * 100_000, seal({"a": 1}) + b" "])
    def test_other_files_are_not_believed(self, data: bytes) -> None:
        with pytest.raises(CorruptError):
            unseal(data, "result.json")


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

    def test_an_error_is_kept_without_folders(self, ledger: Ledger, tmp_path: Path) -> None:
        cell = one(tmp_path, trouble="raise")
        assert run_cell(ledger.root, ledger.lease, cell).name == "failed"
        assert (ledger.state(cell).name, ledger.state(cell).detail) == ("failed", "this cell was asked to fail, and does")
        text = (ledger.folder(cell) / "failed.json").read_text("utf-8")
        assert "cell.py:" in text
        assert str(Path(__file__).parents[3]) not in text

    def test_a_failed_cell_is_not_run_again_until_asked(self, ledger: Ledger, tmp_path: Path) -> None:
        cell = one(tmp_path, trouble="raise", witness=str(tmp_path))
        for _ in range(3):
            assert run_cell(ledger.root, ledger.lease, cell).name == "failed"
        assert len(list(tmp_path.glob("start-*"))) == 1
        ledger.retry(cell)
        assert run_cell(ledger.root, ledger.lease, cell).name == "failed"
        assert len(list(tmp_path.glob("start-*"))) == 2

    def test_a_number_that_is_not_finite_is_a_failure(self, ledger: Ledger, tmp_path: Path) -> None:
        outcome = run_cell(ledger.root, ledger.lease, one(tmp_path, trouble="nan"))
        assert outcome.name == "failed"
        assert "use numbers that are finite" in outcome.message

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

    def test_a_worker_with_other_sources_refuses(self, ledger: Ledger, cell: Cell) -> None:
        with pytest.raises(RecoloristError, match="planned with other sources"):
            run_cell(ledger.root, ledger.lease, with_code(cell, "other"))

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

    @pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "/etc/x"])
    def test_kept_files_stay_in_their_folder(self, ledger: Ledger, cell: Cell, name: str) -> None:
        with pytest.raises(LedgerError, match="cannot keep a file called"):
            ledger.keep(cell, name, b"")

    def test_a_folder_with_other_files_is_not_a_ledger(self, tmp_path: Path) -> None:
        (tmp_path / "holiday.jpg").write_bytes(b"")
        with pytest.raises(LedgerError, match="holds other files"):
            Ledger(tmp_path)
        with pytest.raises(LedgerError, match="is not a ledger"):
            Ledger(tmp_path / "absent", must_exist=True)


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


class TestClaims:
    def test_of_many_exactly_one_gets_it(self, tmp_path: Path) -> None:
        folders = [tmp_path / str(number) for number in range(60)]
        won: list[tuple[Path, Claim]] = []
        barrier = threading.Barrier(8)

        def race() -> None:
            for folder in folders:
                folder.mkdir(exist_ok=True)
                barrier.wait()
                claim = claims.take(folder, 30.0)
                won.extend([] if claim is None else [(folder, claim)])

        racers = [threading.Thread(target=race) for _ in range(8)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert sorted(folder for folder, _ in won) == sorted(folders)

    def test_of_many_exactly_one_takes_over_from_the_dead(self, tmp_path: Path) -> None:
        won: list[Claim | None] = []
        for number in range(40):
            folder = tmp_path / str(number)
            folder.mkdir()
            foreign(folder, age=60.0)
            racers = [threading.Thread(target=lambda: won.append(claims.take(folder, 30.0))) for _ in range(6)]  # noqa: B023
            for racer in racers:
                racer.start()
            for racer in racers:
                racer.join()
        assert len([claim for claim in won if claim is not None]) == 40

    def test_a_killed_holder_is_succeeded_before_its_lease_ends(self, tmp_path: Path, held: subprocess.Popen[str]) -> None:
        assert claims.take(tmp_path, 30.0) is None
        held.kill()
        until(lambda: (tmp_path / "claim-000002.json").exists() or claims.take(tmp_path, 30.0), seconds=LEASE / 2)

    def test_a_living_holder_refreshes_its_claim(self, tmp_path: Path) -> None:
        path = tmp_path / "claim-000001.json"
        with granted(claims.take(tmp_path, 0.1)):
            for _ in range(3):
                os.utime(path, (0, 0))
                until(lambda: path.stat().st_mtime > 0)

    def test_a_frozen_holder_loses_it_after_the_lease(self, tmp_path: Path, held: subprocess.Popen[str]) -> None:
        held.send_signal(signal.SIGSTOP)
        assert claims.take(tmp_path, 30.0) is None
        date_back(tmp_path / "claim-000001.json", LEASE + 60)
        assert claims.take(tmp_path, 30.0) is not None

    @pytest.mark.parametrize(("age", "is_free"), [(0.0, False), (25.0, False), (35.0, True)])
    def test_another_machines_claim_lasts_as_long_as_its_lease(self, tmp_path: Path, age: float, is_free: bool) -> None:
        foreign(tmp_path, age)
        assert (claims.take(tmp_path, 30.0) is not None) is is_free

    def test_the_lease_that_counts_is_the_holders(self, tmp_path: Path) -> None:
        foreign(tmp_path, age=50.0, lease=100.0)
        assert claims.take(tmp_path, 1.0) is None

    def test_a_recycled_pid_is_not_the_holder(self) -> None:
        this = Holder.this()
        assert not this.is_gone()
        assert Holder(this.machine, this.host, this.pid, "12345").is_gone()
        assert not Holder("elsewhere", "node7", this.pid, "12345").is_gone()

    def test_a_claim_given_up_is_free(self, tmp_path: Path) -> None:
        with granted(claims.take(tmp_path, 30.0)):
            assert claims.take(tmp_path, 30.0) is None
        assert granted(claims.take(tmp_path, 30.0)).number == 2

    def test_acting_on_an_old_view_gains_nothing(self, tmp_path: Path) -> None:
        for _ in range(3):
            granted(claims.take(tmp_path, 30.0)).release()
        (tmp_path / "claim-000002.json").unlink()
        with granted(claims.take(tmp_path, 30.0)) as holder:
            assert [claims._link(tmp_path, number, 30.0) for number in (1, 2, 3, 4)] == [None] * 4
            holder.check()

    def test_a_holder_that_was_succeeded_finds_out(self, tmp_path: Path) -> None:
        with granted(claims.take(tmp_path, 30.0)) as first:
            date_back(tmp_path / "claim-000001.json", 60)
            with granted(claims.take(tmp_path, 30.0)), pytest.raises(LostClaimError):
                first.check()
            with pytest.raises(LostClaimError):
                first.check()

    def test_work_that_was_taken_over_is_not_published(self, ledger: Ledger, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
        def run(*_: object) -> dict[str, Any]:
            os.utime(ledger.folder(cell) / "claim-000001.json", (0, 0))
            granted(claims.take(ledger.folder(cell), 30.0))
            return {}

        monkeypatch.setattr(cells, "_refuse_other_code", lambda _: None)
        monkeypatch.setattr(cells, "KINDS", {"rehearsal": dataclasses.replace(KINDS["rehearsal"], run=run)})
        assert run_cell(ledger.root, ledger.lease, cell).name == "busy"
        assert ledger.state(cell).name == "claimed"

    def test_a_damaged_claim_runs_out(self, tmp_path: Path) -> None:
        path = tmp_path / "claim-000001.json"
        path.write_text("{", "utf-8")
        assert claims.take(tmp_path, 30.0) is None
        date_back(path, 61)
        assert granted(claims.take(tmp_path, 30.0)).number == 2

    def test_a_frozen_worker_that_wakes_does_not_disturb_its_successor(self, tmp_path: Path, ledger: Ledger) -> None:
        cell = one(tmp_path, steps=3, pause=4.0, witness=str(tmp_path))
        successor = dataclasses.replace(cell, config=dataclasses.replace(cell.config, pause=0.0))  # the pause is not its identity
        program = (
            "import sys\nfrom pathlib import Path\nfrom recolorist_lab.runs.cell import run_cell\n"
            "from recolorist_lab.runs.study import load\n"
            "cell = load(Path(sys.argv[1])).cells[0]\nprint(run_cell(Path(sys.argv[2]), 600.0, cell).name, flush=True)"
        )
        words = [sys.executable, "-c", program, str(tmp_path / "single.toml"), str(ledger.root)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as frozen:  # noqa: S603
            until(lambda: ledger.state(cell).name == "running")
            frozen.send_signal(signal.SIGSTOP)
            date_back(ledger.folder(cell) / "claim-000001.json", LEASE + 60)
            assert run_cell(ledger.root, ledger.lease, successor).name == "done"
            before = (ledger.folder(cell) / "result.json").read_bytes()
            frozen.send_signal(signal.SIGCONT)
            assert frozen.communicate(timeout=300)[0] == "busy\n"
        assert (ledger.folder(cell) / "result.json").read_bytes() == before


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
