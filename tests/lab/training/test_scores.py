"""Scores against scikit-learn and torchmetrics, and what is returned where a score is undefined."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import metrics as theirs
from torchmetrics.functional.classification import multiclass_calibration_error, multilabel_auroc

from recolorist.errors import OptionError
from recolorist_lab.training.scores import Predictions, brief, calibration_error, scores

RNG = np.random.default_rng(0)
NAMES = ("a", "b", "c", "d")


def predictions(count: int = 400, classes: int = 4) -> Predictions:
    targets = RNG.integers(0, classes, count)
    logits = RNG.normal(0, 1.5, (count, classes)) + 1.2 * np.eye(classes)[targets]
    return Predictions(logits, targets, RNG.random(count), ["x" if row % 3 else "y" for row in range(count)])


def labels(count: int = 300, classes: int = 4) -> Predictions:
    targets = (RNG.random((count, classes)) < 0.3).astype(np.float32)
    return Predictions(RNG.normal(0, 1, (count, classes)) + targets, targets, RNG.random(count), ["x"] * count)


def scored(seen: Predictions, names: Sequence[str]) -> Any:
    """The scores, as JSON that may be looked into."""
    return scores(seen, names)


def softmax(logits: np.ndarray) -> np.ndarray:
    return np.asarray(torch.tensor(logits).softmax(1))


class TestSingle:
    def test_against_scikit_learn(self) -> None:
        seen = predictions()
        found, share = scored(seen, NAMES), softmax(seen.logits)
        decided = share.argmax(1)
        assert found["balanced_accuracy"] == pytest.approx(theirs.balanced_accuracy_score(seen.targets, decided))
        assert found["accuracy"] == pytest.approx(theirs.accuracy_score(seen.targets, decided))
        assert found["auc"] == pytest.approx(theirs.roc_auc_score(seen.targets, share, multi_class="ovr"))
        assert found["confusion"] == theirs.confusion_matrix(seen.targets, decided).tolist()
        assert found["loss"] == pytest.approx(seen.losses.mean())
        recall = theirs.recall_score(seen.targets, decided, average=None)
        precision = theirs.precision_score(seen.targets, decided, average=None)
        for number, name in enumerate(NAMES):
            part = found["per_class"][name]
            assert (part["recall"], part["precision"]) == (pytest.approx(recall[number]), pytest.approx(precision[number]))
            assert part["images"] == (seen.targets == number).sum()

    def test_calibration_against_torchmetrics(self) -> None:
        seen = predictions()
        wanted = multiclass_calibration_error(
            torch.tensor(softmax(seen.logits)), torch.tensor(seen.targets), num_classes=4, n_bins=15, norm="l1"
        )
        assert scored(seen, NAMES)["ece"] == pytest.approx(float(wanted), abs=1e-7)

    def test_two_classes_are_decided_at_one_half(self) -> None:
        seen = predictions(classes=2)
        found, share = scored(seen, ("no", "yes")), softmax(seen.logits)
        assert found["auc"] == pytest.approx(theirs.roc_auc_score(seen.targets, share[:, 1]))
        assert found["balanced_accuracy"] == pytest.approx(theirs.balanced_accuracy_score(seen.targets, share[:, 1] > 0.5))
        even = Predictions(np.zeros((3, 2)), np.array([0, 0, 1]), np.zeros(3), ["x"] * 3)
        assert scored(even, ("no", "yes"))["confusion"] == [[2, 0], [1, 0]]

    def test_domains_are_scored_each_on_its_own(self) -> None:
        seen = predictions()
        found = scored(seen, NAMES)
        decided, domains = seen.logits.argmax(1), np.array(seen.domains)
        for name in ("x", "y"):
            at = domains == name
            part = found["per_domain"][name]
            assert part["balanced_accuracy"] == pytest.approx(theirs.balanced_accuracy_score(seen.targets[at], decided[at]))
            assert part["images"] == at.sum()
        assert brief(found)["confusion"] == found["confusion"]
        assert brief(found)["domains"] == {name: found["per_domain"][name]["balanced_accuracy"] for name in ("x", "y")}

    @pytest.mark.parametrize("classes", [2, 3, 13])
    def test_who_always_says_the_same_gets_one_over_k(self, classes: int) -> None:
        targets = np.arange(10 * classes) % classes
        seen = Predictions(
            np.eye(classes)[np.full(len(targets), classes - 1)], targets, np.zeros(len(targets)), ["x"] * len(targets)
        )
        assert scored(seen, [str(one) for one in range(classes)])["balanced_accuracy"] == pytest.approx(1 / classes)

    def test_classes_that_no_image_has_do_not_count_and_have_no_area(self) -> None:
        seen = Predictions(
            np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]]), np.array([0, 1, 1]), np.zeros(3), ["x"] * 3
        )
        found = scored(seen, NAMES[:3])
        assert found["balanced_accuracy"] == pytest.approx(0.75)
        assert found["per_class"]["c"]["auc"] is None
        assert found["per_class"]["c"]["recall"] is None
        assert found["auc"] is not None
        json.dumps(found, allow_nan=False)

    def test_one_class_alone_has_no_area_at_all(self) -> None:
        seen = Predictions(np.zeros((2, 3)), np.zeros(2, np.int64), np.zeros(2), ["x"] * 2)
        assert scored(seen, NAMES[:3])["auc"] is None

    def test_no_predictions_are_refused(self) -> None:
        with pytest.raises(OptionError, match="no predictions"):
            scored(Predictions(np.zeros((0, 2)), np.zeros(0, np.int64), np.zeros(0), []), NAMES[:2])


class TestMultilabel:
    def test_against_scikit_learn_label_by_label(self) -> None:
        seen = labels()
        found, decided = scored(seen, NAMES), seen.logits > 0
        each = [theirs.balanced_accuracy_score(seen.targets[:, one], decided[:, one]) for one in range(4)]
        assert found["balanced_accuracy"] == pytest.approx(np.mean(each))
        assert found["accuracy"] == pytest.approx((decided == seen.targets).mean())
        assert found["exact_match"] == pytest.approx(theirs.accuracy_score(seen.targets, decided))
        assert found["confusion"] == theirs.multilabel_confusion_matrix(seen.targets, decided).tolist()
        wanted = multilabel_auroc(torch.tensor(seen.logits), torch.tensor(seen.targets).long(), num_labels=4)
        assert found["auc"] == pytest.approx(float(wanted), abs=1e-6)

    def test_who_says_no_to_everything_gets_a_half_and_a_high_accuracy(self) -> None:
        """The two readings of ChestMNIST's number: 0.5 is honest, 0.95 is what the rarity of the labels gives away."""
        targets = np.zeros((100, 14), np.float32)
        targets[:5] = 1.0
        seen = Predictions(np.full((100, 14), -3.0), targets, np.zeros(100), ["x"] * 100)
        found = scored(seen, [str(one) for one in range(14)])
        assert (found["balanced_accuracy"], found["accuracy"]) == (pytest.approx(0.5), pytest.approx(0.95))
        assert found["per_domain"]["x"]["balanced_accuracy"] == pytest.approx(0.5)


def test_calibration_by_hand() -> None:
    assert calibration_error(np.array([1.0, 1.0]), np.array([True, True])) == 0.0
    assert calibration_error(np.array([0.0, 1.0]), np.array([False, True])) == 0.0
    found = calibration_error(np.array([0.55, 0.55, 0.95, 0.95]), np.array([True, False, True, False]))
    assert found == pytest.approx(0.5 * 0.05 + 0.5 * 0.45)


def test_the_watched_loss_is_the_mean_of_batches_not_of_images() -> None:
    seen = Predictions(np.zeros((5, 2)), np.zeros(5, np.int64), np.array([1.0, 1.0, 1.0, 1.0, 6.0]), ["x"] * 5)
    assert seen.batch_loss(2) == pytest.approx((1 + 1 + 6) / 3)
    assert seen.losses.mean() == 2.0
