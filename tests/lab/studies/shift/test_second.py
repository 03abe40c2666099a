"""The page of the second round: frozen features of whole seeds, and what is missing."""

from __future__ import annotations

from typing import Any

from recolorist_lab.report.table import Table
from recolorist_lab.studies.shift.second import second_tables
from tests.lab.studies.shift.kit import GAIN, NAMED, rows


def unfinished_rows() -> list[Any]:
    """Rows of two seeds; from scratch nothing was run, and one frozen training of seed 1 is missing."""
    made: list[Any] = [dict(row) for row in rows(gains=GAIN | NAMED)]
    for row in made:
        row["result.test_gated.balanced_accuracy"] = row["result.test.balanced_accuracy"] + 0.03
        row["seconds"] = 100.0
    last = max(place for place, row in enumerate(made) if row["fit"] == "head" and row["seed"] == 1)
    return [
        {name: value for name, value in row.items() if not name.startswith("result")}
        if row["fit"] == "network" or place == last
        else row
        for place, row in enumerate(made)
    ]


def test_only_whole_seeds_are_shown() -> None:
    cells = str(second_tables(unfinished_rows())["cells"])
    assert cells.startswith("18 of 72 trainings are shown (0 from scratch, 0 of 2 seeds; 18 frozen features, 1 of 2 seeds)")


def test_what_is_added_to_randaugment_is_paired() -> None:
    added = second_tables(unfinished_rows())["added"]
    assert isinstance(added, Table)
    assert [list(line)[:2] for line in added.rows] == [
        ["Colorist + RandAugment", "+1.0 (1.0 to 1.0)"],
        ["beyond (covariance) + RandAugment", "+2.0 (2.0 to 2.0)"],
    ]
