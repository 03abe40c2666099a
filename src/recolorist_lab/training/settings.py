"""The settings of one training run. Each field is part of the identity or only says where and how fast it runs.

This module is light on purpose: a study file is read without torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from recolorist.errors import OptionError
from recolorist_lab.augmentations.table import parse
from recolorist_lab.runs.config import identity, operational, unknown
from recolorist_lab.training.algorithms import ALGORITHMS

__all__ = ["Settings"]

_PRECISIONS: Final = ("32-true", "16-mixed", "bf16-mixed", "bf16-true", "64-true")


@dataclass(frozen=True)
class Settings:
    """One run; the defaults are the paper's, and where it is silent those of its authors' earlier work (docs/training.md)."""

    dataset: str = identity()
    seed: int = identity()
    augmentation: str = identity("none")  # options in parentheses: "colorist(mode='batch_fraction')+random_flip"
    algorithm: str = identity("plain")
    probability: float | None = identity(None)  # of the augmentation; None is its own default
    variant: Literal["upstream", "authors"] = identity("upstream")  # of the algorithm: DomainBed's, or the authors' port
    minibatches: Literal["pooled", "by_domain"] = identity("pooled")
    model: str = identity("densenet121")  # any of timm's names
    weights: str = identity("")  # sha256 of the weights to start from; "" is random ones
    fit: Literal["network", "head"] = identity("network")  # "head": logistic regression on the features of `weights`
    copies: int = identity(3)  # augmented copies of each training image, with fit = "head"
    size: int = identity(224)
    resize: Literal["letterbox", "squash"] = identity("letterbox")
    epochs: int = identity(100)
    patience: int = identity(15)
    keep: Literal["best", "last"] = identity("best")  # weights of the epoch with the lowest validation loss, or of the last
    batch: int = identity(256)  # over all devices
    accumulate: int = identity(1)  # parts a batch is worked through in
    learning_rate: float = identity(1e-3)
    weight_decay: float = identity(0.01)
    warmup_epochs: int = identity(0)
    warmup_rate: float = identity(1e-5)
    floor_rate: float = identity(0.0)
    clip_norm: float = identity(1.0)  # 0 is off
    precision: str = identity("32-true")
    memory_format: Literal["auto", "contiguous", "channels_last"] = identity("auto")  # auto: channels_last on processors
    compile: bool = identity(default=False)  # by torch.compile
    devices: int = identity(1)  # batch norm is not synchronised, so their number changes a result
    validation: Literal["val", "train"] = identity("val")  # which split early stopping watches
    validation_share: float = identity(0.2)  # of the training split, with validation = "train"
    source_share: float = identity(0.0)  # of the training split, held out to measure accuracy at the source
    harmonise: bool = identity(default=False)  # also test on images matched to the training split
    root: str = operational("")  # folder of the data; else RECOLORIST_DATA
    weights_file: str = operational("")  # where the weights are
    workers: int = operational(4)
    accelerator: str = operational("auto")
    threads: int = operational(0)  # of torch in each process; 0 leaves it alone
    checkpoint_seconds: float = operational(300.0)
    hang_seconds: float = operational(1800.0)  # without a minibatch, after which a run is ended; 0 waits for ever
    tensorboard: str = operational("")  # folder; "" is off

    def __post_init__(self) -> None:
        unknown([self.algorithm], ALGORITHMS, "algorithm")
        unknown([self.precision], _PRECISIONS, "precision")
        unknown([self.keep], ("best", "last"), "keep")
        if len(parse(self.augmentation)) > 1 and self.probability is not None:
            raise OptionError(
                f"probability={self.probability} for {self.augmentation!r}; of several, each says its own in parentheses"
            )
        self._refuse_below(1, "size", "epochs", "patience", "batch", "accumulate", "devices")
        self._refuse_below(
            0, "seed", "weight_decay", "warmup_epochs", "warmup_rate", "floor_rate", "clip_norm", "workers", "copies"
        )
        self._refuse_below(0, "threads", "checkpoint_seconds", "hang_seconds", "source_share", "validation_share")
        if self.learning_rate <= 0:
            raise OptionError(f"learning_rate={self.learning_rate}; accepted is a positive number")
        if self.probability is not None and not 0 <= self.probability <= 1:
            raise OptionError(f"probability={self.probability}; accepted are numbers from 0 to 1")
        if self.warmup_epochs >= self.epochs:
            raise OptionError(f"warmup_epochs={self.warmup_epochs} leaves nothing of epochs={self.epochs}")
        if self.batch < 2 * self.accumulate * self.devices:
            raise OptionError(
                f"batch={self.batch} in {self.accumulate} parts on {self.devices} devices; each part needs at least two images, "
                "because batch norm cannot work with one"
            )
        self._refuse_shares()

    def _refuse_below(self, least: int, *names: str) -> None:
        for name in names:
            if getattr(self, name) < least:
                raise OptionError(f"{name}={getattr(self, name)}; accepted is at least {least}")

    def _refuse_shares(self) -> None:
        share = self.source_share + (self.validation_share if self.validation == "train" else 0.0)
        if share >= 1 or (self.validation == "train" and self.validation_share == 0):
            raise OptionError(
                f"source_share={self.source_share} and validation_share={self.validation_share}; accepted are shares that leave "
                "images to train on, and a validation_share above zero where the training split validates"
            )
