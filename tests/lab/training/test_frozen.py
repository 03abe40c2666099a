"""Fitting the head only: which images it sees, how the penalty is chosen, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.linear_model import LogisticRegression

from recolorist.errors import OptionError
from recolorist_lab.training import models
from recolorist_lab.training.frozen import PENALTIES, Features, _augmented, _fit, _predict, fit_head
from recolorist_lab.training.prepare import prepare
from recolorist_lab.training.pretrained import identity_of_weights
from recolorist_lab.training.settings import Settings

DATA = "synthetic:hospitals=4,tiles=20,size=16"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "model.safetensors"
    save_file(models.build("test_resnet", 4, own_head=False).net.state_dict(), path)
    return path


def settings_of(file: Path, **changes: Any) -> Settings:
    fixed: dict[str, Any] = {
        "model": "test_resnet",
        "weights": identity_of_weights(file),
        "weights_file": str(file),
        "fit": "head",
        "size": 16,
        "validation": "train",
        "source_share": 0.2,
        "workers": 0,
    }
    return Settings(DATA, 1, **{**fixed, **changes})


def test_every_set_is_scored_and_the_lowest_validation_loss_chooses(weights: Path) -> None:
    settings = settings_of(weights, harmonise=True, augmentation="camera")
    tested, facts = fit_head(settings, prepare(settings))
    assert set(tested) >= {"val", "test", "source", "test_harmonised", "test_gated"}
    losses = facts["validation_losses"]
    assert isinstance(losses, dict)
    assert list(losses) == [str(penalty) for penalty in PENALTIES]
    assert losses[str(facts["penalty"])] == min(losses.values())  # type: ignore[type-var]
    assert tested["val"]["loss"] == pytest.approx(min(losses.values()))  # type: ignore[type-var]


def test_the_same_run_gives_the_same_bits(weights: Path) -> None:
    settings = settings_of(weights, augmentation="colorist(p=1.0)", copies=1)
    first, second = (fit_head(settings, prepare(settings))[1] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("augmentation", "copies", "times"), [("none", 3, 1), ("camera", 0, 1), ("camera", 2, 3)])
def test_copies_are_added_where_there_is_an_augmentation(weights: Path, augmentation: str, copies: int, times: int) -> None:
    settings = settings_of(weights, augmentation=augmentation, copies=copies)
    ready = prepare(settings)
    seen = _augmented(ready.algorithm.network.eval(), ready.feed, copies)
    count = len(ready.splits.train)
    assert len(seen.values) == len(seen.targets) == len(seen.domains) == times * count
    if times > 1:
        assert not np.array_equal(seen.values[:count], seen.values[count : 2 * count])
        assert np.array_equal(seen.targets[:count], seen.targets[count : 2 * count])


@pytest.mark.parametrize("present", [(0, 1, 2, 3), (0, 2, 3), (1, 3)])
def test_predictions_are_scikit_learn_s(present: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    targets = np.array(present)[rng.integers(0, len(present), 60)]
    part = Features(rng.normal(size=(60, 5)) + targets[:, None], targets, ["a"] * 60)
    own = _predict(_fit(part, 0.1, 4), part)
    other = LogisticRegression(C=0.1, class_weight="balanced", max_iter=2_000).fit(part.values, targets)
    assert own.probabilities()[:, present] == pytest.approx(other.predict_proba(part.values), abs=1e-12)
    assert own.losses == pytest.approx(-np.log(own.probabilities()[np.arange(60), targets]), abs=1e-12)


def test_random_weights_have_no_features_worth_freezing(weights: Path) -> None:
    settings = settings_of(weights, weights="", weights_file="")
    with pytest.raises(OptionError, match="fit='head' needs weights"):
        fit_head(settings, prepare(settings))


def test_one_class_is_refused() -> None:
    with pytest.raises(OptionError, match="of 1 class"):
        _fit(Features(np.zeros((3, 2)), np.zeros(3, np.int64), ["a"] * 3), 1.0, 2)
