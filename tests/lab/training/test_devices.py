"""Two devices, which here are two processes on the CPU: the same training, to rounding."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from recolorist_lab.training.batches import parts_of, pooled
from recolorist_lab.training.run import run
from tests.lab.training.contexts import Memory, small

#: A network without batch norm, whose gradient is the mean over images however they are shared out; 36 images make uneven shares.
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


def test_shares_hold_every_image_once() -> None:
    for batch in pooled(103, 16, 8, seed=1, epoch=2):
        parts = [part for rank in range(2) for part in parts_of(batch, 2, 2, rank)]
        assert sorted(place for part in parts for place in part.tolist()) == sorted(batch.tolist())
        assert min(len(part) for part in parts) >= 2


def test_a_small_last_batch_goes_to_the_one_before() -> None:
    sizes = [len(batch) for batch in pooled(33, 16, 2, seed=0, epoch=0)]
    assert sizes == [16, 17]
    assert [len(batch) for batch in pooled(34, 16, 2, seed=0, epoch=0)] == [16, 16, 2]
    assert [len(batch) for batch in pooled(1, 16, 2, seed=0, epoch=0)] == [1]
    assert sorted(torch.cat([torch.from_numpy(batch) for batch in pooled(33, 16, 2, seed=0, epoch=0)]).tolist()) == list(
        range(33)
    )
