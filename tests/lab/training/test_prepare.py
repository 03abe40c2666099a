"""What a run has before its first minibatch depends on its settings alone."""

from __future__ import annotations

import torch

from recolorist_lab.training.prepare import prepare
from tests.lab.training.contexts import small

TILES = "synthetic:hospitals=4,tiles=8,size=8"


def test_weights_follow_from_the_seed_alone() -> None:
    torch.manual_seed(1)
    first = prepare(small(dataset=TILES, size=8))
    torch.manual_seed(2)
    second = prepare(small(dataset=TILES, size=8, augmentation="colorist"))
    other = prepare(small(dataset=TILES, size=8, seed=8))
    weights = [list(ready.algorithm.network.parameters()) for ready in (first, second, other)]
    assert all(torch.equal(one, same) for one, same in zip(weights[0], weights[1], strict=True))
    assert not all(torch.equal(one, another) for one, another in zip(weights[0], weights[2], strict=True))
    assert first.feed.augmentation is None
    assert second.feed.augmentation is not None


def test_domains_are_numbered_for_the_algorithm() -> None:
    ready = prepare(small(dataset=TILES, size=8, minibatches="by_domain", algorithm="ib_erm"))
    assert ready.order.split_by_domain
    assert len(ready.order.names) == 2
    assert ready.algorithm.task.classes == 4
