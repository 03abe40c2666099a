"""The tables of the part without a shift, where training and test images are of one collection."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from recolorist_lab.report.paired import Difference, difference
from recolorist_lab.report.table import GAP, Cell, Column, Digits, Number, Table, label
from recolorist_lab.studies.shift.names import method_name
from recolorist_lab.studies.shift.page import count_trainings, with_range
from recolorist_lab.studies.shift.scores import Row, Scores, collect

__all__ = ["known_tables"]

_POINTS: Final = Digits(1)
_NETWORK: Final = "network"
_TITLES: Final = MappingProxyType(
    {
        "retinamnist_28": "RetinaMNIST",
        "breastmnist_28": "BreastMNIST",
        "pneumoniamnist_28": "PneumoniaMNIST",
        "pathmnist_28_subset": "PathMNIST subset",
    }
)


def known_tables(rows: Sequence[Row]) -> dict[str, Table | str]:
    """Make every table of the page in distribution, by the name of its mark; unfinished trainings are counted and left out.

    Args:
        rows: Rows of the study.

    Returns:
        Tables and sentences by mark.
    """
    done = [row for row in rows if "result.test.balanced_accuracy" in row]
    scores = collect(done)
    return {"cells": count_trainings(rows, done), "sets": _sets(scores), "harmonising": _harmonising(scores)}


def _sets(scores: Scores) -> Table:
    """List the balanced accuracy on every set, and the mean difference to no augmentation."""
    names = list(dict.fromkeys(target for method in scores.values for _, target in scores.targets(method)))
    lines: list[list[Cell]] = []
    for method in scores.values:
        gain = scores.difference(method, network=_NETWORK) if method in scores.methods else None
        lines.append([method_name(method), *(_mean(scores, method, name) for name in names), _text(gain)])
    columns = [Column(_TITLES.get(name, name), "%", digits=_POINTS) for name in names]
    return Table([label("trained with"), *columns, Column("mean difference", "points")], lines)


def _harmonising(scores: Scores) -> Table:
    """List what harmonising changes where test images are like the training images."""
    lines: list[list[Cell]] = []
    for method in scores.values:
        line: list[Cell] = [method_name(method)]
        for scored in ("test_gated", "test_harmonised"):
            changes = scores.gains(method, scored, network=_NETWORK) - scores.gains(method, network=_NETWORK)
            line.append(_text(difference(changes) if changes.size else None))
        lines.append(line)
    return Table([label("trained with"), Column("gated", "points"), Column("always", "points")], lines)


def _mean(scores: Scores, method: str, name: str) -> Number:
    runs = [run["test"] for setting, run in scores.values[method].items() if setting.target == name]
    return Number(100 * sum(runs) / len(runs)) if runs else GAP


def _text(gain: Difference | None) -> str:
    return "—" if gain is None else with_range(gain)
