"""The state of a study as its ledger shows it: counts, holders, errors, damage, and the time that is left."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from recolorist_lab.runs.config import Json
from recolorist_lab.runs.ledger import STATES, Ledger, Result, State
from recolorist_lab.runs.sealed import CorruptError
from recolorist_lab.runs.study import Cell, Study

__all__ = ["Survey", "damages", "show", "survey", "watch"]

_TO_DO = ("missing", "stale", "corrupt", "claimed", "running")


@dataclass(frozen=True)
class Survey:
    """The states of all cells at one moment."""

    study: str
    cells: tuple[tuple[Cell, State], ...]

    def count(self, grid: str | None = None) -> dict[str, int]:
        """Count cells by state.

        Args:
            grid: The grid; None for all.

        Returns:
            Numbers by state.
        """
        names = [state.name for cell, state in self.cells if grid in {None, cell.grid}]
        return {name: names.count(name) for name in STATES}

    @property
    def seconds_left(self) -> float | None:
        """Cells to do times the usual time of a cell, shared by those at work now; None while there is nothing to go by."""
        times = [state.seconds for _, state in self.cells if state.seconds is not None]
        counts = self.count()
        to_do = sum(counts[name] for name in _TO_DO)
        workers = counts["claimed"] + counts["running"]
        if not to_do:
            return 0.0
        return statistics.fmean(times) * to_do / workers if times and workers else None

    def to_json(self, *, cells: bool = False) -> dict[str, Json]:
        """Describe the states for other programs.

        Args:
            cells: Also list every cell.

        Returns:
            Counts, and the cells where asked for.
        """
        summary: dict[str, Any] = {
            "study": self.study,
            "cells": len(self.cells),
            **self.count(),
            "seconds_left": self.seconds_left,
        }
        grids = dict.fromkeys(cell.grid for cell, _ in self.cells)
        summary["grids"] = {grid: self.count(grid) for grid in grids}
        listed = [(cell, state) for cell, state in self.cells if cells or state.name in {"failed", "corrupt", "stale"}]
        summary["list"] = [
            {"cell": cell.name, "run": cell.run_id, "state": state.name, "detail": state.detail} for cell, state in listed
        ]
        return summary


def survey(study: Study, ledger: Ledger) -> Survey:
    """Look up the state of every cell.

    Args:
        study: The study.
        ledger: The ledger that the cells are in.

    Returns:
        The states.
    """
    now = ledger.now()
    return Survey(study.name, tuple((cell, ledger.state(cell, now)) for cell in study.cells))


def show(overview: Survey, *, cells: bool = False) -> None:
    """Print an overview.

    Args:
        overview: The states.
        cells: Also list every cell.
    """
    Console().print(_picture(overview, cells=cells))


def watch(study: Study, ledger: Ledger, *, cells: bool = False, interval: float = 2.0) -> None:
    """Print the overview again and again until no work is left.

    Args:
        study: The study.
        ledger: The ledger that the cells are in.
        cells: Also list every cell.
        interval: Seconds between two.
    """
    with Live(Text(), console=Console(), auto_refresh=False) as live:
        while True:
            overview = survey(study, ledger)
            live.update(_picture(overview, cells=cells), refresh=True)
            if not any(overview.count()[name] for name in _TO_DO):
                return
            time.sleep(interval)


def damages(ledger: Ledger, studies: Sequence[Study]) -> tuple[int, dict[str, str]]:
    """Verify the results of studies.

    Args:
        ledger: The ledger that the cells are in.
        studies: The studies.

    Returns:
        How many there are, and what is wrong, by run id.
    """
    folders_of_studies = {ledger.folder(cell) for study in studies for cell in study.cells}
    folders = [folder for folder in ledger.folders() if not studies or folder in folders_of_studies]
    present = [folder for folder in folders if (folder / "result.json").exists()]
    messages: dict[str, str] = {}
    for folder in present:
        try:
            Result.load(folder).verify()
        except (OSError, CorruptError) as error:
            messages[folder.name] = str(error)
    return len(present), messages


def _picture(overview: Survey, *, cells: bool) -> RenderableType:
    table = Table(title=overview.study, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("grid", no_wrap=True)
    total = overview.count()
    shown = [name for name in STATES if name == "done" or total[name]]  # all of them would not fit into 80 columns
    for name in ("cells", *shown):
        table.add_column(name, justify="right", no_wrap=True)
    for grid in dict.fromkeys(cell.grid for cell, _ in overview.cells):
        counts = overview.count(grid)
        table.add_row(Text(grid), str(sum(counts.values())), *(str(counts[name] or "·") for name in shown))
    lines = [Text(f"{state.name:8} {cell.name}  {state.detail}") for cell, state in overview.cells if cells or _is_news(state)]
    return Group(table, *lines, Text(_remaining_text(overview)))


def _is_news(state: State) -> bool:
    return state.name in {"failed", "corrupt", "running", "claimed"}


def _remaining_text(overview: Survey) -> str:
    left = overview.seconds_left
    if left is None:
        return "Time left: unknown; nobody is at work, or nothing is finished yet."
    minutes, seconds = divmod(round(left), 60)
    return f"Time left: about {minutes} min {seconds} s." if left else "Nothing is left to do."
