"""Predict a set of images in evaluation mode, in order, with a share on each device."""

from __future__ import annotations

import time
from contextlib import nullcontext, suppress
from typing import Any, Final, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from recolorist_lab.data.loader import Samples
from recolorist_lab.training.algorithms.base import Task
from recolorist_lab.training.feed import Feed, InOrder, loader, read
from recolorist_lab.training.models import Classifier
from recolorist_lab.training.normalise import Normalise
from recolorist_lab.training.scores import Predictions

__all__ = ["AT_ONCE", "Reader", "domains_of", "predict", "workers_for"]

AT_ONCE: Final = 64  #: images that are predicted together, at most
_START_SECONDS: Final = 4.0  # that workers take to start, about


class Reader(NamedTuple):
    """A set of images and the loader over this device's share of it, which can be read repeatedly."""

    feed: Feed
    batches: DataLoader[Any]
    domains: list[str]

    @classmethod
    def of(cls, feed: Feed, fabric: Any, batch: int, workers: int, *, seconds: float = 0.0) -> Reader:
        """Make a reader in the order of the samples.

        Args:
            feed: The images.
            fabric: Of this device.
            batch: Images at a time, at most; no more than 64 are, so that several workers share a small set.
            workers: Processes that read, where that is worth their start.
            seconds: How long a minibatch may take; 0 means no limit.

        Returns:
            The reader.
        """
        order = InOrder(len(feed), min(batch, AT_ONCE), fabric.global_rank, fabric.world_size)
        used = workers_for(_seconds_per_image(feed) * len(feed) / fabric.world_size, workers) if workers else 0
        pin = fabric.device.type == "cuda"
        return cls(feed, loader(feed, order, used, pin=pin, seconds=seconds), domains_of(feed.samples))


def workers_for(seconds: float, workers: int) -> int:
    """Return how many workers to use: all, or none where this process reads the images before they have started.

    Args:
        seconds: How long this process would read.
        workers: How many there may be.

    Returns:
        ``workers`` or 0.

    Example:
        >>> workers_for(0.2, 4), workers_for(93.0, 4)
        (0, 4)
    """
    return workers if seconds > _START_SECONDS else 0


def _seconds_per_image(feed: Feed) -> float:
    """Time two images and return the quicker; the first one also opens files and tables."""
    seconds = []
    for place in (0, len(feed) - 1):
        start = time.perf_counter()
        _ = feed[0, place]
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def domains_of(samples: Samples) -> list[str]:
    """Return the domain of every image.

    Args:
        samples: The images.

    Returns:
        Names, in the order of the images.
    """
    domains = samples.manifest.column("domain")
    return [domains[row] for row in samples.rows]


def predict(network: Classifier, reader: Reader, normalise: Normalise, task: Task, fabric: Any) -> Predictions:
    """Predict all images; the result is the same on every device.

    Args:
        network: The classifier; it is put into evaluation mode.
        reader: The images.
        normalise: As in training.
        task: How labels are read.
        fabric: Of this device.

    Returns:
        Targets and logits, in the order of the images.
    """
    network.eval()
    dtype = next(network.parameters()).dtype
    rows: list[tuple[NDArray[Any], ...]] = []
    with torch.no_grad(), fabric.autocast():
        for batch in read(reader.batches):
            images = normalise(normalise.unit(batch.images.to(fabric.device, non_blocking=True)))
            scored = _logits(network, images.to(dtype)).cpu().double()  # in this order: Apple's GPUs have no double precision
            rows.append((scored.numpy(), batch.targets.numpy(), task.losses(scored, _like(batch.targets, scored)).numpy()))
    parts = _gathered(rows, fabric)
    logits, targets, losses = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Predictions(logits, targets, losses, reader.domains)


def _logits(network: Classifier, images: torch.Tensor) -> torch.Tensor:
    """Run the network, in halves where the device has too little memory for all at once."""
    with suppress(torch.OutOfMemoryError) if len(images) > 1 else nullcontext():
        return cast("torch.Tensor", network(images))
    return torch.cat([_logits(network, half) for half in images.tensor_split(2)])


def _like(targets: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    return targets.to(logits.dtype) if targets.is_floating_point() else targets


def _gathered(rows: list[tuple[NDArray[Any], ...]], fabric: Any) -> list[tuple[NDArray[Any], ...]]:
    """Gather the batches of all devices in the order of the samples: device r has every n-th from the r-th."""
    if fabric.world_size == 1:
        return rows
    gathered: list[Any] = [None] * fabric.world_size
    torch.distributed.all_gather_object(gathered, rows)
    most = max(len(part) for part in gathered)
    return [part[number] for number in range(most) for part in gathered if number < len(part)]
