"""The Ray engine on a real Ray, started by the command itself in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from pathlib import Path

import pytest

from recolorist_lab.runs import claims
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies.rehearsal.cell import chain
from tests.lab.command import begun
from tests.lab.study_files import grid, rehearsal, until

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the Ray engine needs the extra `ray`")


def test_a_killed_worker_costs_one_step_and_a_failed_cell_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")  # traces of another cluster must not keep us from starting our own
    witness = tmp_path / "witness"
    witness.mkdir()
    path = rehearsal(
        tmp_path,
        grid([1, 2, 3, 4, 5], steps=6, pause=0.5, witness=str(witness)),
        grid([6], name="bad", trouble="raise"),
        grid([7], name="score", needs=[{"grid": "train"}]),
    )
    ledger, cells = Ledger(tmp_path / "ledger"), load(path).cells
    launcher = begun("sweep", "run", path, "--ledger", ledger.root, "--engine", "ray", "--jobs", "2", "--lease", "10", "--json")
    try:
        until(lambda: launcher.poll() is not None or any(ledger.state(cell).name == "running" for cell in cells), seconds=300)
        victim = next(cell for cell in cells if ledger.state(cell).name == "running")
        claim = claims.newest(ledger.folder(victim), ledger.now())
        assert claim is not None
        os.kill(claim.holder.pid, signal.SIGKILL)
        output, wrong = launcher.communicate(timeout=300)
    finally:
        launcher.kill()
        launcher.communicate()
    assert launcher.returncode == 3, wrong.decode()
    report = json.loads(output)
    assert report["failed"] == {"bad[index=6]": "this cell was asked to fail, and does"}
    assert (report["done"], report["blocked"]) == (6, [])
    timings = ledger.result(victim).payload["timings"]
    assert timings["attempt"] >= 2
    assert timings["resumed_from"] >= 1
    assert ledger.result(cells[-1]).result["chain"] == chain(7, 3, [chain(index, 6) for index in range(1, 6)])
    assert not list(witness.glob("twice-*"))
