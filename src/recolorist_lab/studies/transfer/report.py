"""Show the transfer study: its tables and pictures."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from recolorist_lab.report.rows import has_result
from recolorist_lab.report.sections import UNMEASURED, Cells, Section, lacks
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.transfer import cell as transfer
from recolorist_lab.studies.transfer import figure as transfer_figure
from recolorist_lab.studies.transfer import table as transfer_table

__all__ = ["show", "show_training"]


def show(section: Section, cells: Cells, ledger: Ledger) -> None:
    """Show the metrics and pictures of every method.

    Args:
        section: The section of the report that is filled.
        cells: The cells of the study with their rows.
        ledger: The ledger that the cells are in.
    """
    rows = [row for _, row in cells]
    more = UNMEASURED if lacks(rows, "artfid") else ""
    section.table("transfer", "The metrics of every method, the paper's in brackets", transfer_table.table(rows), rows, more)
    shown: dict[str, dict[str, Any]] = defaultdict(dict)
    titles: dict[str, str] = {}
    for cell, row in sorted(cells, key=lambda entry: entry[1]["method"] != transfer.COLORIST):
        name = transfer_table.label(row)
        if has_result(row) and name not in shown[str(row["dataset"])]:
            shown[str(row["dataset"])][name] = transfer_table.shown(ledger.result(cell).read(transfer.SHOWN))
            titles[name] = name
    examples = transfer_figure.examples({dataset: methods for dataset, methods in shown.items() if methods})
    ours = transfer_table.title(transfer.COLORIST)
    if all(ours in entry.outputs for entry in examples):
        words = "Content, style and result of Colorist, pairs that the runs kept"
        section.figure("triplets", words, lambda: transfer_figure.triplets(examples, ours))
    section.figure("qualitative", "Every method on the same pairs", lambda: transfer_figure.qualitative(examples, titles), rows)


_LISTED: Final = 40  # trainings; a longer table would not be read


def show_training(section: Section, cells: Cells, _: Ledger) -> None:
    """Show what every network learnt from.

    Args:
        section: The section of the report that is filled.
        cells: The cells of the study with their rows.
    """
    rows = [row for _, row in cells]
    if len(rows) > _LISTED:
        section.basis.append(f"{len(rows)} trainings are behind it; `recolorist-lab sweep export` lists them.")
        return
    section.table("training", "What the networks learnt from", transfer_table.budget(rows), rows)
