"""The page of sources: accuracies at every source and the paired difference, from rows with known values."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist_lab.report.table import Number, Table
from recolorist_lab.studies.shift.sources import sources_tables
from tests.lab.studies.shift.kit import rows

SOURCES = ("blood-bccd-to-acevedo20-48", "breast-warm-to-cool-48")


def source_rows() -> list[Any]:
    return [dict(row) for row in rows(SOURCES) if row["fit"] == "network"]


def test_the_best_method_comes_first_below_no_augmentation() -> None:
    table = sources_tables(source_rows())["sources"]
    assert isinstance(table, Table)
    assert [column.name for column in table.columns] == ["trained with", "blood: B", "breast: warm", "mean difference"]
    assert [line[0] for line in table.rows] == ["no augmentation", "camera", "Colorist"]
    values = [cell.value for cell in table.rows[2] if isinstance(cell, Number)]
    assert values == pytest.approx([89.0, 89.0, -1.0])


def test_seeds_with_a_missing_training_are_left_out_and_counted() -> None:
    made = source_rows()
    del made[0]["result.test.balanced_accuracy"]
    parts = sources_tables(made)
    assert str(parts["cells"]).startswith("6 of 12 trainings are shown (6 from scratch, 1 of 2 seeds); they took")


def test_a_study_without_results_has_an_empty_table() -> None:
    made = [{name: value for name, value in row.items() if not name.startswith("result")} for row in source_rows()]
    table = sources_tables(made)["sources"]
    assert isinstance(table, Table)
    assert not table.rows
