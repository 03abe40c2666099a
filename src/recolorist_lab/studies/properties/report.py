"""Show the properties study: its tables and figures."""

from __future__ import annotations

from collections import defaultdict
from functools import partial as partial_of
from typing import Any

import numpy as np

from recolorist_lab.report.rows import finished, has_result
from recolorist_lab.report.sections import Cells, Row, Section
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.properties import cell as properties
from recolorist_lab.studies.properties import figure as properties_figure
from recolorist_lab.studies.properties import table as properties_table
from recolorist_lab.studies.properties.table import family, titled

__all__ = ["show"]


def show(section: Section, cells: Cells, ledger: Ledger) -> None:
    """Show correlation, clipping and what limits change.

    Args:
        section: The section of the report that is filled.
        cells: The cells of the study with their rows.
        ledger: The ledger that the cells are in.
    """
    by_family: dict[str, list[Row]] = defaultdict(list)
    for _, row in cells:
        by_family[family(row)].append(row)
    compared = [*by_family["paper"], *by_family["native"]]
    if compared:
        title = "Correlation and clipping, with the paper's figures"
        section.table("comparison", title, properties_table.comparison(compared), compared)
    limited = [row for name in properties_table.LIMITS for row in by_family[name]]
    if limited:
        section.table("limits", "Holding the transform back", properties_table.limits(limited), limited)
    if finished([*by_family["gain"], *by_family["clip"]]):
        section.figure("limits", "What holding back changes", lambda: properties_figure.limits(limited), limited)
    if by_family["space"]:
        section.table(
            "spaces", "The same in other colour spaces", properties_table.spaces(by_family["space"]), by_family["space"]
        )
    shown = _instances(cells, ledger)
    if shown:
        draw = partial_of(properties_figure.clipping, shown)
        section.figure("clipping", "Clipping and correlation of every channel", draw, compared)


def _instances(cells: Cells, ledger: Ledger) -> dict[str, dict[str, Any]]:
    """Collect every channel of every pair by dataset and size; seeds are pooled."""
    of_family = [(cell, row) for cell, row in cells if family(row) in ("paper", "native") and has_result(row)]
    several = len({row["size"] for _, row in of_family}) > 1
    by_name: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for cell, row in of_family:
        size = f", {row['size']} px" if row["size"] else ", own size"
        name = titled(str(row["dataset"])) + (size if several else "")
        by_name[name].append(properties_figure.instances(ledger.result(cell).read(properties.FILE)))
    return {
        name: {key: np.concatenate([table[key] for table in tables]) for key in tables[0]} for name, tables in by_name.items()
    }
