"""The test of a group: false alarms as promised, by image and by patient, and power where images stay inside."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.bank import shift
from recolorist.errors import OptionError

Array = NDArray[np.float64]


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the resamples: enough for probabilities of one in a thousand, and quick."""
    monkeypatch.setattr(shift, "RESAMPLES", 999)


def white(points: Array) -> Array:
    """Return points with mean zero and unit covariance."""
    centred = points - points.mean(axis=0)
    spread, axes = np.linalg.eigh(np.cov(centred.T))
    return np.asarray(centred @ (axes / np.sqrt(spread)))


def chances(count: int, size: int, trials: int, moved: float = 0.0) -> list[float]:
    """Draw banks and groups of one heavy-tailed distribution; the bank's whitening is used for both."""
    found = []
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        points = rng.standard_t(4, (count + size, 4))
        bank, group = points[:count], points[count:]
        spread, axes = np.linalg.eigh(np.cov(bank.T))
        whiten = axes / np.sqrt(spread)
        cloud = (bank - bank.mean(axis=0)) @ whiten
        found.append(shift.find_shift(cloud, shift.sort_units(None, count), (group + moved - bank.mean(axis=0)) @ whiten).chance)
    return found


def test_false_alarms_are_as_rare_as_they_are_said_to_be() -> None:
    found = np.array(chances(120, 40, 60))
    assert 0.02 <= np.mean(found < 0.1) <= 0.22


def test_a_small_bank_does_not_call_unchanged_groups_shifted() -> None:
    """The spread of thirty images is poorly known; taken for exact, one unchanged group in three was below 0.05."""
    assert np.mean(np.array(chances(30, 100, 60)) < 0.05) <= 0.12


def test_a_shift_is_found_by_twenty_images() -> None:
    assert np.mean(np.array(chances(200, 20, 20, moved=1.2)) <= 0.001) > 0.9


def test_large_groups_take_the_normal_distribution_to_the_same_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    cloud, group = white(rng.standard_normal((150, 3))), rng.standard_normal((90, 3)) + 0.1
    units = shift.sort_units(None, 150)
    drawn = shift.find_shift(cloud, units, group)
    monkeypatch.setattr(shift, "_LARGE", 10)
    assert shift.find_shift(cloud, units, group).chance == pytest.approx(drawn.chance, rel=0.25)


def test_images_of_one_patient_count_as_one() -> None:
    """Ten images of each patient are nearly alike: taken for independent ones, every other group seems shifted."""
    by_patient, by_image = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        points = np.repeat(rng.standard_normal((60, 3)), 10, axis=0) + 0.1 * rng.standard_normal((600, 3))
        names = np.repeat(np.arange(60).astype(str), 10)
        cloud = white(points[:500])
        group = (points[500:] - points[:500].mean(axis=0)) / points[:500].std(axis=0)
        by_patient.append(shift.find_shift(cloud, shift.sort_units(names[:500], 500), group, names[500:]).chance)
        by_image.append(shift.find_shift(cloud, shift.sort_units(None, 500), group).chance)
    assert np.mean(np.array(by_image) < 0.01) > 0.3
    assert np.mean(np.array(by_patient) < 0.01) < 0.2


def test_a_bank_of_equal_images_does_not_make_every_difference_significant() -> None:
    cloud, units = np.zeros((50, 3)), shift.sort_units(None, 50)
    group = 0.1 * np.ones((20, 3))  # a tenth of half a level, the precision that the whitening assumes
    assert shift.find_shift(cloud, units, group).chance > 0.1
    assert shift.find_shift(cloud, units, 30 * group).chance <= 0.001


def test_equal_data_give_equal_numbers() -> None:
    group = np.random.default_rng(1).standard_normal((30, 3))
    cloud = white(np.random.default_rng(2).standard_normal((99, 3)))
    first, second = (shift.find_shift(cloud, shift.sort_units(None, 99), group) for _ in range(2))
    assert first == second
    assert first.size == pytest.approx(np.linalg.norm(group.mean(axis=0)))


def test_units_are_sorted_by_name() -> None:
    units = shift.sort_units(np.array(["b", "a", "b", "c"]), 4)
    assert (units.order.tolist(), units.start.tolist(), units.size.tolist()) == ([1, 0, 2, 3], [0, 1, 3], [1, 2, 1])


@pytest.mark.parametrize("count", [0, 2, 4])
def test_one_unit_for_each_row(count: int) -> None:
    """Other numbers were taken, and other images tested."""
    with pytest.raises(OptionError, match=f"there are {count} patients or slides for 3 images; give one for each"):
        shift.sort_units(np.array(["a"] * count), 3)
