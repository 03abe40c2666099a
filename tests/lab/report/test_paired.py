"""Paired differences and their intervals, against a slow reckoning by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from recolorist_lab.report.paired import difference, sign_test


def test_the_interval_is_that_of_a_bootstrap_in_two_stages() -> None:
    paired = np.array([[0.10, 0.14, 0.06], [-0.02, 0.03, 0.01], [0.05, 0.00, 0.08]])
    rng = random.Random(1)
    means = []
    for _ in range(20_000):
        rows = [paired[rng.randrange(3)] for _ in range(3)]
        means.append(np.mean([row[rng.randrange(3)] for row in rows for _ in range(3)]))
    low, high = np.quantile(means, [0.025, 0.975])
    found = difference(paired)
    assert found.mean == pytest.approx(paired.mean())
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.004)
    assert (found.better, found.targets) == (3, 3)


def test_hospitals_that_disagree_widen_the_interval() -> None:
    agree, disagree = difference(np.full((3, 3), 0.05)), difference(np.array([[0.2] * 3, [0.05] * 3, [-0.1] * 3]))
    assert agree.is_gain
    assert not disagree.is_gain
    assert not disagree.is_loss


def test_a_loss() -> None:
    assert difference(np.full((2, 2), -0.1)).is_loss


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 2)])
def test_one_or_two_trainings_show_nothing(shape: tuple[int, int]) -> None:
    assert not difference(np.full(shape, 0.1)).is_gain
    assert not difference(np.full(shape, -0.1)).is_loss


@pytest.mark.parametrize(("gains", "p"), [([1.0, 2.0, 3.0, -1.0], 0.625), ([0.0, 0.0], 1.0), ([-1.0] * 8, 2 / 256)])
def test_the_sign_test_counts_targets(gains: list[float], p: float) -> None:
    assert sign_test(np.array(gains)) == pytest.approx(p)
