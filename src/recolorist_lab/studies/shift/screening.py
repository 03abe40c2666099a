"""The tables of the page of screening: every method at hand, some of which were not run on every target or with both networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recolorist_lab.report.table import Table
from recolorist_lab.studies.classify.table import method_of
from recolorist_lab.studies.shift.page import count_trainings, overall_table, summary_table, whole_seeds
from recolorist_lab.studies.shift.scores import BASELINE, Row, canonical
from recolorist_lab.studies.shift.table import gains_table

__all__ = ["on_all_targets", "screening_tables"]

#: What is shown on the target with two source laboratories: samplers by laboratory, beside Colorist as published.
_BY_DOMAIN: Final = (BASELINE, "Colorist", "colorist(sampler='other_domain')", "colorist(sampler='balanced_domain')")


def screening_tables(rows: Sequence[Row]) -> dict[str, Table | str]:
    """Make every table of the page of screening; seeds of which a training is missing are left out.

    Args:
        rows: Rows of the study.

    Returns:
        Tables and sentences by mark.
    """
    done = whole_seeds(rows)
    whole = on_all_targets(done)
    few = {str(row["dataset"]) for row in done if _method(row) == _BY_DOMAIN[-1]}
    return {
        "cells": count_trainings(rows, done),
        "overall": overall_table(whole),
        "scratch": gains_table(whole, network="network"),
        "frozen": gains_table(whole, network="head"),
        "domains": summary_table([row for row in done if row["dataset"] in few and _method(row) in _BY_DOMAIN]),
    }


def on_all_targets(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of methods that were run on all targets of a kind of network.

    Args:
        rows: Rows of the study.

    Returns:
        Those rows, in the same order.
    """
    targets: dict[tuple[object, str], set[object]] = {}
    for row in rows:
        targets.setdefault((row["fit"], _method(row)), set()).add(row["dataset"])
    return [row for row in rows if targets[row["fit"], _method(row)] == targets.get((row["fit"], BASELINE))]


def _method(row: Row) -> str:
    return canonical(method_of(row))
