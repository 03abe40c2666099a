"""The page in distribution: accuracies by set, differences and what harmonising changes, from rows with known values."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist_lab.report.table import Number, Table
from recolorist_lab.studies.shift.known import known_tables
from tests.lab.studies.shift.kit import rows


def known_rows() -> list[Any]:
    """Rows without a share of the source, as official splits give them; gated images score one point less."""
    made: list[Any] = [dict(row) for row in rows(("retinamnist_28", "other"), seeds=3) if row["fit"] == "network"]
    for row in made:
        del row["result.source.balanced_accuracy"]
        row["result.test_gated.balanced_accuracy"] = row["result.test.balanced_accuracy"] - 0.01
    return made


def test_sets_are_columns_and_differences_are_paired() -> None:
    table = known_tables(known_rows())["sets"]
    assert isinstance(table, Table)
    assert [column.name for column in table.columns] == ["trained with", "RetinaMNIST", "other", "mean difference"]
    values = [cell.value for cell in table.rows[1] if isinstance(cell, Number)]
    assert values == pytest.approx([61.0, 66.0])
    assert [line[-1] for line in table.rows] == ["—", "+10.0 (10.0 to 10.0)", "+4.0 (4.0 to 4.0)"]


def test_harmonising_is_compared_with_the_same_network() -> None:
    table = known_tables(known_rows())["harmonising"]
    assert isinstance(table, Table)
    assert list(table.rows[0])[1:] == ["-1.0 (-1.0 to -1.0)", "+2.0 (2.0 to 2.0)"]


def test_what_is_missing_is_counted() -> None:
    made = known_rows()
    del made[0]["result.test.balanced_accuracy"]
    assert str(known_tables(made)["cells"]).startswith("17 of 18 trainings are shown (17 from scratch, 3 of 3 seeds); they took")
