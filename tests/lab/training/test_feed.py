"""The feed: a batch asked for at once is the batch asked for one by one."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from recolorist_lab.augmentations import TrainingImages, build
from recolorist_lab.data.named import open_dataset
from recolorist_lab.training import feed as feeding
from recolorist_lab.training.feed import (
    Feed,
    FeedError,
    Minibatch,
    bytes_on_their_way,
    loader,
    read,
    refuse_small_shared_memory,
)
from recolorist_lab.training.run import run
from tests.full import IS_FULL
from tests.lab.training.contexts import Memory, small


class Troubled:
    """Samples whose second one is the end of the process that reads it; beside a killed one the third stops its process."""

    def __init__(self, samples: Any, trouble: str) -> None:
        self.samples, self.manifest, self.rows, self.trouble = samples, samples.manifest, samples.rows, trouble

    def __getitem__(self, place: int) -> Any:
        if place == 1:
            if self.trouble != "asleep":
                os.kill(os.getpid(), signal.SIGKILL if self.trouble == "killed" else signal.SIGSTOP)
            time.sleep(3600)
        if place == 2 and self.trouble == "killed":
            os.kill(os.getpid(), signal.SIGSTOP)
        return self.samples[place]


class Announced:
    """A loader that fails when it fetches its first minibatch."""

    def __init__(self, error: Exception, workers: int) -> None:
        self.error, self.num_workers = error, workers

    def __iter__(self) -> Iterator[Minibatch]:
        raise self.error
        yield


def feed(augmentation: str) -> Feed:
    samples = open_dataset("synthetic:hospitals=3,tiles=6,size=32").samples("train")
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


class TestSharedMemory:
    def test_too_little_is_refused_with_both_remedies(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=64 << 20))
        with pytest.raises(FeedError, match=r"has 64 MiB free and .* need up to 331 MiB.*--shm-size=2g.*workers=0"):
            refuse_small_shared_memory(bytes_on_their_way(256, 224, 4), tmp_path)
        refuse_small_shared_memory(bytes_on_their_way(32, 224, 4), tmp_path)
        refuse_small_shared_memory(bytes_on_their_way(256, 224, 0), tmp_path)
        refuse_small_shared_memory(bytes_on_their_way(256, 224, 4), tmp_path / "not_linux")

    def test_a_run_looks_before_it_starts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
        monkeypatch.setattr(Path, "is_dir", lambda _: True)
        with pytest.raises(FeedError, match="--shm-size"):
            run(small(workers=1), Memory())


class TestRead:
    def test_what_does_not_come_in_time_is_an_error(self) -> None:
        def late() -> Iterator[Minibatch]:
            yield Minibatch(*[torch.zeros(1)] * 3)
            raise RuntimeError("DataLoader timed out after 1 seconds")

        batches = read(late())
        next(batches)
        with pytest.raises(FeedError, match=r"did not deliver \(DataLoader timed out after 1 seconds\).*--shm-size"):
            next(batches)

    @pytest.mark.parametrize(
        "error", [ConnectionResetError(104, "Connection reset by peer"), EOFError(), FileNotFoundError(2, "")]
    )
    def test_a_worker_that_died_before_its_minibatch_was_fetched(self, error: Exception) -> None:
        """Torch fetches a minibatch from the worker that announced it; if that is gone, an error of the system is raised."""
        batches = Announced(error, workers=1)
        with pytest.raises(FeedError, match=r"did not deliver \((\[Errno|EOFError).*They may be out of memory"):
            list(read(batches))

    @pytest.mark.parametrize(
        ("error", "workers"),
        [
            (FileNotFoundError(2, "there is no a.png"), 0),
            (FileNotFoundError("Caught FileNotFoundError in DataLoader worker process 0."), 1),
        ],
    )
    def test_a_missing_file_is_not_a_dead_worker(self, error: Exception, workers: int) -> None:
        with pytest.raises(FileNotFoundError):
            list(read(Announced(error, workers)))

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there are no such signals here")
    @pytest.mark.parametrize("trouble", ["killed", "stopped", "asleep"] if IS_FULL else ["killed"])
    def test_a_worker_in_trouble_names_its_file(self, trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Promise 22: a killed, stopped or sleeping worker is an error that names the file it was reading."""
        monkeypatch.setattr(feeding, "_context", lambda: multiprocessing.get_context("fork"))  # which starts at once
        source = Feed(Troubled(feed("none").samples, trouble))  # type: ignore[arg-type]
        patience = 600.0 if trouble == "killed" else 60.0  # a worker that is alive is given up only then
        batches = read(loader(source, [[(0, 0)], [(0, 1)], [(0, 2)]], 1, seconds=patience))
        wanted = re.escape(source.samples.manifest[int(source.samples.rows[1])].path)
        with pytest.raises(FeedError, match=f"did not deliver while reading {wanted} "):
            list(batches)

    @pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="there is no such signal here")
    def test_no_worker_of_a_failed_loader_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Python waits for its processes when it ends: a script whose worker was stopped would never end."""
        monkeypatch.setattr(feeding, "_context", lambda: multiprocessing.get_context("fork"))
        others = set(multiprocessing.active_children())
        source = Feed(Troubled(feed("none").samples, "killed"))  # type: ignore[arg-type]
        try:
            with pytest.raises(FeedError):
                list(read(loader(source, [[(0, 0)], [(0, 1)], [(0, 2)]], 2, seconds=600.0)))
            assert set(multiprocessing.active_children()) == others
        finally:
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()

    def test_other_errors_pass(self) -> None:
        def wrong() -> Iterator[Minibatch]:
            raise RuntimeError("ours")
            yield

        with pytest.raises(RuntimeError, match="ours"):
            next(read(wrong()))

    def test_workers_have_a_limit(self) -> None:
        assert loader(feed("none"), [[(0, 0)]], 1, seconds=7.0).timeout == 7.0
        assert loader(feed("none"), [[(0, 0)]], 0, seconds=7.0).timeout == 0
