"""Does the gate of harmonising pay? Balanced accuracy of fixed classifiers with images harmonised never, if outside, and always.

Two classifiers, neither trained on harmonised images: a logistic regression on the pooled convolutional features of AlexNet with
ImageNet's weights (the lab's `alexnet_features`), and extremely randomised trees on 16 x 16 pixels.
Intervals resample the test's independent units (cells, or slides), not the training.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import recolorist as rc
from benchmarks import environment
from benchmarks.claims.images import ImageSet, Pixels, load_set, run

__all__ = ["measure"]

Array = NDArray[np.float64]
Features = Callable[[list[Pixels]], Array]
CELLS: Final = ("neutrophil", "lymphocyte", "monocyte", "eosinophil")
ARMS: Final[dict[str, dict[str, Any] | None]] = {
    "never": None,
    "gated": {"gate": "centre"},
    "always": {"gate": "off"},
    "gated, covariance": {"gate": "centre", "method": "covariance"},
    "always, covariance": {"gate": "off", "method": "covariance"},
}
DRAWS: Final = 1000


class Test(NamedTuple):
    """A classification task: where to learn, and where to be tested."""

    name: str
    train: ImageSet
    tests: list[ImageSet]


def measure(folder: Path) -> dict[str, Any]:
    """Return the accuracies of all arms on all tests."""
    rows = []
    for name, features in _feature_sets().items():
        for task in (_blood(folder), _breast(folder)):
            rows += _measure_task(task, name, features)
    return {"draws": DRAWS, "rows": rows}


def _measure_task(task: Test, name: str, features: Features) -> list[dict[str, Any]]:
    model: Any = (
        ExtraTreesClassifier(400, random_state=0, class_weight="balanced")
        if name.startswith("trees")
        else make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000, class_weight="balanced"))
    )
    model.fit(features(task.train.images), task.train.labels)
    bank = task.train.bank()
    rows = []
    for test in task.tests:
        guesses, moved = {}, {}
        for arm, options in ARMS.items():
            harmonised = test.images
            if options is not None:
                change = rc.Harmoniser(bank, **options)
                done = [change.harmonise(image) for image in test.images]
                harmonised, moved[arm] = [each.image for each in done], sum(each.record.is_changed for each in done)
            guesses[arm] = model.predict(features(harmonised))
        rows += _summarise(task.name, name, test, guesses, moved)
    return rows


def _summarise(task: str, name: str, test: ImageSet, guesses: dict[str, Any], moved: dict[str, int]) -> list[dict[str, Any]]:
    """Return accuracy and its difference to doing nothing, both with intervals over resampled units."""
    rng = np.random.default_rng(0)
    units = np.unique(test.units)
    members = [np.flatnonzero(test.units == unit) for unit in units]
    scores: dict[str, list[float]] = {arm: [] for arm in guesses}
    while len(scores["never"]) < DRAWS:
        rows = np.concatenate([members[i] for i in rng.integers(len(units), size=len(units))])
        if len(np.unique(test.labels[rows])) < len(np.unique(test.labels)):
            continue
        for arm, guess in guesses.items():
            scores[arm].append(balanced_accuracy_score(test.labels[rows], guess[rows]))
    found = []
    for arm, guess in guesses.items():
        gains = np.array(scores[arm]) - np.array(scores["never"])
        found.append(
            {
                "task": task,
                "classifier": name,
                "test": test.name,
                "images": len(test.images),
                "units": len(units),
                "arm": arm,
                "moved": moved.get(arm, 0),
                "accuracy": round(float(balanced_accuracy_score(test.labels, guess)), 4),
                "interval": np.percentile(scores[arm], [2.5, 97.5]).round(4).tolist(),
                "gain_interval": np.percentile(gains, [2.5, 97.5]).round(4).tolist(),
            }
        )
        print(found[-1], flush=True)
    return found


def _blood(folder: Path) -> Test:
    source = _only(load_set(folder, "acevedo20"), CELLS)
    held = np.random.default_rng(0).permutation(len(source.images)) < len(source.images) // 4
    tests = [_part(source, held, "acevedo20, held out"), *(_only(load_set(folder, name), CELLS) for name in ("tecom", "BCCD"))]
    return Test("blood cells, four classes", _part(source, ~held, "acevedo20"), tests)


def _breast(folder: Path) -> Test:
    warm = load_set(folder, "BreakHis warm")
    slides = np.unique(warm.units)
    held = np.isin(warm.units, np.random.default_rng(0).permutation(slides)[: len(slides) // 2])
    tests = [_part(warm, held, "warm slides, held out"), load_set(folder, "BreakHis cool")]
    return Test("BreakHis, benign or malignant", _part(warm, ~held, "BreakHis warm"), tests)


def _only(images: ImageSet, labels: tuple[str, ...]) -> ImageSet:
    return _part(images, np.isin(images.labels, labels), images.name)


def _part(images: ImageSet, keep: NDArray[np.bool_], name: str) -> ImageSet:
    chosen = [images.images[row] for row in np.flatnonzero(keep)]
    return ImageSet(name, chosen, images.labels[keep], images.units[keep])


def _feature_sets() -> dict[str, Features]:
    return {"trees on 16 x 16 pixels": _small_pixels, "AlexNet features, logistic regression": _alexnet()}


def _small_pixels(images: list[Pixels]) -> Array:
    side = images[0].shape[0] // 16
    return np.stack([image.reshape(16, side, 16, side, 3).mean(axis=(1, 3)).ravel() for image in images])


def _alexnet() -> Features:
    """Return the mean and the largest value of each of the 256 last feature maps."""
    from recolorist_lab.assets import weights

    torch = environment.load("torch")
    network = environment.load("torchvision.models").alexnet(weights=None)
    network.load_state_dict(weights.state_of("alexnet_features"), strict=False)
    network.eval()
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])

    def compute(images: list[Pixels]) -> Array:
        found = []
        with torch.inference_mode():
            for start in range(0, len(images), 64):
                pixels = torch.from_numpy(np.stack(images[start : start + 64])).float().div_(255)
                maps = network.features(((pixels - mean) / std).permute(0, 3, 1, 2))
                found.append(torch.cat([maps.mean((2, 3)), maps.amax((2, 3))], dim=1))
        return np.asarray(torch.cat(found).double())

    return compute


if __name__ == "__main__":
    run(measure, "gate")
