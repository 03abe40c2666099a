"""Fit the head only: features are computed once, and logistic regression is fitted to them.

This answers in seconds where training the whole network takes minutes. Training images are used as they are and in augmented
copies. The strength of the penalty is chosen by the validation loss. Features of images that are not augmented are the same for
every augmentation. They are kept beside the data, under a digest of the pixels, the weights and the code.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist.io.files import atomic_write
from recolorist_lab.disk import cache_place
from recolorist_lab.runs.config import Json
from recolorist_lab.runs.fingerprint import code_fingerprint
from recolorist_lab.training import models
from recolorist_lab.training.feed import Feed, collate
from recolorist_lab.training.harmony import harmonies
from recolorist_lab.training.normalise import Normalise
from recolorist_lab.training.predict import domains_of
from recolorist_lab.training.prepare import Prepared
from recolorist_lab.training.scores import Predictions, brief, scores
from recolorist_lab.training.settings import Settings

__all__ = ["PENALTIES", "Extractor", "Features", "fit_head"]

Floats = NDArray[np.float64]

#: Inverse strengths of the penalty that are tried.
PENALTIES: Final = (0.0001, 0.001, 0.01, 0.1, 1.0)
#: What networks trained on ImageNet expect.
IMAGENET: Final = Normalise((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_BATCH: Final = 64


class Features(NamedTuple):
    """One vector for each image, with its label and domain."""

    values: Floats
    targets: NDArray[np.int64]
    domains: Sequence[str]


def fit_head(settings: Settings, ready: Prepared, fabric: Any) -> tuple[dict[str, dict[str, Json]], Mapping[str, Json]]:
    """Fit and test the head of a network whose other weights stay as they are.

    Args:
        settings: Of the run.
        ready: Images, augmentation and network.
        fabric: Of this device; it says in which precision features are computed.

    Returns:
        Scores by the name of the set, and facts about the fit.

    Raises:
        OptionError: Images have several labels, or the network has random weights.
    """
    if not settings.weights or ready.algorithm.task.multilabel:
        raise OptionError(
            "fit='head' needs pretrained weights and one label for each image; name a file of weights, or use fit='network'"
        )
    extractor = Extractor(ready.algorithm.network, fabric, f"{settings.model} {settings.weights} {settings.precision}")
    train = extractor.augmented(ready.feed, settings.copies)
    sets = {name: extractor.plain(Feed(part)) for name, part in _parts(ready).items()}
    if settings.harmonise:
        for name, harmony in harmonies(ready.images.bank()).items():
            sets[name] = extractor.plain(Feed(ready.splits.test, harmony=harmony))
    centre, spread = train.values.mean(axis=0), np.maximum(train.values.std(axis=0), 1e-6)
    sets = {name: part._replace(values=(part.values - centre) / spread) for name, part in sets.items()}
    heads = {
        penalty: _fit(train._replace(values=(train.values - centre) / spread), penalty, ready.algorithm.task.classes)
        for penalty in PENALTIES
    }
    losses = {penalty: float(_predict(head, sets["val"]).losses.mean()) for penalty, head in heads.items()}
    best = min(losses, key=lambda penalty: losses[penalty])
    classes = ready.splits.train.classes
    tested = {name: scores(_predict(heads[best], part), classes) for name, part in sets.items()}
    facts: dict[str, Json] = {
        "penalty": best,
        "validation_losses": {str(penalty): loss for penalty, loss in losses.items()},
        "vectors": len(train.values),
        "features": int(train.values.shape[1]),
        "parameters": models.parameters(ready.algorithm.network),
        **{name: brief(part) for name, part in tested.items()},
    }
    return tested, facts


class Extractor:
    """Compute features of images with a network whose weights stay fixed.

    Args:
        network: The network; it is put into evaluation mode.
        fabric: Of this device.
        identity: What features depend on beside the pixels and the code: network, weights and precision.
    """

    def __init__(self, network: models.Classifier, fabric: Any, identity: str) -> None:
        self._network, self._fabric, self._identity = network.eval().to(fabric.device), fabric, identity
        if fabric.device.type == "cpu":
            network.use_channels_last()

    def augmented(self, feed: Feed, copies: int) -> Features:
        """Compute features of the images as they are, then of augmented copies.

        Args:
            feed: The images.
            copies: How many; without an augmentation they would be the same and are left out.

        Returns:
            The features.
        """
        plain = self.plain(Feed(feed.samples))
        if feed.augmentation is None or copies == 0:
            return plain
        values = (np.concatenate([self._computed(batch) for batch in _batches(feed, epoch)]) for epoch in range(copies))
        return Features(
            np.concatenate([plain.values, *values]),
            np.tile(plain.targets, copies + 1),
            [*plain.domains] * (copies + 1),
        )

    def plain(self, feed: Feed) -> Features:
        """Return the features of images as a feed without an augmentation gives them: computed once, and kept beside the data.

        Args:
            feed: The images.

        Returns:
            The features.
        """
        batches = list(_batches(feed, 0))
        path = self._place(feed, batches)
        values = None
        with suppress(OSError, ValueError, EOFError):
            values = np.load(path, allow_pickle=False) if path is not None else None
        if values is None or len(values) != len(feed):
            values = np.concatenate([self._computed(batch) for batch in batches])
            with suppress(OSError):  # a full disk costs time, not the run
                _write(path, values)
        targets = np.concatenate([batch.targets.numpy() for batch in batches])
        return Features(values, targets, domains_of(feed.samples))

    def _computed(self, batch: Any) -> Floats:
        with torch.no_grad(), self._fabric.autocast():
            images = IMAGENET(IMAGENET.unit(batch.images.to(self._fabric.device)))
            found: Floats = self._network.features(images).float().cpu().double().numpy()
        return found

    def _place(self, feed: Feed, batches: Sequence[Any]) -> Path | None:
        """Return the file of these features; None where images are in memory and have no folder."""
        samples = feed.samples
        dataset = samples.manifest.facts.dataset
        if not (samples.root / f"{dataset}.parquet").is_file():
            return None
        code = code_fingerprint("recolorist_lab.training.frozen")
        digest = hashlib.sha256(f"{self._identity} {code} {torch.__version__}".encode())
        for batch in batches:
            digest.update(batch.images.numpy().tobytes())
        return cache_place(samples.root, f"{dataset}.{digest.hexdigest()[:16]}.features.npy")


def _write(path: Path | None, values: Floats) -> None:
    if path is not None:
        buffer = io.BytesIO()
        np.save(buffer, values)
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, buffer.getvalue())


class _Head(NamedTuple):
    """A fitted linear layer; classes without a training image get no score."""

    weights: Floats
    bias: Floats


def _parts(ready: Prepared) -> dict[str, Any]:
    splits = ready.splits
    parts = {"val": splits.val, "test": splits.test, "source": splits.source, "val_split": splits.val_split}
    return {name: part for name, part in parts.items() if part is not None}


def _batches(feed: Feed, epoch: int) -> Iterator[Any]:
    for start in range(0, len(feed), _BATCH):
        yield collate(feed.__getitems__([(epoch, place) for place in range(start, min(start + _BATCH, len(feed)))]))


def _fit(train: Features, penalty: float, classes: int) -> _Head:
    """Fit logistic regression with classes weighted inversely to their counts."""
    from sklearn.linear_model import LogisticRegression

    present = np.unique(train.targets)
    if len(present) < 2:
        raise OptionError(f"the training images are of {len(present)} class; a classifier needs at least two")
    fitted = LogisticRegression(C=penalty, class_weight="balanced", max_iter=2_000).fit(train.values, train.targets)
    weights, bias = np.zeros((classes, train.values.shape[1])), np.full(classes, -np.inf)
    if len(present) == 2:  # one row: the second class against the first
        weights[present[1]], bias[present] = fitted.coef_[0], (0.0, fitted.intercept_[0])
    else:
        weights[present], bias[present] = fitted.coef_, fitted.intercept_
    return _Head(weights, np.maximum(bias, -1e6))


def _predict(head: _Head, part: Features) -> Predictions:
    logits = part.values @ head.weights.T + head.bias
    largest = logits.max(axis=1, keepdims=True)
    normaliser = largest[:, 0] + np.log(np.exp(logits - largest).sum(axis=1))
    losses = normaliser - logits[np.arange(len(logits)), part.targets]
    return Predictions(logits, part.targets, losses, part.domains)
