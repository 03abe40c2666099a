"""The feed: a batch asked for at once is the batch asked for one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from recolorist_lab.augmentations import TrainingImages, build
from recolorist_lab.data.named import named
from recolorist_lab.training.feed import Feed, loader


def feed(augmentation: str) -> Feed:
    samples = named("synthetic:hospitals=3,tiles=6,size=32").samples("train")
    return Feed(samples, augmentation=build(augmentation, TrainingImages(samples), seed=5))


def test_a_batch_is_its_items() -> None:
    made = feed("colorist(p=1.0)+randaugment")
    where = [(2, place) for place in (3, 0, 5, 1, 4)]
    for one, other in zip(made.__getitems__(where), [made[place] for place in where], strict=True):
        assert np.array_equal(one[0], other[0])
        assert one[1:] == other[1:]


def test_torch_asks_for_batches() -> None:
    made, asked = feed("none"), []

    class Listening(Feed):
        def __getitems__(self, where: Any) -> Any:
            asked.append(list(where))
            return super().__getitems__(where)

    batches = [[(0, 1), (0, 2)], [(0, 0)]]
    found = list(loader(Listening(made.samples), batches, 0))
    assert asked == batches
    assert [len(batch.images) for batch in found] == [2, 1]
