"""What a network says of a set of images: in evaluation mode, in order, and on each device a share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from recolorist_lab.data.loader import Samples
from recolorist_lab.training.algorithms.base import Task
from recolorist_lab.training.feed import Feed, InOrder, loader
from recolorist_lab.training.models import Classifier
from recolorist_lab.training.normalise import Normalise
from recolorist_lab.training.scores import Predictions

__all__ = ["Reader", "domains_of", "predict"]


class Reader(NamedTuple):
    """A set of images and the loader over this device's share of it, to be read as often as wanted."""

    feed: Feed
    batches: DataLoader[Any]
    domains: list[str]

    @classmethod
    def of(cls, feed: Feed, fabric: Any, batch: int, workers: int) -> Reader:
        """A loader in the order of the samples."""
        order = InOrder(len(feed), batch, fabric.global_rank, fabric.world_size)
        enough = len(order) > 2 * workers  # else starting them takes longer than the work
        return cls(feed, loader(feed, order, workers if enough else 0), domains_of(feed.samples))


def domains_of(samples: Samples) -> list[str]:
    """The domain of every image."""
    every = samples.manifest.column("domain")
    return [every[row] for row in samples.rows]


def predict(network: Classifier, reader: Reader, normalise: Normalise, task: Task, fabric: Any) -> Predictions:
    """Predictions of all images, the same on every device."""
    network.eval()
    dtype = next(network.parameters()).dtype
    rows: list[tuple[NDArray[Any], ...]] = []
    with torch.no_grad(), fabric.autocast():
        for images, targets, _ in reader.batches:
            seen = normalise(normalise.unit(images.to(fabric.device)))
            logits = network(seen.to(dtype)).cpu().double()  # in this order: Apple's GPUs have no double precision
            rows.append((logits.numpy(), targets.numpy(), task.losses(logits, _like(targets, logits)).numpy()))
    parts = _gathered(rows, fabric)
    logits, targets, losses = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Predictions(logits, targets, losses, reader.domains)


def _like(targets: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    return targets.to(logits.dtype) if targets.is_floating_point() else targets


def _gathered(rows: list[tuple[NDArray[Any], ...]], fabric: Any) -> list[tuple[NDArray[Any], ...]]:
    """The batches of all devices, in the order of the samples: device r has every n-th from the r-th on."""
    if fabric.world_size == 1:
        return rows
    every: list[Any] = [None] * fabric.world_size
    torch.distributed.all_gather_object(every, rows)
    most = max(len(one) for one in every)
    return [one[number] for number in range(most) for one in every if number < len(one)]
