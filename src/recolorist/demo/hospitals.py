"""Train a tiny classifier on two of three synthetic hospitals, with and without Colorist, and test it on the third."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.colorist import Colorist
from recolorist.bank.style_bank import StyleBank
from recolorist.demo.pairs import Bytes
from recolorist.demo.synthetic import scan, tissue

__all__ = ["KINDS", "TRAININGS", "Hospital", "Score", "compare", "make_hospitals", "measure_features"]

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

#: The two classes.
KINDS: Final = ("normal", "tumour")
#: The ways of training, and the probability of Colorist in each.
TRAININGS: Final = {"no augmentation": 0.0, "Colorist, p = 0.3": 0.3, "Colorist, p = 1": 1.0}

_SCANNERS: Final = ("north", "harbour", "valley")
_SLIDE: Final = 384  # pixels a side
_SLIDES: Final = 2  # of each class in each hospital
_TILE: Final = 96
_EPOCHS: Final = 5
_SEED: Final = 0
_SCALES: Final = 3
_PENALTY: Final = 0.01
_STEPS: Final = 30  # of Newton's method


@dataclass(frozen=True)
class Hospital:
    """A synthetic hospital: one scanner, its tiles and their classes."""

    name: str
    tiles: Bytes
    labels: Labels


@dataclass(frozen=True)
class Score:
    """The accuracy of one training, on the two hospitals that it learnt from and on the third."""

    unseen: str
    training: str
    source: float
    target: float
    images: int  # of the third hospital

    def row(self) -> dict[str, object]:
        """Return the score as plain values, ready for JSON."""
        return {
            "unseen": self.unseen,
            "training": self.training,
            "source": self.source,
            "target": self.target,
            "images": self.images,
        }


@cache
def make_hospitals() -> tuple[Hospital, ...]:
    """Draw slides of both classes in each hospital and cut them into tiles; no tissue is drawn twice."""
    hospitals = []
    for place, name in enumerate(_SCANNERS):
        seeds = [[100 * place + 10 * label + slide for slide in range(_SLIDES)] for label in range(len(KINDS))]
        slides = [scan(tissue(seed, _SLIDE, kind), name, seed) for kind, row in zip(KINDS, seeds, strict=True) for seed in row]
        tiles = np.concatenate([_cut(slide) for slide in slides])
        hospitals.append(Hospital(name, tiles, np.repeat(np.arange(len(KINDS)), len(tiles) // len(KINDS))))
    return tuple(hospitals)


@cache
def compare() -> tuple[Score, ...]:
    """Leave out each hospital in turn and train in every way; the same numbers at every call.

    Returns:
        A score for each hospital and each of `TRAININGS`.
    """
    hospitals = make_hospitals()
    return tuple(
        _train([each for each in hospitals if each is not unseen], unseen, training, probability)
        for unseen in hospitals
        for training, probability in TRAININGS.items()
    )


def measure_features(tiles: Bytes) -> Array:
    """Measure colour, contrast and texture: means, and logarithms of deviations and of gradients at three scales.

    Args:
        tiles: Images of one size, (N, H, W, 3).

    Returns:
        One row for each image.

    Example:
        >>> measure_features(np.zeros((2, 16, 16, 3), np.uint8)).shape
        (2, 15)
    """
    level = _halve(tiles) / np.float32(255.0)
    parts = [level.mean((1, 2)), np.log(level.std((1, 2)) + 1e-3)]
    for _ in range(_SCALES):
        slopes = [np.abs(np.diff(level, axis=axis)).mean((1, 2)) for axis in (1, 2)]
        parts.append(np.log(slopes[0] + slopes[1] + 1e-3))
        level = _halve(level)
    return np.concatenate(parts, axis=1).astype(np.float64)


def _train(sources: Sequence[Hospital], unseen: Hospital, training: str, probability: float) -> Score:
    tiles = np.concatenate([hospital.tiles for hospital in sources])
    labels = np.concatenate([hospital.labels for hospital in sources])
    colorist = Colorist(StyleBank.build(tiles, split="train"), p=probability, seed=_SEED)
    epochs = range(_EPOCHS if probability else 1)  # without augmentation every epoch shows the same images
    shown = [np.stack([colorist(tile, index=place, epoch=epoch) for place, tile in enumerate(tiles)]) for epoch in epochs]
    predict = _fit(np.concatenate([measure_features(each) for each in shown]), np.tile(labels, len(epochs)))

    def accuracy(images: Bytes, truth: Labels) -> float:
        return float((predict(measure_features(images)) == truth).mean())

    return Score(unseen.name, training, accuracy(tiles, labels), accuracy(unseen.tiles, unseen.labels), len(unseen.labels))


def _fit(features: Array, labels: Labels) -> Callable[[Array], NDArray[np.bool_]]:
    """Fit a logistic regression with a penalty by Newton's method; returns the rule that predicts class 1."""
    mean, deviation = features.mean(axis=0), features.std(axis=0) + 1e-9

    def prepare(values: Array) -> Array:
        return np.column_stack([(values - mean) / deviation, np.ones(len(values))])

    inputs = prepare(features)
    weights = np.zeros(inputs.shape[1])
    penalty = np.full(len(weights), _PENALTY)
    penalty[-1] = 0.0  # the constant
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-inputs @ weights))
        slope = inputs.T @ (chance - labels) / len(labels) + penalty * weights
        bend = (inputs * (chance * (1.0 - chance))[:, None]).T @ inputs / len(labels) + np.diag(penalty + 1e-9)
        weights -= np.linalg.solve(bend, slope)
    return lambda values: np.asarray(prepare(values) @ weights > 0.0)


def _cut(slide: Bytes) -> Bytes:
    """Cut a slide into tiles that do not overlap."""
    count = _SLIDE // _TILE
    return slide.reshape(count, _TILE, count, _TILE, 3).swapaxes(1, 2).reshape(-1, _TILE, _TILE, 3)


def _halve(images: Bytes | NDArray[np.float32]) -> NDArray[np.float32]:
    """Average blocks of 2 x 2 pixels."""
    count, height, width, channels = images.shape
    blocks = images.reshape(count, height // 2, 2, width // 2, 2, channels)
    return np.asarray(blocks.mean(axis=(2, 4), dtype=np.float32))
