"""What a bank says of itself."""

import json

import numpy as np
import pytest

from recolorist import StyleBank
from recolorist.bank.summary import find_outliers, summarise
from recolorist.bank.table import BankTable
from recolorist.errors import OptionError

TILES = np.random.default_rng(0).integers(0, 200, (4, 9, 8, 3), dtype=np.uint8)
GLASS = np.full((9, 8, 3), 243, np.uint8)


def test_the_making_is_part_of_the_summary() -> None:
    summary = StyleBank.build([*TILES, GLASS], masks="tissue", preprocessing="resize 8", split="train").summary()
    made = {name: summary[name] for name in ("mask", "blank", "blank_left_out", "preprocessing", "size", "styles")}
    expected = {"mask": "tissue", "blank": "left out", "blank_left_out": 1, "preprocessing": "resize 8", "size": (9, 8)}
    assert made == expected | {"styles": 4}
    assert json.dumps(summary)


def test_outliers_are_far_from_the_median() -> None:
    mean = np.full((9, 1), 0.5)
    mean[4] = 0.9
    assert find_outliers(mean, np.full((9, 1), 0.1)).tolist() == [4]
    assert find_outliers(mean, np.full((9, 1), 0.1), threshold=1000).tolist() == []


def test_each_domain_has_its_own_mean_and_all_labels_are_counted() -> None:
    mean = np.array([[0.2], [0.4], [0.9]])
    table = BankTable(
        mean, np.full((3, 1, 1), 0.01), np.full(3, 9), ["a", "b", "c"], ["x", "x", None], ["n", "n", "s"], name="demo"
    )
    summary = summarise(table)
    assert summary["domains"]["n"] == {"styles": 2, "mean": pytest.approx([0.3]), "std": pytest.approx([0.1])}
    assert summary["domains"]["s"]["mean"] == [0.9]
    assert summary["labels"] == {"x": 2}
    assert (summary["styles"], summary["channels"], summary["name"]) == (3, 1, "demo")


def test_a_summary_is_plain_json() -> None:
    table = BankTable(np.full((2, 3), 0.5), np.stack([np.eye(3) * 0.01] * 2), np.full(2, 9), ["a", "b"])
    assert json.loads(json.dumps(summarise(table))) == json.loads(json.dumps(summarise(table)))
    assert summarise(table)["domains"] == summarise(table)["labels"] == {}


@pytest.mark.parametrize("threshold", [0.5, 6.0, 1e6])
def test_a_larger_threshold_finds_no_more_outliers(threshold: float) -> None:
    rng = np.random.default_rng(3)
    mean, std = rng.random((40, 3)), rng.uniform(0.05, 0.3, (40, 3))
    found = set(find_outliers(mean, std, threshold).tolist())
    assert found <= set(find_outliers(mean, std, threshold / 2).tolist())
    assert not set(find_outliers(mean, std, 1e6).tolist())


def test_equal_styles_have_no_outliers_although_their_spread_is_zero() -> None:
    assert find_outliers(np.full((9, 3), 0.5), np.full((9, 3), 0.1)).tolist() == []


@pytest.mark.parametrize("threshold", [float("nan"), -1.0, "6", None])
def test_a_threshold_that_is_no_distance_is_refused(threshold: object) -> None:
    """NaN found no outlier at all, and -1 called every style one."""
    with pytest.raises(OptionError, match="accepted are numbers from 0 to inf"):
        find_outliers(np.zeros((3, 1)), np.ones((3, 1)), threshold)  # type: ignore[arg-type]
