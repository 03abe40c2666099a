"""Two devices, which here are two processes on the CPU: the same training, to rounding."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment

from recolorist_lab.training.batches import parts_of, shuffle_all
from recolorist_lab.training.feed import Feed
from recolorist_lab.training.predict import Reader, predict
from recolorist_lab.training.prepare import prepare
from recolorist_lab.training.run import make_fabric, run
from recolorist_lab.training.scores import brief, scores
from tests.lab.training.contexts import Memory, small

#: A network without batch norm, whose gradient is the mean over images however they are shared out; 36 images make uneven shares.
TILES = "synthetic:hospitals=3,tiles=16,size=8"
CHANGES: dict[str, Any] = {"model": "test_vit", "epochs": 2, "batch": 15, "augmentation": "colorist", "checkpoint_seconds": 0.0}


def test_two_devices_train_as_one(loopback: str) -> None:  # noqa: ARG001 - the processes meet on 127.0.0.1
    """From a checkpoint of the single one, which the first device hands to the other."""
    one, two = Memory(), Memory()
    alone: Any = run(small(**CHANGES), one)
    two.saved = one.saved[:2]
    shared: Any = run(small(**CHANGES, devices=2), two)
    assert len(two.saved) == len(one.saved)
    for name, tensor in one.weights().items():
        torch.testing.assert_close(two.weights()[name], tensor, atol=2e-3, rtol=0)
    assert shared["best_val_loss"] == pytest.approx(alone["best_val_loss"], abs=2e-3)
    assert [shared[name]["images"] for name in ("val", "test")] == [12, 12]
    assert len(json.loads(two.kept["history.json"])) == 2


def test_the_scores_are_those_of_the_saved_weights(loopback: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """With batch norm, whose statistics differ between the devices; and under a SLURM job of one task."""
    for name, value in {
        "SLURM_NTASKS": "1",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NAME": "sweep",
        "SLURM_NTASKS_PER_NODE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    settings, context = small(model="test_resnet", size=8, epochs=2, batch=8, devices=2, dataset=TILES), Memory()
    result: Any = run(settings, context)
    alone = replace(settings, devices=1)
    ready, fabric = prepare(alone), make_fabric(alone)
    ready.algorithm.network.net.load_state_dict(context.weights())
    ready.algorithm.network.use_channels_last()  # as in training on a processor; other layouts round otherwise
    for name, part in (("val", ready.splits.val), ("test", ready.splits.test)):
        reader = Reader.of(Feed(part), fabric, settings.batch, 0)
        seen = predict(ready.algorithm.network, reader, ready.normalise, ready.algorithm.task, fabric)
        assert brief(scores(seen, part.classes)) == result[name]
    assert json.loads(context.kept["history.json"])[result["best_epoch"]]["val_loss"] == result["best_val_loss"]


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_NTASKS": "1"},
        {"SLURM_NTASKS": "2"},
        {"SLURM_NTASKS": "1", "SLURM_NTASKS_PER_NODE": "1"},
        {"SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "2", "SLURM_NNODES": "2", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"},
        {"SLURM_NTASKS": "2", "SLURM_PROCID": "1", "SLURM_LOCALID": "1", "SLURM_NODEID": "0"},
        {"SLURM_NTASKS": "1", "SLURM_JOB_NAME": "bash"},
    ],
    ids=["one-task", "two-tasks", "one-a-node", "two-nodes", "second-task", "interactive"],
)
@pytest.mark.parametrize("devices", [1, 2])
def test_slurm_does_not_decide_who_trains(variables: dict[str, str], devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "sweep", "SLURM_NODELIST": "node1", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LOCAL_RANK", "0")  # as `following` sets it
    fabric = make_fabric(small(devices=devices), launch=False)
    assert (fabric.world_size, fabric.global_rank) == (devices, 0)
    environment = fabric._connector.strategy.cluster_environment if devices > 1 else LightningEnvironment()
    assert isinstance(environment, LightningEnvironment)


def test_shares_hold_every_image_once() -> None:
    for batch in shuffle_all(103, 16, 8, seed=1, epoch=2):
        parts = [part for rank in range(2) for part in parts_of(batch, 2, 2, rank)]
        assert sorted(place for part in parts for place in part.tolist()) == sorted(batch.tolist())
        assert min(len(part) for part in parts) >= 2


def test_a_small_last_batch_goes_to_the_one_before() -> None:
    sizes = [len(batch) for batch in shuffle_all(33, 16, 2, seed=0, epoch=0)]
    assert sizes == [16, 17]
    assert [len(batch) for batch in shuffle_all(34, 16, 2, seed=0, epoch=0)] == [16, 16, 2]
    assert [len(batch) for batch in shuffle_all(1, 16, 2, seed=0, epoch=0)] == [1]
    assert sorted(torch.cat([torch.from_numpy(batch) for batch in shuffle_all(33, 16, 2, seed=0, epoch=0)]).tolist()) == list(
        range(33)
    )
