"""What a comparison trains, as a study of the ledger, and how long it will take."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from recolorist.errors import OptionError
from recolorist.io.files import atomic_write
from recolorist_lab.augmentations.table import parse
from recolorist_lab.compare.folds import Fold
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study, load

__all__ = ["BASELINE", "METHODS", "VALIDATION", "Training", "seconds_per_training", "write_study", "write_timing"]

BASELINE: Final = "none"
#: Augmentations that are compared unless others are named.
METHODS: Final = ("colorist", "color_jitter", "randaugment", "colorist+randaugment")
_TIMED_EPOCHS: Final = (1, 2)
_UPDATES: Final = 700  # with fewer a small network from random weights has not learnt what augmented images show
_EPOCHS: Final = (5, 120)  # fewest and most that are chosen
VALIDATION: Final = 0.2  #: share of the training images that is held out


@dataclass(frozen=True)
class Training:
    """How every network of a comparison is trained.

    Attributes:
        methods: Augmentations, each compared with training without any.
        model: Name of a network of timm.
        weights: File of weights to start from; empty for random ones.
        size: Side of the images in pixels.
        epochs: Passes over the training images; 0 for as many as make about 700 updates of the weights.
        batch: Images in a minibatch.
        threads: Threads of each process.
        gpus: GPUs that each training asks for; 0 where the machine has none.
    """

    methods: tuple[str, ...] = METHODS
    model: str = "test_byobnet"
    weights: str = ""
    size: int = 48
    epochs: int = 0
    batch: int = 32
    threads: int = 1
    gpus: int = 0

    def __post_init__(self) -> None:
        for method in self.methods:
            parse(method)
        if len(set(self.methods)) < len(self.methods) or not self.methods:
            raise OptionError(f"the methods are {', '.join(self.methods) or 'none'}; name each method once, and at least one")
        if self.methods == (BASELINE,):
            raise OptionError(f"the only method is {BASELINE!r}, which every other is compared with; name another with -m")
        if self.weights and not Path(self.weights).is_file():
            raise OptionError(f"the weights {self.weights} were not found; give the path of a file")

    @property
    def every_method(self) -> tuple[str, ...]:
        """The baseline, then the methods compared with it."""
        return (BASELINE, *(method for method in self.methods if method != BASELINE))

    def with_epochs(self, folds: Sequence[Fold]) -> Training:
        """Choose the number of epochs, where none was given.

        Args:
            folds: The divisions; the smallest decides for all, so that trainings differ in nothing else.

        Returns:
            The same training with a number of epochs.
        """
        if self.epochs:
            return self
        images = min(fold.manifest.sizes()["train"] for fold in folds)
        updates = max(1.0, (1 - VALIDATION) * images / self.batch)
        return replace(self, epochs=min(max(math.ceil(_UPDATES / updates), _EPOCHS[0]), _EPOCHS[1]))

    def settings(self, folder: Path, fold: Fold) -> dict[str, Any]:
        """Collect the fields that are the same in all trainings on one division.

        Args:
            folder: The folder of the manifests.
            fold: The division.

        Returns:
            Settings by name.
        """
        from recolorist_lab.training.pretrained import identity_of_weights

        started = {"weights": identity_of_weights(self.weights), "weights_file": self.weights} if self.weights else {}
        return {
            "dataset": fold.name,
            "root": str(folder.resolve()),
            "model": self.model,
            **started,
            "size": self.size,
            "resize": "letterbox",
            "batch": self.batch,
            "validation": "train",
            "validation_share": VALIDATION,
            "keep": "last",
            "harmonise": True,
            "workers": 0,
            "threads": self.threads,
            "checkpoint_seconds": 60.0,
        }


def write_study(path: Path, folder: Path, folds: Sequence[Fold], training: Training) -> Study:
    """Write the study of a comparison, and read it back.

    Args:
        path: The TOML file to write; `recolorist-lab sweep status` takes it as well.
        folder: Folder of the images and the divisions' manifests.
        folds: The divisions.
        training: How networks are trained.

    Returns:
        The study: a cell for every division, method and seed.
    """
    epochs = {"epochs": training.epochs, "patience": training.epochs}
    grids = [
        _grid(
            fold.name,
            {**training.settings(folder, fold), **epochs},
            {"augmentation": list(training.every_method), "seed": list(fold.seeds)},
            training.gpus,
        )
        for fold in folds
    ]
    return _write_toml(path, "compare", grids)


def write_timing(path: Path, folder: Path, folds: Sequence[Fold], training: Training) -> Study:
    """Write the study of short trainings from which the time of a whole one is estimated.

    Args:
        path: The file to write.
        folder: The folder of the manifests.
        folds: The divisions into training and test images.
        training: How networks are trained.

    Returns:
        The study.
    """
    fixed = {**training.settings(folder, folds[0]), "seed": 0, "augmentation": training.every_method[-1]}
    return _write_toml(path, "timing", [_grid("timing", fixed, {"epochs": list(_TIMED_EPOCHS)}, training.gpus)])


def seconds_per_training(timing: Study, ledger: Ledger, training: Training) -> float:
    """Estimate the time of one training from the short ones.

    Args:
        timing: The finished study of short trainings.
        ledger: Where their results are.
        training: How networks are trained.

    Returns:
        Seconds.
    """
    short, longer = (ledger.result(cell).seconds for cell in timing.cells)
    epoch = max(longer - short, 0.1 * short) / (_TIMED_EPOCHS[1] - _TIMED_EPOCHS[0])
    return max(short - epoch * _TIMED_EPOCHS[0], 0.0) + epoch * training.epochs


def _grid(name: str, fixed: Mapping[str, Any], axes: Mapping[str, Sequence[Any]], gpus: int) -> str:
    resources = f"resources = {_table({'gpus': gpus})}\n" if gpus else ""
    return f'[[grid]]\nname = {_toml(name)}\nkind = "classify"\n{resources}set = {_table(fixed)}\naxes = {_table(axes)}\n'


def _table(values: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{name} = {_toml(value)}" for name, value in values.items()) + " }"


def _toml(value: Any) -> str:
    """Write a plain value, which has the same form in JSON and TOML."""
    return json.dumps(value, ensure_ascii=False)


def _write_toml(path: Path, name: str, grids: Sequence[str]) -> Study:
    atomic_write(path, "\n".join([f'name = "{name}"\n', *grids]).encode())
    return load(path)
