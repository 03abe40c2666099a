"""Predictions: the same numbers whoever reads the images, and on a device with little memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from recolorist_lab.training import predict as predicting
from recolorist_lab.training.feed import Feed
from recolorist_lab.training.models import Classifier
from recolorist_lab.training.predict import AT_ONCE, Reader, domains_of, predict
from recolorist_lab.training.prepare import Prepared, prepare
from recolorist_lab.training.run import make_fabric
from tests.lab.training.contexts import small

TILES = "synthetic:hospitals=3,tiles=12,size=8"


@pytest.fixture(scope="module")
def ready() -> Prepared:
    return prepare(small(dataset=TILES, size=8))


@pytest.fixture(scope="module")
def fabric() -> Any:
    return make_fabric(small())


def logits(ready: Prepared, fabric: Any, batch: int = 5) -> Any:
    reader = Reader.of(Feed(ready.splits.val), fabric, batch, 0)
    return predict(ready.algorithm.network, reader, ready.normalise, ready.algorithm.task, fabric).logits


def test_every_image_once_and_in_order(ready: Prepared, fabric: Any) -> None:
    reader = Reader.of(Feed(ready.splits.val), fabric, 5, 0)
    seen = predict(ready.algorithm.network, reader, ready.normalise, ready.algorithm.task, fabric)
    assert seen.targets.tolist() == [label for (label,) in ready.splits.val.labels]
    assert seen.logits.dtype == np.float64
    assert seen.domains == domains_of(ready.splits.val)
    assert [len(batch.targets) for batch in reader.batches] == [5, 5, 2]


def test_a_device_without_room_predicts_in_halves(ready: Prepared, fabric: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, forward, asked = logits(ready, fabric), Classifier.forward, []

    def limited(self: Classifier, images: Tensor) -> Tensor:
        asked.append(len(images))
        if len(images) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(self, images)

    monkeypatch.setattr(Classifier, "forward", limited)
    np.testing.assert_allclose(logits(ready, fabric), whole, atol=1e-5)
    assert asked[:5] == [5, 3, 2, 1, 2]
    monkeypatch.setattr(Classifier, "forward", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("CUDA out of memory.")))
    with pytest.raises(torch.OutOfMemoryError):
        logits(ready, fabric)


@pytest.mark.parametrize(("seconds", "workers"), [(0.001, 0), (1.0, 2)])
def test_workers_come_where_reading_is_slow(
    seconds: float, workers: int, ready: Prepared, fabric: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time the images take, not by the number of batches: a hundred large photographs are two batches."""
    monkeypatch.setattr(predicting, "_seconds_per_image", lambda _: seconds)
    assert Reader.of(Feed(ready.splits.val), fabric, 256, 2).batches.num_workers == workers


def test_a_gpu_gets_pinned_memory_and_small_batches(ready: Prepared) -> None:
    fake = SimpleNamespace(global_rank=0, world_size=1, device=torch.device("cuda"))
    reader = Reader.of(Feed(ready.splits.val), fake, 256, 0)
    assert reader.batches.pin_memory
    assert AT_ONCE == 64
