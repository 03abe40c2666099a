"""Results of a comparison: scores from the ledger, paired differences, and their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist_lab.augmentations.table import AUGMENTATIONS, parse
from recolorist_lab.compare.folds import Fold
from recolorist_lab.compare.plan import BASELINE, VALIDATION, Training
from recolorist_lab.report.paired import LEVEL, RESAMPLES, Difference, difference
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study

__all__ = ["Comparison", "MethodResult", "collect", "title_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MethodResult:
    """One method: balanced accuracies of every target (rows) and seed (columns), and the difference to the baseline."""

    name: str
    title: str
    unseen: Floats
    harmonised: Floats
    known: Floats  #: on held-out images of the training hospitals
    difference: Difference | None  #: None for the baseline itself
    harmonised_difference: Difference  #: harmonised, to the baseline on images as they are


@dataclass(frozen=True)
class Comparison:
    """Everything that a report says."""

    targets: tuple[str, ...]
    classes: tuple[str, ...]
    images: Mapping[str, int]  #: of each target
    methods: tuple[MethodResult, ...]
    training: Training
    seeds: int
    is_one_hospital: bool
    notes: tuple[str, ...] = ()
    held_out: int = 0  #: training images that were not trained on, summed over the targets

    @property
    def baseline(self) -> MethodResult:
        """Training without augmentation."""
        return self.methods[0]

    @property
    def chance(self) -> float:
        """Balanced accuracy of guessing."""
        return 1.0 / len(self.classes)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values.

        Returns:
            A dictionary for JSON.
        """
        methods = [
            {
                **{key: value for key, value in asdict(method).items() if not isinstance(value, np.ndarray)},
                **{name: getattr(method, name).tolist() for name in ("unseen", "harmonised", "known")},
            }
            for method in self.methods
        ]
        return {**asdict(self), "images": dict(self.images), "methods": methods, "level": LEVEL, "resamples": RESAMPLES}


def collect(study: Study, ledger: Ledger, folds: Sequence[Fold], training: Training, notes: Sequence[str] = ()) -> Comparison:
    """Read all results of a finished comparison.

    Args:
        study: Its study.
        ledger: Where the results are.
        folds: Its divisions.
        training: How networks were trained.
        notes: Sentences about the images, for the report.

    Returns:
        Scores by method, target and seed, with paired differences.
    """
    is_shared = folds[0].name.startswith("split-")  # the others are called target-…, whatever a hospital's name is
    scores: dict[tuple[str, str, int], Mapping[str, Any]] = {}
    for cell in study.cells:
        scores[cell.config.augmentation, cell.grid, cell.config.seed] = ledger.result(cell).result
    tables = {
        (method, name): np.array(
            [[scores[method, fold.name, seed][name]["balanced_accuracy"] for seed in fold.seeds] for fold in folds], np.float64
        )
        for method in training.every_method
        for name in ("test", "test_harmonised", "val")
    }
    base = tables[BASELINE, "test"]
    methods = []
    for method in training.every_method:
        unseen, harmonised, known = (tables[method, name] for name in ("test", "test_harmonised", "val"))
        gain = None if method == BASELINE else difference(unseen - base)
        methods.append(MethodResult(method, title_of(method), unseen, harmonised, known, gain, difference(harmonised - base)))
    return Comparison(
        tuple(fold.target for fold in folds),
        folds[0].manifest.facts.classes,
        {fold.target: fold.manifest.sizes()["test"] for fold in folds},
        tuple(methods),
        training,
        len(folds) if is_shared else len(folds[0].seeds),
        is_shared,
        tuple(notes),
        sum(round(VALIDATION * fold.manifest.sizes()["train"]) for fold in folds),
    )


def title_of(method: str) -> str:
    """Name a method for people.

    Args:
        method: An augmentation as `--method` takes it.

    Returns:
        The name that the paper uses where it has one.

    Example:
        >>> title_of("none"), title_of("colorist+randaugment"), title_of("hed_jitter")
        ('no augmentation', 'Colorist + RandAugment', 'hed_jitter')
    """
    if method == BASELINE:
        return "no augmentation"
    if "(" in method:
        return method
    return " + ".join(AUGMENTATIONS[part.name].paper or part.name for part in parse(method))
