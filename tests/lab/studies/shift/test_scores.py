"""Scores and paired gains of the shift study."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist_lab.studies.shift.scores import collect
from tests.lab.studies.shift.kit import rows


def test_gains_are_paired_by_network_target_and_seed() -> None:
    scores = collect(rows())
    assert scores.methods == ["Colorist", "camera"]
    gains = scores.gains("Colorist")
    assert gains.shape == (6, 2)
    assert gains == pytest.approx(np.full((6, 2), 0.10))
    assert scores.gains("camera", network="head").shape == (3, 2)


def test_harmonised_images_are_compared_with_images_as_they_are() -> None:
    assert collect(rows()).gains("Colorist", "test_harmonised") == pytest.approx(np.full((6, 2), 0.12))


def test_the_source_is_compared_with_the_source() -> None:
    assert collect(rows()).gains("Colorist", "source") == pytest.approx(np.full((6, 2), -0.01))


def test_a_cell_in_two_grids_counts_once_and_targets_can_be_chosen() -> None:
    twice = collect([*rows(), *rows()], targets=("b",))
    assert twice.gains("Colorist").shape == (2, 2)


def test_targets_with_fewer_seeds_shorten_all() -> None:
    few = [row for row in rows() if not (row["dataset"] == "c" and row["seed"] == 1)]
    assert collect(few).gains("Colorist").shape == (6, 1)


def test_a_score_that_was_not_measured_is_missing() -> None:
    scores = collect(rows())
    assert scores.mean("Colorist", "test_gated") is None
    assert scores.mean("Colorist", network="network") == pytest.approx(0.655)
    assert scores.difference("Colorist", network="nothing") is None
