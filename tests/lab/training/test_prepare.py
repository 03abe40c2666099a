"""What a run has before its first minibatch depends on its settings alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from recolorist.errors import ImageError
from recolorist_lab.data.own import IndexOptions
from recolorist_lab.data.own_arrays import index_npz
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


@pytest.mark.parametrize("split", ["train", "val", "test"])
@pytest.mark.parametrize("measured_before", [True, False])
def test_images_that_were_changed_in_place_are_refused(tmp_path: Path, split: str, measured_before: bool) -> None:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {}
    for name in ("train", "val", "test"):
        arrays[f"{name}_images"] = rng.integers(0, 256, (8, 8, 8, 3), np.uint8)
        arrays[f"{name}_labels"] = np.arange(8)[:, None] % 2
    np.savez(tmp_path / "own.npz", **arrays)
    manifest = index_npz(tmp_path / "own.npz", IndexOptions("own")).write(tmp_path / "own.parquet")
    settings = small(dataset=str(manifest), size=8)
    if measured_before:
        prepare(settings)
    images = np.lib.format.open_memmap(tmp_path / "own" / f"{split}_images.npy", "r+")
    images[:] = 0
    images.flush()
    with pytest.raises(ImageError, match="holds other pixels than when it was indexed"):
        prepare(settings)
