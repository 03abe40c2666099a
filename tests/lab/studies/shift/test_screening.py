"""The page of screening: methods that were not run on every target or with both networks, from rows with known gains."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist_lab.report.table import Number, Table
from recolorist_lab.studies.shift.screening import on_all_targets, screening_tables
from tests.lab.studies.shift.kit import GAIN, rows

TARGETS = ("blood-acevedo20-zheng18_tecom-to-bccd-48", "breast-cool-to-warm-48")
DOMAINS = {"colorist(sampler='other_domain')": 0.03, "colorist(sampler='balanced_domain')": 0.02}


def every_row() -> list[Any]:
    """Two samplers on the first target only, corruptions whose name differs by target, a regulariser from scratch only."""
    made: list[Any] = [dict(row) for row in rows(TARGETS)]
    made += [dict(row) for row in rows(TARGETS[:1], gains=DOMAINS)]
    for target, kind in zip(TARGETS, ("bloodmnist", "pathmnist"), strict=True):
        corrupted = rows(TARGETS, gains={f"targeted(corruptions='{kind}')": 0.06})
        made += [dict(row) for row in corrupted if row["dataset"] == target]
    made += [row | {"algorithm": "sd"} for row in made if row["augmentation"] == "none" and row["fit"] == "network"]
    for row in made:
        row["result.test_gated.balanced_accuracy"] = row["result.test.balanced_accuracy"] + 0.03
    return made


def first(table: Any) -> list[Any]:
    assert isinstance(table, Table)
    return [line[0] for line in table.rows]


def test_methods_of_one_target_have_a_table_of_their_own() -> None:
    made = screening_tables(every_row())
    assert first(made["overall"]) == ["Colorist", "MedMNIST-C corruptions", "camera"]
    assert first(made["scratch"]) == ["no augmentation", "Colorist", "MedMNIST-C corruptions", "camera", "SD"]
    assert first(made["frozen"]) == ["no augmentation", "Colorist", "MedMNIST-C corruptions", "camera"]
    assert first(made["domains"]) == ["no augmentation", "balanced_domain", "other_domain", "Colorist"]


def test_samplers_by_laboratory_are_compared_on_their_target_alone() -> None:
    table = screening_tables(every_row())["domains"]
    assert isinstance(table, Table)
    values = [cell.value for cell in table.rows[2] if isinstance(cell, Number)]
    assert values == pytest.approx([53.5, 56.5, 63.5, 66.5])


def test_seeds_are_counted_for_each_kind_of_network() -> None:
    every = screening_tables(every_row())["overall"]
    fewer = screening_tables([row for row in every_row() if (row["fit"], row["seed"]) != ("network", 1)])["overall"]
    assert isinstance(every, Table)
    assert isinstance(fewer, Table)
    assert {line[1] for line in every.rows} == {"2"}
    assert {line[1] for line in fewer.rows} == {"1 and 2"}


def test_seeds_with_a_missing_training_are_left_out() -> None:
    made = every_row()
    del made[-1]["result.test.balanced_accuracy"]
    assert made[-1]["fit"] == "network"
    assert str(screening_tables(made)["cells"]).startswith("32 of 44 trainings are shown (12 from scratch, 1 of 2 seeds; 20")


def test_corruptions_with_a_set_for_each_target_are_one_method() -> None:
    kept = on_all_targets(every_row())
    assert {row["augmentation"] for row in kept} == {
        *GAIN,
        "targeted(corruptions='bloodmnist')",
        "targeted(corruptions='pathmnist')",
    }
