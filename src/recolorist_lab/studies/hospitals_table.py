"""The quick twins on synthetic hospitals: how well the source is known, and how well hospitals that nobody trained on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from recolorist_lab.config import Json
from recolorist_lab.studies.classify_table import Summary, method_of, value_of
from recolorist_lab.studies.pages import markdown

__all__ = ["SETS", "methods", "probabilities", "tables"]

Row: TypeAlias = Mapping[str, Json]

#: What was scored, and how the table calls it.
SETS: Final = {
    "source": "source, held out",
    "val_split": "unseen hospital 1",
    "test": "unseen hospital 2",
}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Every table of the page, by its mark."""
    return {"methods": methods(rows), "probabilities": probabilities(rows)}


def methods(rows: Sequence[Row]) -> str:
    """One line per method, in the order of the study."""
    return _table([row for row in rows if row["grid"] != "probability"], "method", method_of)


def probabilities(rows: Sequence[Row]) -> str:
    """One line per probability of Colorist."""
    swept = [row for row in rows if row["grid"] == "probability"]
    return _table(swept, "probability", lambda row: f"{float(str(row['probability'])):.0%}")


def _table(rows: Sequence[Row], what: str, name: Callable[[Row], str]) -> str:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[name(row)].append(row)
    lines = []
    for title, each in found.items():
        unseen = Summary.of([(value_of(row, "val_split") + value_of(row, "test")) / 2 for row in each])
        lines.append([title, *(str(Summary.of([value_of(row, scored) for row in each])) for scored in SETS), str(unseen)])
    return markdown([what, *SETS.values(), "mean of the unseen"], lines)
