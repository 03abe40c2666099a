"""The local engine: one process per cell, so that a crash, a leak or a graphics card's memory ends with the cell."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, NoReturn

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.runs.cell import CellOutcome, run_cell
from recolorist_lab.runs.engines.devices import VARIABLE, Devices, visible_devices
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell

__all__ = ["LocalEngine"]

_ONE_THREAD: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_SERVER_KILLED: Final = 255  # what multiprocessing reports of a process whose fork server is gone; the process may live on
_PATIENCE: Final = 5.0  # seconds a cell has to give up its claim before it is killed; the claim is then seen to be dead


class LocalEngine:
    """Up to ``jobs`` processes on this machine, each with the GPUs that its cell asks for and no others."""

    def __init__(self, ledger: Ledger, jobs: int, preload: str = "recolorist_lab.runs.engines.preload") -> None:
        if jobs < 1:
            raise OptionError(f"jobs={jobs}; at least one process is needed")
        self._ledger, self._jobs = ledger, jobs
        self._context = _context(preload)
        self._running: dict[Any, tuple[Cell, Connection]] = {}
        self._devices: Devices | None = None  # looked for when a cell asks for one
        self._taken: dict[str, tuple[str, ...]] = {}  # GPUs by run id
        self._stillborn: list[tuple[Cell, CellOutcome]] = []
        for name in _ONE_THREAD:
            os.environ.setdefault(name, "1")  # processes are the parallelism; threads in each would only be in the way

    def free(self) -> int:
        """Return how many more cells it would take now.

        Returns:
            The number.
        """
        return self._jobs - len(self._running) - len(self._stillborn)

    def fits(self, cell: Cell) -> bool:
        """Tell whether the GPUs that a cell asks for are free; a machine without any runs it on its processor.

        Args:
            cell: The cell.

        Returns:
            True if it can start now.
        """
        if not cell.resources.gpus:
            return True
        if self._devices is None:
            self._devices = Devices(visible_devices())
            if not len(self._devices):
                sys.stderr.write("recolorist-lab: cells ask for GPUs and this machine has none; they run on its processor\n")
        return self._devices.fits(cell.resources.gpus)

    def start(self, cell: Cell) -> None:
        """Begin a cell in a process of its own.

        Args:
            cell: The cell.
        """
        ours, theirs = self._context.Pipe(duplex=False)
        devices = self._devices.take(cell.resources.gpus) if self._devices is not None else ()
        self._taken[cell.run_id] = devices
        process = self._context.Process(target=_main, args=(theirs, self._ledger.root, self._ledger.lease, cell, devices))
        try:
            process.start()
        except (OSError, EOFError) as error:  # the server that forks them was killed; the next start brings up another
            self._stillborn.append((cell, CellOutcome("lost", f"its process could not be started ({error})")))
            ours.close()
        else:
            self._running[process] = (cell, ours)
        finally:
            theirs.close()

    def wait(self, seconds: float) -> list[tuple[Cell, CellOutcome]]:
        """Wait for processes to end.

        Args:
            seconds: The longest wait.

        Returns:
            The cells that ended, and how.
        """
        ended, self._stillborn = self._stillborn, []
        if self._running:
            wait([process.sentinel for process in self._running], timeout=0.0 if ended else seconds)
        for process in [process for process in self._running if process.exitcode is not None]:
            cell, pipe = self._running.pop(process)
            ended.append((cell, _outcome(process, pipe)))
            process.close()
        for cell, _ in ended:
            self._give_back(cell)
        return ended

    def _give_back(self, cell: Cell) -> None:
        devices = self._taken.pop(cell.run_id, ())
        if self._devices is not None:
            self._devices.give_back(devices, cell.resources.gpus)

    def stop(self) -> None:
        """Ask every process to give up its claim and leave; kill those that do not."""
        for process in self._running:
            process.terminate()
        until = time.monotonic() + _PATIENCE
        for process, (_, pipe) in self._running.items():
            process.join(max(0.0, until - time.monotonic()))
            if process.exitcode is None:
                process.kill()
                process.join()
            pipe.close()
        self._running.clear()


def _outcome(process: Any, pipe: Connection) -> CellOutcome:
    """Return the last message of the process, or how it died. The message may be cut off at any byte."""
    with pipe, contextlib.suppress(Exception):
        if pipe.poll():
            return CellOutcome(*pipe.recv())
    code = process.exitcode
    if code == _SERVER_KILLED:
        return CellOutcome("lost", "the server that starts processes was killed, so how this one ended is not known")
    return CellOutcome("died", f"by signal {-code}" if code < 0 else f"with exit code {code}")


def _context(preload: str) -> Any:
    """Return how processes start: forked from a clean server that has imported what they need, where the system can do that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", preload])
    return context


def _main(pipe: Connection, root: Path, lease: float, cell: Cell, devices: tuple[str, ...] = ()) -> None:
    """Run one cell. The launcher alone answers Ctrl-C, and the process does not outlive it."""
    if devices:
        os.environ[VARIABLE] = ",".join(devices)  # before CUDA is first used, which reads it once
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
    try:
        outcome = run_cell(root, lease, cell)
    except RecoloristError as error:
        outcome = CellOutcome("error", str(error))
    pipe.send((outcome.name, outcome.message))


def _leave(*_: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


def _follow(sentinel: Any) -> None:
    """End this process when the launcher is gone: in order if possible, and otherwise at once."""
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE)
    os._exit(128 + signal.SIGTERM)
