"""Two processes with torch's DistributedSampler and a real group: together they see what one process sees."""

from __future__ import annotations

import hashlib
import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from recolorist.torch import ColoristDataset
from tests.frameworks import workers
from tests.torch.data import Tiles, bank_of, tiles

COUNT, RANKS, EPOCHS = 8, 2, 2


def dataset() -> ColoristDataset:
    return ColoristDataset(Tiles(COUNT, seed=1), bank_of(tiles(40, seed=2)), p=1.0, seed=5)


def digest(image: Any) -> str:
    return hashlib.sha256(np.asarray(image).tobytes()).hexdigest()


def run_rank(rank: int, store: str, results: Any) -> None:
    """What a process of a training run does: join the group, and load its part of every epoch."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    data = dataset()
    sampler: Any = DistributedSampler(data, shuffle=True, seed=3)  # asks the group for rank and size
    loader: Any = DataLoader(data, batch_size=2, sampler=sampler)
    seen: list[dict[int, str]] = []
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        data.set_epoch(epoch)
        seen.append({int(n): digest(image) for images, numbers in loader for image, n in zip(images, numbers, strict=True)})
    everything: list[Any] = [None] * RANKS
    dist.all_gather_object(everything, seen)
    dist.barrier()
    dist.destroy_process_group()
    results.put((rank, everything))


@pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="this build of torch has no gloo")
@pytest.mark.filterwarnings(*workers.LOADER_WARNINGS)
def test_two_processes_see_what_one_sees(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    results: Any = context.SimpleQueue()
    ranks = [context.Process(target=run_rank, args=(rank, str(tmp_path / "store"), results)) for rank in range(RANKS)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(600)  # a few seconds on a quiet machine
    assert [process.exitcode for process in ranks] == [0] * RANKS
    (_, first), (_, second) = results.get(), results.get()
    assert first == second
    alone = dataset()
    for epoch in range(EPOCHS):
        alone.set_epoch(epoch)
        parts = [first[rank][epoch] for rank in range(RANKS)]
        assert not set(parts[0]) & set(parts[1])
        assert {**parts[0], **parts[1]} == {i: digest(alone[i][0]) for i in range(COUNT)}
    assert not set(first[0][0].values()) & set(first[0][1].values())
