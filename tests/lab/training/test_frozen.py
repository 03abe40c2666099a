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
from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.training import models
from recolorist_lab.training.frozen import PENALTIES, Extractor, Features, _fit, _predict, fit_head
from recolorist_lab.training.prepare import prepare
from recolorist_lab.training.pretrained import identity_of_weights
from recolorist_lab.training.run import make_fabric
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
    return Settings(**{"dataset": DATA, "seed": 1, **fixed, **changes})


def test_every_set_is_scored_and_the_lowest_validation_loss_chooses(weights: Path) -> None:
    settings = settings_of(weights, harmonise=True, augmentation="camera")
    tested, facts = fit_head(settings, prepare(settings), make_fabric(settings))
    assert set(tested) >= {"val", "test", "source", "test_harmonised", "test_gated"}
    losses = facts["validation_losses"]
    assert isinstance(losses, dict)
    assert list(losses) == [str(penalty) for penalty in PENALTIES]
    assert losses[str(facts["penalty"])] == min(losses.values())  # type: ignore[type-var]
    assert tested["val"]["loss"] == pytest.approx(min(losses.values()))  # type: ignore[type-var]


def test_the_same_run_gives_the_same_bits(weights: Path) -> None:
    settings = settings_of(weights, augmentation="colorist(p=1.0)", copies=1)
    first, second = (fit_head(settings, prepare(settings), make_fabric(settings))[1] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("augmentation", "copies", "times"), [("none", 3, 1), ("camera", 0, 1), ("camera", 2, 3)])
def test_copies_are_added_where_there_is_an_augmentation(weights: Path, augmentation: str, copies: int, times: int) -> None:
    settings = settings_of(weights, augmentation=augmentation, copies=copies)
    ready = prepare(settings)
    seen = Extractor(ready.algorithm.network, make_fabric(settings), "").augmented(ready.feed, copies)
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
    with pytest.raises(OptionError, match="fit='head' needs pretrained weights"):
        fit_head(settings, prepare(settings), make_fabric(settings))


def test_one_class_is_refused() -> None:
    with pytest.raises(OptionError, match="of 1 class"):
        _fit(Features(np.zeros((3, 2)), np.zeros(3, np.int64), ["a"] * 3), 1.0, 2)


def test_features_of_plain_images_are_kept_and_equal(weights: Path, tmp_path: Path) -> None:
    """Another augmentation finds them; a damaged file is made again; other pixels or weights have other files."""
    images = np.random.default_rng(0).integers(0, 256, (48, 16, 16, 3), dtype=np.uint8)
    np.save(tmp_path / "small.npy", images, allow_pickle=False)
    entries = [Entry("small", "test" if row > 35 else "train", "site", "small.npy", (row % 2,), row) for row in range(48)]
    Manifest.of(entries, Facts("small", "Small", "binary", ("a", "b"))).write(tmp_path / "small.parquet")
    settings = settings_of(weights, dataset=str(tmp_path / "small.parquet"), harmonise=True)
    first = fit_head(settings, prepare(settings), make_fabric(settings))
    kept = sorted(tmp_path.glob("*.features.npy"))
    assert len(kept) >= 4
    kept[0].write_bytes(b"damaged")
    assert fit_head(settings, prepare(settings), make_fabric(settings)) == first
    assert sorted(tmp_path.glob("*.features.npy")) == kept
    other = settings_of(weights, dataset=str(tmp_path / "small.parquet"), harmonise=True, augmentation="camera")
    fit_head(other, prepare(other), make_fabric(other))
    assert sorted(tmp_path.glob("*.features.npy")) == kept
