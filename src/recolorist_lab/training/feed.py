"""A torch dataset, its collation, and loaders whose workers change only the time."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, get_worker_info

from recolorist.errors import RecoloristError
from recolorist.io.reading import describe_error
from recolorist_lab.augmentations import Augmentation
from recolorist_lab.data.loader import Sample, Samples
from recolorist_lab.data.pixels import Bytes
from recolorist_lab.training.harmony import Harmony
from recolorist_lab.training.watchdog import sign_of_life

__all__ = ["Feed", "FeedError", "InOrder", "Minibatch", "bytes_on_their_way", "loader", "read", "refuse_small_shared_memory"]

_PRELOAD: Final = "recolorist_lab.training.feed"
_LOST: Final = (ConnectionError, EOFError, FileNotFoundError)  # of fetching a minibatch from a worker that is gone
_SHARED: Final = Path("/dev/shm")  # noqa: S108 - not ours: where Linux keeps shared memory
_PREFETCHED: Final = 2  # minibatches of each worker, torch's default
_REMEDY: Final = "give a container more with `docker run --shm-size=2g`, or read in the training process with workers=0"

_IDLE: Final = -1

Item: TypeAlias = tuple[Bytes, Any, int]  # image (3, H, W), target, number of the domain


class Minibatch(NamedTuple):
    """Images as bytes (B, 3, H, W), targets, and the number of each image's domain."""

    images: Tensor
    targets: Tensor
    domains: Tensor


class FeedError(RecoloristError):
    """Images that were not delivered."""


class Feed(Dataset[Any]):
    """Samples as a torch dataset; items are requested by epoch and place, which augmentations need."""

    def __init__(
        self,
        samples: Samples,
        domains: Sequence[str] = (),
        *,
        augmentation: Augmentation | None = None,
        harmony: Harmony | None = None,
    ) -> None:
        """``domains`` numbers the domains; one that is not among them, as in tests, counts as the first."""
        self.samples, self.augmentation, self.harmony = samples, augmentation, harmony
        self._numbers = {name: number for number, name in enumerate(domains)}
        self._in_work: Tensor | None = None  # the place that each worker reads, in memory that it shares with us

    def __getitem__(self, where: tuple[int, int]) -> Item:
        return self._item(where, self._sample(where[1]))

    def __getitems__(self, where: Sequence[tuple[int, int]]) -> list[Item]:
        """Return a whole batch, which torch asks for if it can.

        All images are decoded first and then augmented. Right after a decoder an augmentation takes several times as long,
        because its code and tables are no longer in the cache.
        """
        samples = [self._sample(place) for _, place in where]
        return [self._item(request, sample) for request, sample in zip(where, samples, strict=True)]

    def watch(self, workers: int) -> None:
        """Have workers note which image they read, so that it can be named if one of them dies or hangs.

        Args:
            workers: How many there are.
        """
        self._in_work = torch.full((workers,), _IDLE).share_memory_()

    def in_work(self) -> list[str]:
        """Return the files that workers began to read and have not finished.

        Returns:
            Their paths.
        """
        places = [] if self._in_work is None else [int(place) for place in self._in_work if place != _IDLE]
        return [self.samples.manifest[int(self.samples.rows[place])].path for place in places]

    def _sample(self, place: int) -> Sample:
        worker = get_worker_info()
        if worker is None or self._in_work is None:
            return self.samples[place]
        self._in_work[worker.id] = place
        sample = self.samples[place]
        self._in_work[worker.id] = _IDLE
        return sample

    def _item(self, where: tuple[int, int], sample: Sample) -> Item:
        epoch, place = where
        image = sample.image if self.harmony is None else self.harmony(sample)
        if self.augmentation is not None:
            image = self.augmentation(
                sample.image, index=place, epoch=epoch, label=sample.label, domain=sample.domain, box=sample.box
            )
        return np.ascontiguousarray(image.transpose(2, 0, 1)), sample.label, self._numbers.get(sample.domain, 0)

    def __len__(self) -> int:
        return len(self.samples)


def collate(items: Sequence[Item]) -> Minibatch:
    """Stack items into a minibatch.

    Args:
        items: Images, labels and domains.

    Returns:
        The minibatch as tensors.
    """
    images, labels, domains = zip(*items, strict=True)
    return Minibatch(
        torch.from_numpy(np.stack(images)), torch.from_numpy(np.asarray(labels)), torch.tensor(domains, dtype=torch.int64)
    )


def loader(
    feed: Feed, order: Iterable[list[tuple[int, int]]], workers: int, *, pin: bool = False, seconds: float = 0.0
) -> DataLoader[Any]:
    """Make a loader over an order. Workers stay alive between epochs, and come from a clean server rather than from a copy of us.

    Args:
        feed: The images.
        order: The places of each minibatch.
        workers: Processes that read; 0 reads in this one.
        pin: Put minibatches into memory that a GPU can copy from while it computes.
        seconds: How long a minibatch may take before :func:`read` gives up; 0 means no limit.

    Returns:
        The loader.
    """
    options: dict[str, Any] = {}
    if workers:
        feed.watch(workers)
        options = {"persistent_workers": True, "multiprocessing_context": _context(), "timeout": seconds}
    return DataLoader(
        feed,
        batch_sampler=order,
        num_workers=workers,
        collate_fn=collate,
        pin_memory=pin,
        generator=torch.Generator(),  # its own, so that making an iterator draws nothing from the run's
        **options,
    )


def read(batches: Iterable[Minibatch]) -> Iterator[Minibatch]:
    """Yield the minibatches of a loader, and report each to the watchdog.

    Args:
        batches: The loader.

    Yields:
        Minibatches.

    Raises:
        FeedError: None came in time, or a worker died.
    """
    try:
        for batch in batches:
            sign_of_life()
            yield batch
    except (RuntimeError, *_LOST) as error:
        if not _is_lost_worker(error, batches):
            raise
        feed = getattr(batches, "dataset", None)
        files = feed.in_work() if isinstance(feed, Feed) else []
        _kill_workers(batches)
        reading = f" while reading {', '.join(files)}" if files else ""
        reason = " ".join(describe_error(error).split())
        raise FeedError(
            f"the workers that read images did not deliver{reading} ({reason}). They may be out of memory, "
            f"or of shared memory ({_SHARED}): {_REMEDY}"
        ) from error


def _is_lost_worker(error: Exception, batches: Iterable[Minibatch]) -> bool:
    """Return whether an error of a loader says that a worker is late or dead; torch has no type of its own for these."""
    if isinstance(error, _LOST):  # a minibatch was announced, and its worker was gone before it was fetched
        return bool(getattr(batches, "num_workers", 0)) and not str(error).startswith("Caught ")
    return "DataLoader" in str(error)


def _kill_workers(batches: Iterable[Minibatch]) -> None:
    """Kill the workers of a failed loader; Python would otherwise wait for them at its end, perhaps for ever."""
    for worker in getattr(getattr(batches, "_iterator", None), "_workers", ()):  # torch shows them nowhere else
        with suppress(RuntimeError):  # torch reports, once, that a worker of a loader died
            worker.kill()
            worker.join()


def refuse_small_shared_memory(needed: int, folder: Path = _SHARED) -> None:
    """Refuse to start workers whose minibatches do not fit into shared memory: they would be lost without an error.

    Args:
        needed: Bytes of all minibatches that may be on their way at once.
        folder: Where the system keeps shared memory; where there is no such folder, nothing is known and nothing refused.

    Raises:
        FeedError: There is too little.
    """
    if not needed or not folder.is_dir():
        return
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FeedError(
            f"{folder} has {free / 2**20:,.0f} MiB free and the workers that read images need up to {needed / 2**20:,.0f} MiB: "
            f"{_REMEDY}"
        )


def bytes_on_their_way(images: int, size: int, workers: int) -> int:
    """Return how many bytes of minibatches the workers of a loader hold ready at most.

    Args:
        images: Of a minibatch.
        size: Side of an image.
        workers: Processes that read.

    Returns:
        Bytes.

    Example:
        >>> bytes_on_their_way(256, 224, 4) // 2**20
        330
    """
    return (_PREFETCHED * workers + 1) * images * 3 * size**2 if workers else 0


class InOrder:
    """Yield every image once, in order, in batches; of several devices, each its share of the batches."""

    def __init__(self, count: int, size: int, rank: int = 0, devices: int = 1) -> None:
        self._starts = range(rank * size, count, devices * size)
        self._count, self._size = count, size

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for start in self._starts:
            yield [(0, place) for place in range(start, min(start + self._size, self._count))]

    def __len__(self) -> int:
        return len(self._starts)


def _context() -> Any:
    """Return a clean start method for workers: a fork of a process with threads may hang."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", _PRELOAD])
    return context
