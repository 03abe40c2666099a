"""Whole runs with a tiny network: the same bits every time, after every interruption, and what the protocol promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from numpy.typing import NDArray
from safetensors.torch import load
from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.training import loop
from recolorist_lab.training.algorithms import ib_erm
from recolorist_lab.training.algorithms.base import StepLoss
from recolorist_lab.training.algorithms.erm import Plain
from recolorist_lab.training.loop import TrainingError
from recolorist_lab.training.prepare import prepare
from recolorist_lab.training.run import run
from recolorist_lab.training.scores import Predictions
from tests.lab.training.contexts import Memory, small


def done(**changes: Any) -> tuple[Any, Memory]:
    context = Memory()
    return run(small(**changes), context), context


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def baseline() -> tuple[Any, Memory]:
    return done()


class TestBits:
    def test_two_runs_are_one(self, baseline: tuple[Any, Memory]) -> None:
        result, again = done()
        assert (result, again.kept) == (baseline[0], baseline[1].kept)

    def test_another_seed_is_another_run(self, baseline: tuple[Any, Memory]) -> None:
        assert not same(done(seed=8)[1].weights(), baseline[1].weights())

    @pytest.mark.parametrize("augmentation", ["colorist", "randaugment", "random_flip"])
    def test_an_augmentation_that_never_comes_is_the_baseline(self, augmentation: str, baseline: tuple[Any, Memory]) -> None:
        _, never = done(augmentation=augmentation, probability=0.0)
        assert never.kept["model.safetensors"] == baseline[1].kept["model.safetensors"]
        assert never.kept["history.json"] == baseline[1].kept["history.json"]

    def test_and_one_that_comes_is_not(self, baseline: tuple[Any, Memory]) -> None:
        assert not same(done(augmentation="colorist", probability=1.0)[1].weights(), baseline[1].weights())

    def test_workers_change_nothing(self) -> None:
        alone = done(augmentation="colorist+randaugment", epochs=1)[1]
        helped = done(augmentation="colorist+randaugment", epochs=1, workers=2)[1]
        assert helped.kept == alone.kept

    def test_what_was_drawn_before_changes_nothing(self, baseline: tuple[Any, Memory]) -> None:
        torch.manual_seed(99)
        torch.rand(1000)
        assert done()[1].kept == baseline[1].kept


RANDOM: dict[str, Any] = {"algorithm": "selfreg", "augmentation": "colorist", "epochs": 3, "checkpoint_seconds": 0.0}


class TestResume:
    def test_from_every_checkpoint_the_end_is_the_same(self) -> None:
        """Every minibatch and every end of an epoch; what a kill leaves is one of these."""
        result, whole = done(**RANDOM)
        assert len(whole.saved) == 3 * (3 + 1)
        for number in (0, 2, 3, 6, 10, 11):
            context = Memory()
            context.saved = whole.saved[: number + 1]
            assert run(small(**RANDOM), context) == result
            assert context.kept == whole.kept

    def test_also_where_the_optimiser_starts_afresh(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ib_erm, "ANNEAL", 4)
        how: dict[str, Any] = {"algorithm": "ib_erm", "checkpoint_seconds": 0.0}
        result, whole = done(**how)
        assert result["method"]["penalty_came_in"]
        for number in (2, 4, 5):
            context = Memory()
            context.saved = whole.saved[: number + 1]
            assert run(small(**how), context) == result
            assert context.kept == whole.kept
        assert not same(done(**how, variant="authors")[1].weights(), whole.weights())

    def test_counters_and_optimiser_are_among_it(self) -> None:
        _, whole = done(algorithm="ib_erm", epochs=1, checkpoint_seconds=0.0)
        names = set(load(whole.saved[-1][1]))
        assert "module.counter" in names
        assert {"optimiser.0.exp_avg", "optimiser.0.exp_avg_sq", "optimiser.0.step"} <= names
        assert any(name.startswith("best.") for name in names)

    def test_checkpoints_are_not_pickles_and_strangers_are_refused(self) -> None:
        _, whole = done(epochs=1, checkpoint_seconds=0.0)
        step, data = whole.saved[0]
        for bad, message in ((b"no" * 40, "not a checkpoint"), (data[:-10], "not a checkpoint")):
            context = Memory()
            context.saved = [(step, bad)]
            with pytest.raises(Exception, match=message):
                run(small(epochs=1), context)
        context = Memory()
        context.saved = [(step, data)]
        with pytest.raises(Exception, match="does not fit"):
            run(small(epochs=1, model="test_vit"), context)

    def test_seldom_is_seldom(self) -> None:
        assert done(checkpoint_seconds=1e6)[1].saved == []


class TestProtocol:
    def test_the_weights_file_reproduces_the_best_validation_loss(self, baseline: tuple[Any, Memory]) -> None:
        result, context = baseline
        scores, history = json.loads(context.kept["scores.json"]), json.loads(context.kept["history.json"])
        assert scores["val"]["batch_loss"] == result["best_val_loss"] == min(row["val_loss"] for row in history)
        assert history[result["best_epoch"]]["val_loss"] == result["best_val_loss"]
        net = timm.create_model("test_resnet", num_classes=4)
        net.load_state_dict(context.weights())  # plain keys of timm, nothing more
        config = json.loads(context.kept["config.json"])
        ready = prepare(small())
        net.eval()
        images = torch.stack([torch.from_numpy(sample.image.transpose(2, 0, 1).copy()) for sample in ready.splits.val])
        mean, std = (torch.tensor(config[name])[:, None, None] for name in ("mean", "std"))
        with torch.no_grad():
            logits = net((images / 255 - mean) / std)
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([label for (label,) in ready.splits.val.labels]))
        assert float(loss) == pytest.approx(scores["val"]["loss"], abs=1e-5)

    @pytest.mark.parametrize("algorithm", ["erm", "rsc", "selfreg"])
    def test_every_algorithm_saves_plain_keys(self, algorithm: str) -> None:
        _, context = done(algorithm=algorithm, epochs=1)
        timm.create_model("test_resnet", num_classes=4).load_state_dict(context.weights())

    def test_normalised_training_pixels_have_mean_zero_and_deviation_one(self) -> None:
        ready = prepare(small())
        images = torch.stack([torch.from_numpy(sample.image.transpose(2, 0, 1).copy()) for sample in ready.splits.train])
        seen = ready.normalise(ready.normalise.unit(images)).double()
        np.testing.assert_allclose(seen.mean((0, 2, 3)), 0, atol=1e-5)
        np.testing.assert_allclose(seen.std((0, 2, 3), correction=0), 1, atol=1e-5)

    def test_a_loss_that_never_falls_stops_after_one_and_fifteen_epochs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Predictions, "batch_loss", lambda *_: 1.0)
        result, context = done(epochs=100, patience=15, batch=36, model="test_vit", size=32)
        assert (result["epochs"], result["best_epoch"]) == (16, 0)
        assert len(json.loads(context.kept["history.json"])) == 16

    def test_the_best_weights_are_kept_and_not_the_last(self, monkeypatch: pytest.MonkeyPatch) -> None:
        losses = iter([0.5, 0.9])
        monkeypatch.setattr(Predictions, "batch_loss", lambda *_: next(losses, 0.5))
        _, context = done(checkpoint_seconds=0.0)
        ends = [load(context.saved[place][1]) for place in (3, 7)]  # after three minibatches and an end, twice
        first, last = (
            {
                name.removeprefix("module.network.net."): tensor
                for name, tensor in end.items()
                if name.startswith("module.network.net.")
            }
            for end in ends
        )
        assert same(context.weights(), first)
        assert not same(first, last)

    def test_an_equal_loss_is_no_improvement(self, monkeypatch: pytest.MonkeyPatch) -> None:
        losses = iter([2.0, 1.0, 1.0, 0.5, 0.7, 0.6, 9.0])
        monkeypatch.setattr(Predictions, "batch_loss", lambda *_: next(losses, 1.0))
        result, _ = done(epochs=20, patience=2, batch=36)
        assert (result["epochs"], result["best_epoch"], result["best_val_loss"]) == (6, 3, 0.5)

    def test_the_last_epoch_is_kept_where_that_is_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        losses = iter([2.0, 1.0, 1.5, 1.7])
        monkeypatch.setattr(Predictions, "batch_loss", lambda *_: next(losses, 1.0))
        result, _ = done(epochs=4, patience=1, batch=36, keep="last")
        assert (result["epochs"], result["best_epoch"], result["best_val_loss"]) == (4, 3, 1.7)

    def test_the_share_held_out_never_trains_nor_lends_its_colours(self) -> None:
        ready = prepare(
            small(dataset="synthetic:hospitals=5,tiles=32,size=32", validation="train", validation_share=0.25, source_share=0.25)
        )
        parts = [ready.splits.train, ready.splits.val, ready.splits.source]
        rows = [set(part.rows.tolist()) for part in parts if part is not None]
        assert [len(one) for one in rows] == [48, 24, 24]
        assert len(rows[0] | rows[1] | rows[2]) == 96
        assert len(ready.images.bank()) == 48
        for part in parts:
            assert part is not None
            counts = np.bincount([label for (label,) in part.labels], minlength=4)
            assert counts.max() == counts.min()  # alike in class

    def test_sets_are_scored_by_name(self) -> None:
        result, _ = done(validation="train", source_share=0.25, harmonise=True, epochs=1)
        assert {"val", "val_split", "test", "test_harmonised", "source"} <= set(result)
        assert result["images"] == {"train": 20, "val": 7, "test": 12, "source": 9, "val_split": 12}
        assert result["test_harmonised"]["loss"] != result["test"]["loss"]


class TestMinibatches:
    def test_parts_of_a_minibatch_add_up_to_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A network without batch norm has, in two parts or four uneven ones, the gradient of the whole; plain SGD shows it."""
        monkeypatch.setattr(loop, "adamw", lambda module, _: torch.optim.SGD(module.parameters(), lr=0.1))
        how: dict[str, Any] = {"model": "test_vit", "epochs": 1, "batch": 18, "clip_norm": 0.0, "learning_rate": 0.1}
        whole = done(**how)[1].weights()
        for parts in (2, 4):
            found = done(**how, accumulate=parts)[1].weights()
            for name, tensor in whole.items():
                torch.testing.assert_close(found[name], tensor, atol=1e-5, rtol=1e-4)

    def test_domain_aware_minibatches_hold_every_domain_equally(self) -> None:
        ready = prepare(small(minibatches="by_domain", batch=12))
        for batch in ready.order.go_to(0, 0):
            assert np.bincount(ready.order.domains[batch]).tolist() == [4, 4, 4]
        assert len(ready.order.go_to(0, 0)) == 3
        assert done(minibatches="by_domain", batch=12, algorithm="ib_erm", epochs=1)[0]["domains_in_minibatches"] == 3

    def test_with_one_source_they_are_the_pooled_ones(self) -> None:
        alone = "synthetic:hospitals=3,tiles=12,size=32"
        pooled = done(dataset=alone, epochs=1)
        aware = done(dataset=alone, epochs=1, minibatches="by_domain")
        assert aware[1].kept["model.safetensors"] == pooled[1].kept["model.safetensors"]
        assert aware[0]["domains_in_minibatches"] == 1

    def test_a_minibatch_that_is_not_finite_is_skipped_and_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        forward = Plain.forward
        calls = []

        def sometimes(self: Plain, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:
            loss, logits = forward(self, images, targets, domains)
            calls.append(1)
            return StepLoss(loss * float("nan") if len(calls) == 2 else loss, logits)

        monkeypatch.setattr(Plain, "forward", sometimes)
        result, context = done()
        assert result["skipped_minibatches"] == 1
        assert [row["skipped"] for row in json.loads(context.kept["history.json"])] == [1, 0]
        assert all(torch.isfinite(tensor).all() for tensor in context.weights().values())

    def test_an_epoch_of_nothing_else_ends_the_run(self) -> None:
        with pytest.raises(TrainingError, match="smaller learning_rate than"):
            done(learning_rate=1e30, clip_norm=0.0, epochs=50)

    def test_batch_fractions_work_on_the_device(self) -> None:
        result, context = done(augmentation="colorist(mode='batch_fraction')", epochs=1)
        assert result["epochs"] == 1
        assert not same(context.weights(), done(epochs=1)[1].weights())

    def test_too_few_images_are_refused(self) -> None:
        with pytest.raises(OptionError, match="images to train on"):
            prepare(small(dataset="synthetic:hospitals=3,tiles=4,size=16", size=16, batch=16, accumulate=4))


def chest(folder: Path) -> str:
    """Twenty grey images with up to three labels each, and a manifest."""
    rng = np.random.default_rng(0)
    images: NDArray[np.uint8] = rng.integers(0, 256, (60, 32, 32), dtype=np.uint8)
    np.save(folder / "chest.npy", images, allow_pickle=False)
    entries = [
        Entry("chest", split, "site", "chest.npy", tuple(np.flatnonzero(rng.random(3) < 0.4).tolist()), row)
        for row, split in enumerate(["train"] * 36 + ["val"] * 12 + ["test"] * 12)
    ]
    Manifest.of(entries, Facts("chest", "Chest", "multilabel", ("a", "b", "c"))).write(folder / "chest.parquet")
    return str(folder / "chest.parquet")


@pytest.mark.parametrize("algorithm", ["plain", "rsc", "selfreg"])
def test_several_labels_to_an_image(tmp_path: Path, algorithm: str) -> None:
    result, context = done(dataset=chest(tmp_path), algorithm=algorithm, augmentation="colorist", epochs=1)
    assert {"balanced_accuracy", "accuracy", "exact_match"} <= set(result["test"])
    assert np.shape(json.loads(context.kept["scores.json"])["test"]["confusion"]) == (3, 2, 2)
    assert result["test"]["confusion"] == json.loads(context.kept["scores.json"])["test"]["confusion"]
    assert len(result["classes"]) == 3


def test_letterboxing_leaves_borders_out_of_the_statistics(tmp_path: Path) -> None:
    images = np.full((60, 16, 32, 3), 200, np.uint8)
    images[:, :, ::2] = 100
    np.save(tmp_path / "wide.npy", images, allow_pickle=False)
    splits = ["train"] * 36 + ["val"] * 12 + ["test"] * 12
    entries = [Entry("wide", split, "site", "wide.npy", (row % 2,), row) for row, split in enumerate(splits)]
    Manifest.of(entries, Facts("wide", "Wide", "binary", ("a", "b"))).write(tmp_path / "wide.parquet")
    ready = prepare(small(dataset=str(tmp_path / "wide.parquet"), resize="letterbox"))
    assert ready.splits.train[0].box == (0, 8, 32, 24)
    np.testing.assert_allclose(ready.normalise.mean, 150 / 255, atol=1e-6)
    np.testing.assert_allclose(ready.normalise.std, 50 / 255, atol=1e-6)
    squashed = prepare(small(dataset=str(tmp_path / "wide.parquet"), resize="squash"))
    assert squashed.splits.train[0].box == (0, 0, 32, 32)


@pytest.mark.parametrize(("precision", "dtype"), [("bf16-mixed", torch.float32), ("bf16-true", torch.bfloat16)])
def test_other_precisions(precision: str, dtype: torch.dtype, baseline: tuple[Any, Memory]) -> None:
    _, context = done(precision=precision, epochs=1, algorithm="rsc")
    found = context.weights()
    assert {tensor.dtype for tensor in found.values() if tensor.is_floating_point()} == {dtype}
    assert not same(found, baseline[1].weights())


@pytest.mark.filterwarnings("ignore:You passed")
def test_a_precision_that_the_device_does_not_have_is_refused() -> None:
    with pytest.raises(OptionError, match="is not available on cpu"):
        done(precision="16-mixed")


def test_curves_for_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    done(epochs=1, tensorboard=str(tmp_path))
    assert [path.stat().st_size > 0 for path in tmp_path.rglob("events.out.*")] == [True]


def test_a_dataset_without_validation_says_what_to_do() -> None:
    with pytest.raises(OptionError, match="--set validation=train"):
        prepare(small(dataset="synthetic:hospitals=2,tiles=12,size=32"))
    assert len(prepare(small(dataset="synthetic:hospitals=2,tiles=20,size=32", validation="train")).splits.val) == 4
