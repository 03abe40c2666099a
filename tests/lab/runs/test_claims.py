"""Claims: at most one process works on a cell, and a dead one is succeeded."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recolorist_lab.runs import cell as cells
from recolorist_lab.runs import claims
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.claims import Claim, Holder, LostClaimError
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell
from tests.lab.runs.kit import granted
from tests.lab.study_files import one, until

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
def held(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the claim on `tmp_path`, with a lease longer than any test."""
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path, str(LEASE)], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def foreign(folder: Path, age: float, lease: float = 30.0) -> None:
    """A claim by another machine, refreshed so many seconds ago."""
    holder = {"machine": "elsewhere", "host": "node7", "pid": 1, "started": "1"}
    path = folder / "claim-000001.json"
    path.write_text(json.dumps({"holder": holder, "lease": lease}), "utf-8")
    date_back(path, age)


def date_back(path: Path, seconds: float) -> None:
    """Make a claim look as if it had been refreshed so many seconds ago."""
    os.utime(path, (time.time() - seconds,) * 2)


class TestClaims:
    def test_of_many_exactly_one_gets_it(self, tmp_path: Path) -> None:
        folders = [tmp_path / str(number) for number in range(60)]
        won: list[tuple[Path, Claim]] = []
        barrier = threading.Barrier(8)

        def race() -> None:
            for folder in folders:
                folder.mkdir(exist_ok=True)
                barrier.wait()
                claim = claims.take(folder, LEASE)
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
            racers = [threading.Thread(target=lambda: won.append(claims.take(folder, LEASE))) for _ in range(6)]  # noqa: B023
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

    @pytest.mark.parametrize(("age", "is_free"), [(0.0, False), (0.5 * LEASE, False), (1.5 * LEASE, True)])
    def test_another_machines_claim_lasts_as_long_as_its_lease(self, tmp_path: Path, age: float, is_free: bool) -> None:
        foreign(tmp_path, age, LEASE)
        assert (claims.take(tmp_path, LEASE) is not None) is is_free

    def test_a_clock_set_back_leaves_a_claim_to_its_holder(self, tmp_path: Path) -> None:
        """The claim was refreshed in the future, as the clock sees it now; it is not taken from a holder that may be at work."""
        foreign(tmp_path, age=-3600.0)
        assert claims.take(tmp_path, 30.0) is None

    def test_a_clock_set_back_does_not_hide_a_dead_holder(self, tmp_path: Path, held: subprocess.Popen[str]) -> None:
        date_back(tmp_path / "claim-000001.json", -3600.0)
        assert claims.take(tmp_path, 30.0) is None
        held.kill()
        held.wait()
        assert claims.take(tmp_path, 30.0) is not None

    def test_the_lease_that_counts_is_the_holders(self, tmp_path: Path) -> None:
        foreign(tmp_path, age=0.5 * LEASE, lease=LEASE)
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
        with granted(claims.take(tmp_path, LEASE)) as first:
            date_back(tmp_path / "claim-000001.json", LEASE + 60)
            with granted(claims.take(tmp_path, LEASE)), pytest.raises(LostClaimError):
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
