"""The tables of the second round of the shift study: the kinds of network of which whole seeds were run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recolorist_lab.report.paired import difference
from recolorist_lab.report.table import Cell, Column, Table, label
from recolorist_lab.studies.shift.names import method_name
from recolorist_lab.studies.shift.page import count_trainings, harmonising_table, whole_seeds, with_range
from recolorist_lab.studies.shift.scores import BASELINE, Row, collect
from recolorist_lab.studies.shift.table import gains_table, targets_table

__all__ = ["second_tables"]

_NETWORK: Final = "head"
_ALONE: Final = "RandAugment"


def second_tables(rows: Sequence[Row]) -> dict[str, Table | str]:
    """Make every table of the page, by the name of its mark; seeds of which a training is missing are left out.

    Args:
        rows: Rows of the study.

    Returns:
        Tables and sentences by mark.
    """
    done = [row for row in whole_seeds(rows) if row["fit"] == _NETWORK]
    return {
        "cells": count_trainings(rows, done),
        "gains": gains_table(done, network=_NETWORK),
        "added": _added(done),
        "harmonising": harmonising_table(done, _NETWORK),
        "targets": targets_table(done, list(collect(done).values), _NETWORK),
    }


def _added(rows: Sequence[Row]) -> Table:
    """List what every method that ends in RandAugment adds to it alone."""
    scores = collect(rows)
    lines: list[list[Cell]] = []
    for method in scores.values:
        if method in (BASELINE, _ALONE) or not method.endswith("+randaugment"):
            continue
        line: list[Cell] = [method_name(method)]
        for scored in ("test", "test_gated", "source"):
            less, more = (scores.gains(each, scored, network=_NETWORK) for each in (_ALONE, method))
            line.append(with_range(difference(more - less)))
        lines.append(line)
    headings = ("as they are", "gated", "at the source")
    return Table([label("against RandAugment alone"), *(Column(heading, "points") for heading in headings)], lines)
