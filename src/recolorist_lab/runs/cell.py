"""Run one cell: claim it, compute it, publish its result. Every engine runs cells with this module, on any machine."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

from recolorist.errors import RecoloristError
from recolorist_lab.runs import checkpoints, environment
from recolorist_lab.runs.claims import Claim, LedgerError, LostClaimError
from recolorist_lab.runs.config import Json, canonical
from recolorist_lab.runs.kind import Input
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger, writing
from recolorist_lab.runs.study import Cell

__all__ = ["CellOutcome", "died", "run_cell"]


@dataclass(frozen=True)
class CellOutcome:
    """How an attempt ended. The ledger has the same information; this saves the launcher from reading it.

    ``died`` is an attempt whose process was seen to die. ``lost`` is one of which nothing is known: its process did not start, or
    the server that started it was killed. It says nothing of the cell.
    """

    name: Literal["done", "reused", "failed", "busy", "died", "lost", "error"]
    message: str = ""


class _Context:
    """What the running cell sees (:class:`recolorist_lab.runs.kind.Context`)."""

    def __init__(self, ledger: Ledger, cell: Cell, claim: Claim) -> None:
        self._ledger, self._cell, self._claim = ledger, cell, claim
        self.files: dict[str, Json] = {}
        self.resumed_from: int | None = None
        self._step = -1

    @property
    def inputs(self) -> Mapping[str, tuple[Input, ...]]:
        inputs: dict[str, tuple[Input, ...]] = {}
        for grid, cell in self._cell.inputs:
            inputs[grid] = (*inputs.get(grid, ()), self._ledger.result(cell))
        return inputs

    def resume(self) -> tuple[int, bytes] | None:
        checkpoint = checkpoints.load(self._ledger.folder(self._cell))
        if checkpoint is not None:
            self.resumed_from = self._step = checkpoint[0]
        return checkpoint

    def save(self, step: int, data: bytes) -> None:
        if step <= self._step:
            raise RecoloristError(f"the checkpoint of step {step} comes after that of step {self._step}; steps must rise")
        self._claim.check()
        folder = self._ledger.folder(self._cell)
        with writing(folder):
            checkpoints.save(folder, step, data)
        self._step = step

    def keep(self, name: str, data: bytes) -> None:
        self._claim.check()
        self.files[name] = self._ledger.keep(self._cell, name, data)


def run_cell(root: Path, lease: float, cell: Cell) -> CellOutcome:
    """Claim a cell, run it, and leave its result or its error in the ledger.

    Args:
        root: The folder of the ledger.
        lease: Seconds after which a silent claim expires.
        cell: The cell.

    Returns:
        How it ended.

    Raises:
        LedgerError: The ledger cannot be used; errors of the cell itself are recorded, not raised.
    """
    ledger = Ledger(root, lease=lease, must_exist=True)
    _refuse_other_code(cell)
    _refuse_other_data(cell)
    claim = ledger.claim(cell)
    if claim is None:
        return CellOutcome("busy")
    with claim:
        state = ledger.state(cell)
        if state.name == "done":  # finished by another since we looked
            ledger.clean(cell, claim)
            return CellOutcome("reused")
        if state.name == "failed":
            return CellOutcome("failed", state.detail)
        if state.name == "corrupt":
            ledger.set_aside(cell)
        try:
            return _work(ledger, cell, claim)
        except LostClaimError:
            return CellOutcome("busy")


def _work(ledger: Ledger, cell: Cell, claim: Claim) -> CellOutcome:
    context = _Context(ledger, cell, claim)
    others = set(multiprocessing.active_children())
    started, start = datetime.now(UTC), time.perf_counter()
    try:
        result = dict(KINDS[cell.kind].run(cell.config, context))
        canonical(result)  # numbers that are not finite, and objects that JSON does not know, are found here
    except (LedgerError, LostClaimError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not cost the other cells
        _kill(set(multiprocessing.active_children()) - others)
        return _fail(ledger, cell, claim, error)
    timings = {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - start, 6),
        "attempt": claim.number,
        "resumed_from": context.resumed_from,
    }
    claim.check()
    ledger.publish(cell, {**_describe_cell(cell), "result": result, "files": context.files, "timings": timings})
    ledger.clean(cell, claim)
    return CellOutcome("done")


def _kill(children: Iterable[BaseProcess]) -> None:
    """Kill what a failed run left behind: Python waits for its processes when it ends, and for a stopped one without end."""
    for child in children:
        child.kill()
        child.join()


def _describe_cell(cell: Cell) -> dict[str, Any]:
    return {
        "run": cell.run_id,
        "name": cell.name,
        "identity": cell.identity,
        "selection": KINDS[cell.kind].selection,
        "environment": environment.describe(),
    }


def _fail(ledger: Ledger, cell: Cell, claim: Claim, error: Exception) -> CellOutcome:
    message = str(error) if isinstance(error, RecoloristError) else f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    trace = [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames]  # without machines' folders
    claim.check()
    ledger.fail(cell, {**_describe_cell(cell), "error": message, "trace": trace})
    return CellOutcome("failed", message)


def died(ledger: Ledger, cell: Cell, times: int, how: str) -> CellOutcome:
    """Record a cell whose process dies each time; if another process finished it, that counts.

    Args:
        ledger: The ledger that the cells are in.
        cell: The cell.
        times: How often its process died.
        how: The last exit code or signal.

    Returns:
        How it ended.
    """
    claim = ledger.claim(cell)
    if claim is None:
        return CellOutcome("busy")
    with claim:
        if ledger.state(cell).name in {"done", "failed"}:
            return CellOutcome("busy")
        message = f"the process running it died {times} times, the last time {how}; it may need more memory than there is"
        ledger.fail(cell, {**_describe_cell(cell), "error": message, "trace": []})
    return CellOutcome("failed", message)


def _refuse_other_code(cell: Cell) -> None:
    code = KINDS[cell.kind].fingerprint(cell.config)
    if code != cell.code:
        raise RecoloristError(
            f"{cell.name} was planned with other sources than the ones this worker has ({cell.code[:12]} and {code[:12]}); "
            "install the same version everywhere and do not edit it while a sweep runs"
        )


def _refuse_other_data(cell: Cell) -> None:
    """Refuse other data: a dataset's name may mean other images on another machine, or since the study was read."""
    data = KINDS[cell.kind].data(cell.config)
    if data != cell.data:
        raise RecoloristError(
            f"{cell.name} was planned with other data than the ones this worker has ({cell.data[:12]} and {data[:12]}); "
            "give every machine the same manifests and do not change them while a sweep runs"
        )
