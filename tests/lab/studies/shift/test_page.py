"""Pages of the shift study: every table from rows with known gains, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist_lab.report.table import Number, Table
from recolorist_lab.studies.shift.page import choosing_tables, tables
from tests.lab.studies.shift.kit import gated_rows


def numbers(table: Any, line: int) -> list[float]:
    assert isinstance(table, Table)
    return [round(cell.value, 6) for cell in table.rows[line] if isinstance(cell, Number) and cell.value is not None]


def test_the_page_of_confirming() -> None:
    made = tables(gated_rows())
    assert isinstance(made["summary"], Table)
    assert [line[0] for line in made["summary"].rows] == [
        *("no augmentation", "camera", "RandAugment", "Colorist + RandAugment"),
        *("own_style (p = 0.3, scale 0.5) + RandAugment", "own_style + RandAugment", "Colorist"),
    ]
    assert numbers(made["summary"], 6) == pytest.approx([65.5, 68.5, 75.5, 78.5])
    assert numbers(made["harmonising_scratch"], 1) == pytest.approx([3.0, 2.0])
    finding = " ".join(str(made["finding"]).split())
    assert "`own_style` + RandAugment gained +8.0 (8.0 to 8.0) and +8.0 (8.0 to 8.0) points over no augmentation" in finding
    assert "Colorist + RandAugment gained +6.0 (6.0 to 6.0) and +6.0 (6.0 to 6.0), RandAugment alone +5.0 (5.0 to 5.0)" in finding
    assert (
        "Colorist alone +10.0 and +10.0. At the source the first three changed the accuracy by -0.8 and -0.8, -0.6 and -0.6"
        in finding
    )
    assert "the gains are +11.0 and +11.0 for `own_style`, +9.0 and +9.0 for Colorist + RandAugment and +8.0 and +8.0" in finding
    assert "adds +3.0 (3.0 to 3.0) and +3.0 (3.0 to 3.0) to networks trained without augmentation" in finding
    assert isinstance(made["added"], Table)
    assert [line[0] for line in made["added"].rows][::2] == [
        f"{name} + RandAugment, from scratch" for name in ("Colorist", "own_style (p = 0.3, scale 0.5)", "own_style")
    ]
    assert list(made["added"].rows[0])[1:] == ["+1.0 (1.0 to 1.0)", "+1.0 (1.0 to 1.0)", "-0.1 (-0.1 to -0.1)"]
    assert numbers(made["groups"], 1) == pytest.approx([10.0, 13.0] * 3)
    assert made["cells"] == (
        "84 of 84 trainings are shown (42 from scratch, 2 of 2 seeds; 42 frozen features, 2 of 2 seeds); they took 2.3 hours on "
        "one core.\n"
    )


def test_missing_trainings_are_counted() -> None:
    made = gated_rows()
    unfinished: list[Any] = [{name: value for name, value in made[0].items() if not name.startswith("result")}, *made[1:]]
    assert str(tables(unfinished)["cells"]).startswith("63 of 84 trainings are shown (21 from scratch, 1 of 2 seeds; 42 frozen")


def test_the_page_of_choosing_orders_by_the_mean_of_both_networks() -> None:
    overall = choosing_tables(gated_rows())["overall"]
    assert isinstance(overall, Table)
    assert [line[0] for line in overall.rows][::5] == ["Colorist", "camera"]
    assert numbers(overall, 0) == pytest.approx([10.0, 13.0, -1.0])
