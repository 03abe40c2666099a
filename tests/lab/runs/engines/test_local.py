"""The local engine: cells that die or are interrupted, and GPUs, with made-up processes on made-up ones."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from recolorist_lab.runs import sweep
from recolorist_lab.runs.cell import CellOutcome
from recolorist_lab.runs.claims import LedgerError
from recolorist_lab.runs.engines import local
from recolorist_lab.runs.engines.local import LocalEngine
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, Resources, load
from recolorist_lab.runs.sweep import run_study
from tests.lab.command import answer, begun, session
from tests.lab.study_files import grid, rehearsal, until


class Process:
    """A process that ends when the test asks for it."""

    def __init__(self, target: Any, args: tuple[Any, ...]) -> None:
        self.target, self.args, self.exitcode = target, args, None
        self.sentinel, self._end = os.pipe()
        os.write(self._end, b"x")  # always worth a look

    def start(self) -> None:
        if self.args[3].config.index == 99:
            raise EOFError("the server was killed")

    def close(self) -> None:
        os.close(self.sentinel)
        os.close(self._end)


class Processes:
    def __init__(self) -> None:
        self.made: list[Process] = []

    def Process(self, target: Any, args: tuple[Any, ...]) -> Process:  # noqa: N802 - as multiprocessing has it
        self.made.append(Process(target, args))
        return self.made[-1]

    def Pipe(self, duplex: bool) -> tuple[Any, Any]:  # noqa: N802, ARG002
        import multiprocessing

        return multiprocessing.Pipe(duplex=False)

    def given(self) -> list[tuple[str, ...]]:
        return [process.args[4] for process in self.made]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    made = Processes()
    monkeypatch.setattr(local, "_context", lambda _: made)
    monkeypatch.setattr(local, "visible_devices", lambda: ("0", "1"))
    return made


def cells(folder: Path, gpus: float, *indices: int) -> list[Cell]:
    found = load(rehearsal(folder, grid(list(indices)))).cells
    return [dataclasses.replace(cell, resources=Resources(gpus=gpus)) for cell in found]


def test_every_cell_gets_a_gpu_of_its_own_and_gives_it_back(processes: Processes, tmp_path: Path) -> None:
    first, second, third = cells(tmp_path, 1.0, 1, 2, 3)
    engine = LocalEngine(Ledger(tmp_path / "ledger"), jobs=32)
    for cell in (first, second):
        assert engine.fits(cell)
        engine.start(cell)
    assert processes.given() == [("0",), ("1",)]
    assert not engine.fits(third)
    assert engine.free() == 30
    processes.made[1].exitcode = 1  # type: ignore[assignment]
    assert [cell for cell, _ in engine.wait(0.0)] == [second]
    assert engine.fits(third)
    engine.start(third)
    assert processes.given()[-1] == ("1",)


def test_a_process_that_did_not_start_gives_its_gpu_back(processes: Processes, tmp_path: Path) -> None:
    lost, following = cells(tmp_path, 2.0, 99, 1)
    engine = LocalEngine(Ledger(tmp_path / "ledger"), jobs=2)
    assert engine.fits(lost)
    engine.start(lost)
    assert not engine.fits(following)
    assert [outcome.name for _, outcome in engine.wait(0.0)] == ["lost"]
    assert engine.fits(following)
    assert processes.given() == [("0", "1")]


def test_cells_that_ask_for_none_are_not_counted(processes: Processes, tmp_path: Path) -> None:
    engine = LocalEngine(Ledger(tmp_path / "ledger"), jobs=5)
    for cell in cells(tmp_path, 0.0, 1, 2, 3):
        assert engine.fits(cell)
        engine.start(cell)
    assert processes.given() == [(), (), ()]


def test_a_machine_without_gpus_says_so_once(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local, "visible_devices", lambda: ())
    engine = LocalEngine(Ledger(tmp_path / "ledger"), jobs=5)
    for cell in cells(tmp_path, 1.0, 1, 2, 3):
        assert engine.fits(cell)
        engine.start(cell)
    assert processes.given() == [(), (), ()]
    assert capsys.readouterr().err.count("this machine has none") == 1


@pytest.mark.parametrize(("devices", "seen"), [(("3", "1"), "3,1"), ((), None)])
def test_a_cell_sees_its_gpus_only(
    devices: tuple[str, ...], seen: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import multiprocessing

    found: list[str | None] = []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def look(*_: object) -> CellOutcome:
        found.append(os.environ.get("CUDA_VISIBLE_DEVICES"))
        return CellOutcome("done")

    monkeypatch.setattr(local, "run_cell", look)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    local._main(theirs, tmp_path, 1.0, cells(tmp_path, 1.0, 1)[0], devices)
    assert found == [seen]
    assert ours.recv() == ("done", "")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # so that the variable is taken away again after the test


def test_a_cell_that_dies_once_is_tried_again(tmp_path: Path, book: Path) -> None:
    (tmp_path / "1").touch()
    path = rehearsal(tmp_path, grid([1, 2], trouble="die", fuse=str(tmp_path)))
    assert answer("sweep", "run", path, "--ledger", book, "--jobs", "1")["ran"] == 2
    timings = Ledger(book).result(load(path).cells[0]).payload["timings"]
    assert (timings["attempt"], timings["resumed_from"]) == (2, 1)


def test_a_cell_that_always_dies_fails_and_says_how(tmp_path: Path, book: Path) -> None:
    path = rehearsal(tmp_path, grid([1], trouble="die", steps=9), grid([2], name="well"))
    report = answer("sweep", "run", path, "--ledger", book, "--retries", "2", code=3)
    assert report["done"] == 1
    assert "died 3 times, the last time by signal 9" in report["failed"]["train[index=1]"]


def test_ctrl_c_gives_up_claims_and_keeps_checkpoints(tmp_path: Path, book: Path) -> None:
    path = rehearsal(tmp_path, grid([1, 2, 3], steps=4000, pause=0.1))
    cells, ledger = load(path).cells, Ledger(book)
    launcher = begun("sweep", "run", path, "--ledger", book, "--jobs", "2")
    until(lambda: [ledger.state(cell).name for cell in cells].count("running") == 2)
    os.killpg(launcher.pid, signal.SIGINT)  # as a terminal does: to everyone
    _, output = launcher.communicate(timeout=300)
    assert (launcher.returncode, output.decode().count("interrupted")) == (130, 1)
    until(lambda: not session(launcher.pid))
    states = [ledger.state(cell) for cell in cells]
    assert [state.name for state in states] == ["missing"] * 3
    assert sum(state.step is not None for state in states) == 2


def test_a_polite_end_by_the_scheduler_is_like_ctrl_c(tmp_path: Path, book: Path) -> None:
    path = rehearsal(tmp_path, grid([1], steps=4000, pause=0.1))
    ledger, cell = Ledger(book), load(path).cells[0]
    launcher = begun("sweep", "run", path, "--ledger", book, "--jobs", "1")
    until(lambda: ledger.state(cell).name == "running")
    launcher.terminate()
    launcher.communicate(timeout=300)
    assert (launcher.returncode, ledger.state(cell).name) == (130, "missing")


def test_cells_do_not_outlive_a_killed_launcher(tmp_path: Path, book: Path) -> None:
    path = rehearsal(tmp_path, grid([1, 2], steps=4000, pause=0.1))
    ledger, cells = Ledger(book), load(path).cells
    launcher = begun("sweep", "run", path, "--ledger", book, "--jobs", "2")
    until(lambda: [ledger.state(cell).name for cell in cells] == ["running"] * 2)
    launcher.kill()
    launcher.communicate()
    until(lambda: not session(launcher.pid))
    assert [ledger.state(cell).name for cell in cells] == ["missing"] * 2


def test_a_killed_server_says_nothing_of_its_cells(processes: Processes, tmp_path: Path) -> None:
    engine = LocalEngine(Ledger(tmp_path / "ledger"), jobs=5)
    for cell in cells(tmp_path, 0.0, 1, 2):
        engine.start(cell)
    processes.made[0].exitcode, processes.made[1].exitcode = 255, -9  # type: ignore[assignment]
    assert [outcome.name for _, outcome in engine.wait(0.0)] == ["lost", "died"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork server")
def test_cells_outlive_their_fork_server(tmp_path: Path) -> None:
    """Cells that never began were recorded as failed for good, and blocked those that build on them."""
    from multiprocessing import forkserver

    kills: list[int] = []
    ledger = Ledger(tmp_path / "ledger")

    def kill_server(_: object) -> None:
        server: Any = forkserver._forkserver
        if server._forkserver_pid is not None and len(kills) < 2 and server._forkserver_pid not in kills:
            kills.append(server._forkserver_pid)
            os.kill(server._forkserver_pid, signal.SIGKILL)

    study = load(rehearsal(tmp_path, grid([1, 2, 3])))
    engine = LocalEngine(ledger, jobs=2, preload="recolorist_lab.runs.cell")
    report = run_study(study, ledger, engine, retries=0, on_progress=kill_server)
    assert kills
    assert (report.done, report.failed, report.blocked) == (3, {}, [])
    assert not list((tmp_path / "ledger").rglob("failed.json"))


def test_a_machine_that_starts_no_processes_ends_the_sweep_and_fails_no_cell(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "_MOST_LOST", 3)
    monkeypatch.setattr(sweep, "_LOOK_AGAIN", 0.0)
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(LedgerError, match=r"lost its process 4 times.*the server was killed.*run the same command again"):
        run_study(load(rehearsal(tmp_path, grid([99]))), ledger, LocalEngine(ledger, jobs=1), retries=0)
    assert len(processes.made) == 4
    assert not list((tmp_path / "ledger").rglob("failed.json"))
