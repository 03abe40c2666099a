"""Results of a comparison as plain values."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from recolorist_lab.compare.folds import make_folds
from recolorist_lab.compare.images import ImageSource, find_images
from recolorist_lab.compare.plan import Training
from recolorist_lab.compare.results import collect, title_of
from tests.lab.compare.conftest import made


def test_results_become_json_with_every_score() -> None:
    comparison = made({"none": np.full((2, 3), 0.5), "colorist": np.full((2, 3), 0.6)})
    values = json.loads(json.dumps(comparison.to_json()))
    assert values["methods"][1]["unseen"] == [[0.6] * 3] * 2
    assert values["methods"][0]["difference"] is None
    assert values["methods"][1]["difference"]["better"] == 2
    assert (values["level"], values["resamples"]) == (0.95, 10_000)


def test_guessing_depends_on_the_number_of_classes() -> None:
    assert made({"none": np.full((1, 3), 0.5), "camera": np.full((1, 3), 0.5)}).chance == 0.5
    assert title_of("colorist(p=1.0)") == "colorist(p=1.0)"


def test_a_hospital_may_be_called_like_a_split(hospitals: Path) -> None:
    for number, name in enumerate("abc", 1):
        (hospitals / name).rename(hospitals / f"split {number}")
    folds = make_folds(find_images(ImageSource(hospitals))[0], 1)
    training, scored = Training(("colorist",)), {"balanced_accuracy": 0.5}
    config = [SimpleNamespace(augmentation=name, seed=0) for name in training.every_method]
    study: Any = SimpleNamespace(cells=[SimpleNamespace(config=each, grid=fold.name) for fold in folds for each in config])
    result = SimpleNamespace(result={"test": scored, "test_harmonised": scored, "val": scored})
    ledger: Any = SimpleNamespace(result=lambda _: result)
    comparison = collect(study, ledger, folds, training)
    assert comparison.targets == ("split 1", "split 2", "split 3")
    assert not comparison.is_one_hospital
    assert comparison.held_out == 3 * 6  # a fifth of 32 images, for each target
