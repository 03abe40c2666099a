"""Running a study: what is ready goes to an engine, and what happened is read from the ledger.

Launchers know nothing of each other. Any number of them, on any number of machines, may run the same study at once. A cell that
another one holds is looked at again later.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from recolorist_lab.runs import cell as cells
from recolorist_lab.runs.cell import CellOutcome
from recolorist_lab.runs.claims import LedgerError
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, Study
from recolorist_lab.runs.tidy import leftovers

__all__ = ["RETRIES", "Engine", "Progress", "Report", "run_study"]

RETRIES: Final = 3  # of a cell whose process died; a cell that raised an error is not tried again until `sweep retry`
_MOST_LOST: Final = 100  # attempts of a cell that did not begin, half a second apart
_LOOK_AGAIN: Final = 0.5  # seconds until a cell that someone else holds is looked at again
_TICK: Final = 0.5  # seconds at most between two looks at the engine


class Engine(Protocol):
    """Where cells are run."""

    def free(self) -> int:
        """Return how many more cells it would take now.

        Returns:
            The number.
        """

    def fits(self, cell: Cell) -> bool:
        """Tell whether what a cell asks for is free now.

        Args:
            cell: The cell.

        Returns:
            True if it can start now.
        """

    def start(self, cell: Cell) -> None:
        """Begin a cell.

        Args:
            cell: The cell.
        """

    def wait(self, seconds: float) -> list[tuple[Cell, CellOutcome]]:
        """Wait for cells to end.

        Args:
            seconds: The longest wait.

        Returns:
            The cells that ended, and how.
        """

    def stop(self) -> None:
        """End everything; cells in work give up their claims and keep their checkpoints."""


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    total: int
    done: int
    failed: int
    running: int


@dataclass
class Report:
    """How a sweep ended."""

    total: int
    reused: int = 0  # were finished before
    ran: int = 0  # were finished by this launcher
    elsewhere: int = 0  # were finished by others meanwhile
    failed: dict[str, str] = field(default_factory=dict)  # by name, with the error
    blocked: list[str] = field(default_factory=list)  # build on a cell that failed
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """Cells with a result."""
        return self.reused + self.ran + self.elsewhere

    @property
    def is_complete(self) -> bool:
        """Whether every cell has a result."""
        return self.done == self.total


def run_study(
    study: Study,
    ledger: Ledger,
    engine: Engine,
    *,
    retries: int = RETRIES,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """Run until every cell is finished, has failed, or builds on one that has.

    Args:
        study: The study.
        ledger: The ledger that the cells are in.
        engine: Runs cells.
        retries: How often a cell whose process died is tried again.
        on_progress: Is called with the counts.

    Returns:
        What became of the cells.

    Raises:
        LedgerError: The ledger cannot be used.
    """
    started = time.monotonic()
    sweep = _Sweep(study, ledger, engine, retries)
    try:
        sweep.look()
        on_progress(sweep.progress())
        while sweep.left:
            sweep.fill()
            sweep.gather()
            on_progress(sweep.progress())
    finally:
        engine.stop()
    leftovers(ledger, [ledger.folder(cell) for cell in study.cells])
    sweep.report.seconds = time.monotonic() - started
    return sweep.report


class _Sweep:
    """The state of one launcher while it runs; all of it can be read from the ledger again."""

    def __init__(self, study: Study, ledger: Ledger, engine: Engine, retries: int) -> None:
        self._ledger, self._engine, self._retries = ledger, engine, retries
        self.left = {cell.run_id: cell for cell in study.cells}
        self.report = Report(len(study.cells))
        self._done_ids: set[str] = set()
        self._hopeless: set[str] = set()  # failed, or building on what failed
        self._running: set[str] = set()
        self._deaths: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._not_before: dict[str, float] = {}

    def progress(self) -> Progress:
        return Progress(self.report.total, self.report.done, len(self.report.failed), len(self._running))

    def look(self) -> None:
        """Record the cells that finished or failed before this launcher started."""
        now = self._ledger.now()
        for cell in list(self.left.values()):
            state = self._ledger.state(cell, now)
            if state.name == "done":
                self._note_finished(cell)
                self.report.reused += 1
            elif state.name == "failed":
                self._note_failed(cell, state.detail)

    def fill(self) -> None:
        """Give the engine what is ready, as much as it can take."""
        now, clock = self._ledger.now(), time.monotonic()
        for run_id, cell in list(self.left.items()):
            if self._engine.free() < 1:
                return
            needed = {needed.run_id for _, needed in cell.inputs}
            if needed & self._hopeless:
                self._hopeless.add(run_id)
                self.report.blocked.append(self.left.pop(run_id).name)
            elif needed <= self._done_ids and self._is_due(run_id, clock) and self._engine.fits(cell):
                self._offer(cell, now)

    def _is_due(self, run_id: str, clock: float) -> bool:
        return run_id not in self._running and self._not_before.get(run_id, 0.0) <= clock

    def _offer(self, cell: Cell, now: float) -> None:
        state = self._ledger.state(cell, now)
        if state.name == "done":
            self._note_finished(cell)
            self.report.elsewhere += 1
        elif state.name == "failed":
            self._note_failed(cell, state.detail)
        elif state.name in {"claimed", "running"}:
            self._postpone(cell)
        else:
            self._running.add(cell.run_id)
            self._engine.start(cell)

    def gather(self) -> None:
        """Record what ended; where nothing runs here, wait for the cells of other launchers."""
        if not self._running and self.left:
            time.sleep(_TICK / 5)
        for cell, outcome in self._engine.wait(_TICK) if self._running else []:
            self._running.discard(cell.run_id)
            self._settle(cell, outcome)

    def _settle(self, cell: Cell, outcome: CellOutcome) -> None:
        if outcome.name == "died":
            self._deaths[cell.run_id] += 1
            if self._deaths[cell.run_id] > self._retries:
                outcome = cells.died(self._ledger, cell, self._deaths[cell.run_id], outcome.message)
        if outcome.name == "lost":
            self._lost[cell.run_id] += 1
            if self._lost[cell.run_id] > _MOST_LOST:
                raise LedgerError(
                    f"{cell.name} lost its process {self._lost[cell.run_id]} times, the last time because {outcome.message}; "
                    "something on this machine kills processes. Nothing is lost: mend that, and run the same command again"
                )
            self._postpone(cell)
        if outcome.name == "error":
            raise LedgerError(outcome.message)
        if outcome.name == "done":
            self._note_finished(cell)
            self.report.ran += 1
        elif outcome.name == "reused":
            self._note_finished(cell)
            self.report.elsewhere += 1
        elif outcome.name == "failed":
            self._note_failed(cell, outcome.message)
        elif outcome.name == "busy":
            self._postpone(cell)

    def _note_finished(self, cell: Cell) -> None:
        self._done_ids.add(cell.run_id)
        del self.left[cell.run_id]

    def _note_failed(self, cell: Cell, message: str) -> None:
        self._hopeless.add(cell.run_id)
        self.report.failed[cell.name] = message
        del self.left[cell.run_id]

    def _postpone(self, cell: Cell) -> None:
        self._not_before[cell.run_id] = time.monotonic() + _LOOK_AGAIN
