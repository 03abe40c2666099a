"""The sweep of probabilities as a table."""

from __future__ import annotations

from recolorist_lab.paper.numbers import PROPERTIES
from recolorist_lab.report.table import Number
from recolorist_lab.studies.classify.probability_table import table
from recolorist_lab.studies.classify.table import MEDMNIST, OOD
from tests.lab.studies.classify.kit import swept

ALL = [*MEDMNIST, *OOD.values()]


def test_a_line_for_every_probability_with_the_papers_value_beside() -> None:
    shown = table(swept(ALL, seeds=2))
    assert [line[0] for line in shown.rows] == ["0%", "30%", "100%"]
    cell = shown.rows[1][2]
    assert isinstance(cell, Number)
    assert cell.value is not None
    assert round(cell.value, 3) == 0.535  # 0.5 + 0.1 p, and the mean of two seeds a hundredth apart
    assert cell.beside is not None
    assert cell.beside.value == PROPERTIES["ood_balanced_accuracy_p30"]


def test_no_mean_is_made_of_the_seeds_that_are_left() -> None:
    rows = swept(ALL, seeds=2)
    hidden = next(row for row in rows if row["dataset"] == MEDMNIST[0] and row["probability"] == 0.3 and row["seed"] == 1)
    del hidden["result.test.balanced_accuracy"]
    medmnist, ood = table(rows).rows[1][1:]
    assert isinstance(medmnist, Number)
    assert isinstance(ood, Number)
    assert medmnist.value is None
    assert ood.value is not None
