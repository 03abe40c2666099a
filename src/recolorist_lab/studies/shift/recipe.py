"""The tables of the recipe: what each way to train and deploy gave, and what to do in each case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from recolorist_lab.report.paired import Difference
from recolorist_lab.report.table import Cell, Column, Table, label
from recolorist_lab.studies.shift.names import group_of, has_several_sources
from recolorist_lab.studies.shift.page import CHOSEN, LARGEST, with_range
from recolorist_lab.studies.shift.scores import BASELINE, NETWORKS, Row, collect

__all__ = ["Case", "cases_table", "recipe_table"]


class Case(NamedTuple):
    """One line of the recipe: the targets it is about, what to do there, and the runs that measured it."""

    name: str
    holds: Callable[[str], bool]
    advice: str
    method: str
    scored: str


CASES: Final = (
    Case("several hospitals train", has_several_sources, "RandAugment, gate", CHOSEN, "test_gated"),
    Case("one hospital trains", lambda name: not has_several_sources(name), "RandAugment, gate", CHOSEN, "test_gated"),
    Case("blood", lambda name: name.startswith("blood-"), "RandAugment, gate", CHOSEN, "test_gated"),
    Case("blood, images stay as they are", lambda name: name.startswith("blood-"), "`own_style`, RandAugment", LARGEST, "test"),
    Case("H&E", lambda name: name.startswith("breast-"), "RandAugment", CHOSEN, "test"),
    Case("fundus", lambda name: name.startswith("fundus-"), "RandAugment", CHOSEN, "test"),
)


def cases_table(rows: Sequence[Row]) -> Table:
    """Return one line for each case of the recipe: what to do, and what it gave.

    Args:
        rows: Rows of whole seeds.

    Returns:
        Gains over no augmentation and no harmonising, each with its interval and the targets on which it was above zero. A case
        without targets is left out.
    """
    names = sorted({str(row["dataset"]) for row in rows})
    lines: list[list[Cell]] = []
    for case in CASES:
        targets = [name for name in names if case.holds(name)]
        if not targets:
            continue
        scores = collect(rows, targets)
        gains = [scores.difference(case.method, case.scored, network=network) for network in NETWORKS]
        lines.append([case.name, case.advice, *(cell for gain in gains for cell in (_text(gain), _better(gain)))])
    columns = [Column(heading, unit) for kind in NETWORKS.values() for heading, unit in ((kind, "points"), ("better on", ""))]
    return Table([label("case"), label("do"), *columns], lines)


def recipe_table(rows: Sequence[Row], ways: Sequence[tuple[str, str, str]]) -> Table:
    """Return the gains of ways to train and to deploy, by kind of target and network, each with its interval.

    Args:
        rows: Rows of the study.
        ways: Heading, method and test set (``"test"`` or ``"test_gated"``) of each column.

    Returns:
        The table.
    """
    names = sorted({str(row["dataset"]) for row in rows})
    groups = {"all targets": names}
    for name in names:
        groups.setdefault(group_of(name), []).append(name)
    lines: list[list[Cell]] = []
    for group, datasets in groups.items():
        scores = collect(rows, datasets)
        for network, kind in NETWORKS.items():
            count = len(scores.gains(BASELINE, network=network))
            differences = (scores.difference(method, scored, network=network) for _, method, scored in ways)
            lines.append([f"{group}, {kind}", str(count), *(_text(gain) for gain in differences)])
    return Table([label("tested on"), Column("targets"), *(Column(heading, "points") for heading, _, _ in ways)], lines)


def _text(gain: Difference | None) -> str:
    return "" if gain is None else with_range(gain)


def _better(gain: Difference | None) -> str:
    return "" if gain is None else f"{gain.better} of {gain.targets}"
