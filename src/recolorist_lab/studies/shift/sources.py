"""The table of the sources of the shift study: what each method costs on images like the training images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recolorist_lab.report.table import GAP, Cell, Column, Digits, Number, Table, label
from recolorist_lab.studies.shift.names import method_name, source_name
from recolorist_lab.studies.shift.page import count_trainings, whole_seeds
from recolorist_lab.studies.shift.scores import BASELINE, Row, Scores, collect

__all__ = ["sources_tables"]

_POINTS: Final = Digits(1)
_NETWORK: Final = "network"


def sources_tables(rows: Sequence[Row]) -> dict[str, Table | str]:
    """Make the table of the page of sources; seeds of which a training is missing are left out.

    Args:
        rows: Rows of the study.

    Returns:
        Tables and sentences by mark.
    """
    done = whole_seeds(rows)
    return {"cells": count_trainings(rows, done), "sources": _sources(collect(done))}


def _sources(scores: Scores) -> Table:
    """List the balanced accuracy at every source, and the mean difference to no augmentation; the best method first."""
    if not scores.values:
        return Table([label("trained with"), Column("mean difference", "points", digits=_POINTS)], [])
    names = [name for _, name in scores.targets(BASELINE)]
    change = {method: float(scores.gains(method, "source", network=_NETWORK).mean()) for method in scores.methods}
    lines: list[list[Cell]] = [
        [method_name(method), *(_accuracy(scores, method, name) for name in names), _points(change.get(method))]
        for method in (BASELINE, *sorted(change, key=lambda method: -change[method]))
    ]
    columns = [Column(source_name(name), "%", digits=_POINTS) for name in names]
    return Table([label("trained with"), *columns, Column("mean difference", "points", digits=_POINTS)], lines)


def _accuracy(scores: Scores, method: str, name: str) -> Number:
    runs = [run["source"] for setting, run in scores.values[method].items() if setting.target == name]
    return Number(100 * sum(runs) / len(runs)) if runs else GAP


def _points(value: float | None) -> Number:
    return GAP if value is None else Number(100 * value)
