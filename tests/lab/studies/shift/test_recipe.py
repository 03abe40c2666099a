"""The tables of the recipe, from rows with known gains."""

from __future__ import annotations

from recolorist_lab.studies.shift.recipe import cases_table, recipe_table
from tests.lab.studies.shift.kit import gated_rows


def test_it_has_every_kind_of_target_with_both_networks() -> None:
    table = recipe_table(gated_rows(), [("train", "Colorist", "test"), ("gate", "Baseline", "test_gated")])
    assert len(table.rows) == 8
    assert list(table.rows[0]) == ["all targets, from scratch", "3", "+10.0 (10.0 to 10.0)", "+3.0 (3.0 to 3.0)"]


def test_each_case_has_the_gain_of_what_it_advises() -> None:
    table = cases_table(gated_rows())
    lines = {line[0]: list(line[1:]) for line in table.rows}
    gate, plain, own = "+8.0 (8.0 to 8.0)", "+5.0 (5.0 to 5.0)", "+8.0 (8.0 to 8.0)"
    assert lines["several hospitals train"] == ["RandAugment, gate", gate, "1 of 1", gate, "1 of 1"]
    assert lines["one hospital trains"] == ["RandAugment, gate", gate, "2 of 2", gate, "2 of 2"]
    assert lines["blood, images stay as they are"] == ["`own_style`, RandAugment", own, "2 of 2", own, "2 of 2"]
    assert lines["H&E"] == ["RandAugment", plain, "1 of 1", plain, "1 of 1"]


def test_a_case_without_targets_is_left_out() -> None:
    assert "fundus" not in [line[0] for line in cases_table(gated_rows()).rows]
