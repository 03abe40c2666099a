"""Scores of predictions: balanced accuracy and others.

Numbers that are not defined, such as the area under the curve of a class that no image has, are None; no other value is
reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab.runs.config import Json

__all__ = ["BINS", "Predictions", "brief", "calibration_error", "confusion", "recall_mean", "scores"]

BINS: Final = 15
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_BRIEF: Final = ("images", "loss", "balanced_accuracy", "accuracy", "exact_match", "auc", "ece", "confusion")


class Predictions(NamedTuple):
    """Logits (N, K); targets (N,) or, with several labels to an image, (N, K); a loss and a domain per image."""

    logits: Floats
    targets: NDArray[Any]
    losses: Floats
    domains: Sequence[str]

    @property
    def multilabel(self) -> bool:
        """Whether each class is present or absent on its own."""
        return self.targets.ndim == 2

    def probabilities(self) -> Floats:
        """Compute the softmax, or the sigmoid with several labels to an image.

        Returns:
            `(images, classes)`.
        """
        if self.multilabel:
            halves: Floats = 0.5 * (1.0 + np.tanh(0.5 * self.logits))
            return halves
        raised = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        shares: Floats = raised / raised.sum(axis=1, keepdims=True)
        return shares

    def batch_loss(self, size: int) -> float:
        """Average the mean losses of batches, which early stopping watches; a small last batch counts as much.

        Args:
            size: Images in a batch.

        Returns:
            The loss.
        """
        return float(np.mean([self.losses[start : start + size].mean() for start in range(0, len(self.losses), size)]))


def scores(predictions: Predictions, classes: Sequence[str]) -> dict[str, Json]:
    """Compute all scores, ready for JSON; :func:`brief` takes the main numbers out of them.

    Args:
        predictions: Targets and logits.
        classes: Names of the classes, in index order.

    Returns:
        Scores by name.

    Raises:
        OptionError: There are no predictions.

    Example:
        >>> logits = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
        >>> seen = Predictions(logits, np.array([0, 1, 1]), np.zeros(3), ["a", "a", "b"])
        >>> found = scores(seen, ["benign", "malignant"])
        >>> found["balanced_accuracy"], found["confusion"], found["per_domain"]["b"]["balanced_accuracy"]
        (0.75, [[1, 0], [1, 1]], 0.0)
    """
    if not len(predictions.losses):
        raise OptionError("there are no predictions to score")
    whole = _multilabel(predictions, classes) if predictions.multilabel else _single(predictions, classes)
    domains = np.asarray(predictions.domains, object)
    parts = {name: _select(predictions, domains == name) for name in sorted(set(predictions.domains))}
    return {**whole, "per_domain": {name: _domain(part, len(classes)) for name, part in parts.items()}}


def brief(full: dict[str, Json]) -> dict[str, Json]:
    """Shorten scores to what a result stores.

    Args:
        full: What :func:`scores` returns.

    Returns:
        The headline numbers, the confusion matrix, and the balanced accuracy of each domain.
    """
    domains = full["per_domain"]
    assert isinstance(domains, dict)  # noqa: S101 - for the type checker
    short = {name: part["balanced_accuracy"] for name, part in domains.items() if isinstance(part, dict)}
    return {**{name: full[name] for name in _BRIEF if name in full}, "domains": short}


def choose_classes(probabilities: Floats) -> Whole:
    """Choose a class for every image: of two the second if its probability is above one half, otherwise the most probable.

    Args:
        probabilities: (images, classes).

    Returns:
        Class indices.
    """
    if probabilities.shape[1] == 2:
        return (probabilities[:, 1] > 0.5).astype(np.int64)
    return probabilities.argmax(axis=1)


def confusion(targets: Whole, decided: Whole, classes: int) -> Whole:
    """Count decisions by true class.

    Args:
        targets: The true class of each image.
        decided: The class decided for.
        classes: How many there are.

    Returns:
        A row per true class, a column per class decided for.

    Example:
        >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
        [[1, 0], [1, 1]]
    """
    flat = np.bincount(targets * classes + decided, minlength=classes * classes)
    return flat.reshape(classes, classes).astype(np.int64)


def recall_mean(counts: Whole) -> float:
    """Compute the balanced accuracy: the mean recall of the classes that are present.

    Args:
        counts: A confusion matrix with a row for each true class.

    Returns:
        From 0 to 1.
    """
    totals = counts.sum(axis=1)
    present = totals > 0
    return float((counts.diagonal()[present] / totals[present]).mean())


def calibration_error(confidence: Floats, correct: NDArray[np.bool_]) -> float:
    """Compute the expected calibration error in fifteen equal bins.

    Args:
        confidence: The probability of the class decided for.
        correct: Whether the decision was right.

    Returns:
        A number from 0 to 1.

    Example:
        >>> calibration_error(np.array([0.9, 0.9]), np.array([True, False]))
        0.4
    """
    edges = np.linspace(0.0, 1.0, BINS + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    gaps = np.abs(np.bincount(place, confidence, BINS) - np.bincount(place, correct.astype(np.float64), BINS))
    return float(gaps[counts > 0].sum() / len(confidence))


def _single(predictions: Predictions, classes: Sequence[str]) -> dict[str, Json]:
    shares = predictions.probabilities()
    decided = choose_classes(shares)
    counts = confusion(predictions.targets, decided, len(classes))
    areas = _areas(predictions.targets[:, None] == np.arange(len(classes)), shares)
    return {
        "images": len(predictions.targets),
        "loss": float(predictions.losses.mean()),
        "balanced_accuracy": recall_mean(counts),
        "accuracy": float((decided == predictions.targets).mean()),
        "auc": areas[1] if len(classes) == 2 else _mean(areas),
        "ece": calibration_error(shares[np.arange(len(decided)), decided], decided == predictions.targets),
        "per_class": {
            name: {
                "images": int(counts[number].sum()),
                "recall": _share(counts[number, number], counts[number].sum()),
                "precision": _share(counts[number, number], counts[:, number].sum()),
                "auc": areas[number],
            }
            for number, name in enumerate(classes)
        },
        "confusion": [[int(count) for count in row] for row in counts],
    }


def _multilabel(predictions: Predictions, classes: Sequence[str]) -> dict[str, Json]:
    """Score each label separately at one half, then average; `accuracy` is what the authors' code reports here."""
    shares = predictions.probabilities()
    truth = predictions.targets.astype(np.int64)
    decided = (shares > 0.5).astype(np.int64)
    areas = _areas(truth == 1, shares)
    tables = [confusion(truth[:, label], decided[:, label], 2) for label in range(len(classes))]
    right = (decided == truth).mean(axis=0)
    errors = [_label_calibration(shares[:, label], truth[:, label]) for label in range(len(classes))]
    return {
        "images": len(truth),
        "loss": float(predictions.losses.mean()),
        "balanced_accuracy": float(np.mean([recall_mean(table) for table in tables])),
        "accuracy": float(right.mean()),
        "exact_match": float((decided == truth).all(axis=1).mean()),
        "auc": _mean(areas),
        "ece": float(np.mean(errors)),
        "per_class": {
            name: {
                "images": int(table[1].sum()),
                "balanced_accuracy": recall_mean(table),
                "accuracy": float(right[label]),
                "recall": _share(table[1, 1], table[1].sum()),
                "specificity": _share(table[0, 0], table[0].sum()),
                "auc": areas[label],
            }
            for label, (name, table) in enumerate(zip(classes, tables, strict=True))
        },
        "confusion": [[[int(count) for count in row] for row in table] for table in tables],
    }


def _label_calibration(share: Floats, truth: Whole) -> float:
    decided = share > 0.5
    return calibration_error(np.where(decided, share, 1.0 - share), decided == (truth == 1))


def _domain(part: Predictions, classes: int) -> Json:
    shares = part.probabilities()
    if part.multilabel:
        decided, truth = (shares > 0.5).astype(np.int64), part.targets.astype(np.int64)
        recalls = [recall_mean(confusion(truth[:, label], decided[:, label], 2)) for label in range(classes)]
        return {"images": len(truth), "balanced_accuracy": float(np.mean(recalls)), "accuracy": float((decided == truth).mean())}
    decided = choose_classes(shares)
    counts = confusion(part.targets, decided, classes)
    right = float((decided == part.targets).mean())
    return {"images": len(decided), "balanced_accuracy": recall_mean(counts), "accuracy": right}


def _select(predictions: Predictions, keep: NDArray[np.bool_]) -> Predictions:
    return Predictions(predictions.logits[keep], predictions.targets[keep], predictions.losses[keep], [])


def _areas(truth: NDArray[np.bool_], shares: Floats) -> list[float | None]:
    """Compute the area under each class's curve against the rest; None where one side is empty."""
    from sklearn.metrics import roc_auc_score

    areas: list[float | None] = []
    for number in range(shares.shape[1]):
        mixed = 0 < int(truth[:, number].sum()) < len(truth)
        areas.append(float(roc_auc_score(truth[:, number], shares[:, number])) if mixed else None)
    return areas


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present else None


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
