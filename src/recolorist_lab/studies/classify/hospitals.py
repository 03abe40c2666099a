"""The quick configurations on synthetic hospitals: accuracy on the source and on unseen hospitals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from recolorist_lab.report.table import GAP, Cell, Column, Number, Table, label
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.classify.table import DIGITS, method_of, summary, value_of

__all__ = ["EVERY_SET", "SETS", "methods", "probabilities", "scored", "tables"]

Row: TypeAlias = Mapping[str, Json]

#: What was scored, and how the table calls it.
SETS: Final = {
    "source": "source, held out",
    "val_split": "unseen hospital 1",
    "test": "unseen hospital 2",
}
#: Of data that are not the synthetic hospitals.
EVERY_SET: Final = {
    "source": "source, held out",
    "val_split": "validation split",
    "test": "test",
    "test_harmonised": "test, harmonised",
    "test_gated": "test, gated",
}
_UNSEEN: Final = ("val_split", "test")


def tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Make every table of the page.

    Args:
        rows: Results, one for each cell.

    Returns:
        Tables by their mark on the page.
    """
    return {"methods": methods(rows), "probabilities": probabilities(rows)}


def methods(rows: Sequence[Row]) -> Table:
    """Make the table with one line per method, in the order of the study.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    return _table([row for row in rows if row["grid"] != "probability"], "method", method_of)


def probabilities(rows: Sequence[Row]) -> Table:
    """Make the table with one line per probability of Colorist.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    swept = [row for row in rows if row["grid"] == "probability"]
    return _table(swept, "probability", lambda row: f"{float(str(row['probability'])):.0%}")


def _table(rows: Sequence[Row], heading: str, name: Callable[[Row], str]) -> Table:
    by_title: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_title[name(row)].append(row)
    lines: list[list[Cell]] = [
        [title, *(_summary(group, (name,)) for name in SETS), _summary(group, _UNSEEN)] for title, group in by_title.items()
    ]
    return Table([label(heading), *(Column(name, digits=DIGITS) for name in (*SETS.values(), "mean of the unseen"))], lines)


def scored(rows: Sequence[Row]) -> Table:
    """Make the table with one line per method and one column for each set that was scored.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    names = [name for name in EVERY_SET if any(f"result.{name}.balanced_accuracy" in row for row in rows)]
    by_method: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_method[method_of(row)].append(row)
    lines: list[list[Cell]] = [
        [title, str(len(group)), *(_summary(group, (name,)) for name in names)] for title, group in by_method.items()
    ]
    return Table([label("method"), Column("runs"), *(Column(EVERY_SET[name], digits=DIGITS) for name in names)], lines)


def _summary(rows: Sequence[Row], sets: Sequence[str]) -> Number:
    """Average over sets and then over seeds; return no value where a run is missing."""
    if not all(f"result.{name}.balanced_accuracy" in row for row in rows for name in sets):
        return GAP
    return summary([sum(value_of(row, name) for name in sets) / len(sets) for row in rows])
