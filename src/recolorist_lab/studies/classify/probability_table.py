"""The table of the probability sweep: both aggregates at every probability, with the paper's three values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from recolorist_lab.paper.numbers import PROPERTIES
from recolorist_lab.report.rows import finished
from recolorist_lab.report.table import Cell, Column, Digits, Number, Table, label
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.classify.probability_figure import Curve, aggregate
from recolorist_lab.studies.classify.table import DIGITS, MEDMNIST, OOD, summary

__all__ = ["table"]

Row: TypeAlias = Mapping[str, Json]
_SETS: Final = MappingProxyType({"medmnist": MEDMNIST, "ood": tuple(OOD.values())})


def table(rows: Sequence[Row]) -> Table:
    """Make the table with one line per probability, with the paper's value in brackets where its text gives one.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    seeds = {row["seed"] for row in rows}
    curves = {name: aggregate(finished(rows), name, sets) for name, sets in _SETS.items()}
    lines: list[list[Cell]] = [
        [f"{p:.0%}", *(_cell(name, curve, p, len(seeds)) for name, curve in curves.items())]
        for p in sorted({float(str(row["probability"])) for row in rows})
    ]
    return Table([label("probability"), *(Column(name, digits=DIGITS) for name in ("MedMNIST+ (12)", "OOD (7)"))], lines)


def _cell(name: str, curve: Curve, p: float, seeds: int) -> Number:
    """Return the mean of all seeds; no value where a seed is missing, since the rest is another quantity."""
    values = curve.points.get(p, ())
    printed = PROPERTIES.get(f"{name}_balanced_accuracy_p{100 * p:.0f}")
    beside = None if printed is None else Number(printed, digits=Digits(4, "significant"))
    return summary(values, beside) if len(values) == seeds else Number(None, beside=beside)
