"""Choose the images of each minibatch from seed and epoch only, so that a resumed run draws the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.streams import stream
from recolorist.errors import OptionError
from recolorist_lab.training.settings import Settings

__all__ = ["Order", "draw_by_domain", "parts_of", "shuffle_all"]

_ORDER: Final = 401  # purpose of the random streams

Places = NDArray[np.int64]


def shuffle_all(count: int, size: int, least: int, *, seed: int, epoch: int) -> list[Places]:
    """Put all images in a new order. A last batch that is too small for batch norm joins the one before it.

    Args:
        count: Images.
        size: Of a batch.
        least: The smallest batch.
        seed: Of the run.
        epoch: Counted from 0.

    Returns:
        The places of each batch.

    Example:
        >>> [len(batch) for batch in shuffle_all(9, 4, 2, seed=0, epoch=0)]
        [4, 5]
    """
    order = stream(seed, epoch, purpose=_ORDER).permutation(count)
    batches = [order[start : start + size] for start in range(0, count, size)]
    if len(batches) > 1 and len(batches[-1]) < least:
        batches[-2:] = [np.concatenate(batches[-2:])]
    return batches


def draw_by_domain(domains: NDArray[np.int64], size: int, *, seed: int, epoch: int) -> list[Places]:
    """Draw as many batches as an epoch has, each with equally many images of every domain, with replacement as upstream.

    Where there are more domains than a batch has images, each batch has one image of as many domains, drawn anew for each.

    Args:
        domains: The domain of each image.
        size: Of a batch.
        seed: Of the run.
        epoch: Counted from 0.

    Returns:
        The places of each batch.

    Example:
        >>> batch = draw_by_domain(np.array([0, 0, 0, 0, 0, 1]), 4, seed=0, epoch=0)[0]
        >>> sorted(np.array([0, 0, 0, 0, 0, 1])[batch].tolist())
        [0, 0, 1, 1]
    """
    names = np.unique(domains)
    per_domain = max(1, size // len(names))
    count = -(-len(domains) // size)
    rng = stream(seed, epoch, purpose=_ORDER)
    draws = [rng.choice(np.flatnonzero(domains == name), (count, per_domain)) for name in names]
    mixed: NDArray[np.int64] = np.concatenate(draws, axis=1)
    return [rng.permutation(row)[:size] for row in mixed]  # mixed, so that every device and every part sees every domain


def parts_of(batch: Places, devices: int, accumulate: int, rank: int) -> list[Places]:
    """Return the images that one device processes in one update.

    Args:
        batch: The places of the batch.
        devices: How many devices share it.
        accumulate: How many parts each device takes it in.
        rank: The number of this device.

    Returns:
        The places of each part.

    Example:
        >>> [part.tolist() for part in parts_of(np.arange(8), 2, 2, rank=1)]
        [[4, 5], [6, 7]]
    """
    return np.array_split(np.array_split(batch, devices)[rank], accumulate)


class Order:
    """The order of images of one run; as a batch sampler of torch it yields what is left of an epoch, part by part."""

    def __init__(self, settings: Settings, domains: Sequence[str], rank: int = 0) -> None:
        self._settings, self._rank = settings, rank
        self.names = sorted(set(domains))
        self.domains: NDArray[np.int64] = np.searchsorted(self.names, list(domains)).astype(np.int64)
        self.split_by_domain = settings.minibatches == "by_domain" and len(self.names) > 1
        least = 2 * settings.devices * settings.accumulate
        if len(self.domains) < least:
            raise OptionError(
                f"there are {len(self.domains)} images to train on; with these devices and parts {least} are needed"
            )
        self._least = least
        self._queue: list[list[tuple[int, int]]] = []

    def batches(self, epoch: int) -> list[Places]:
        """Draw the minibatches of an epoch, over all devices.

        Args:
            epoch: Number of the epoch.

        Returns:
            Places of the images of each.
        """
        size, seed = self._settings.batch, self._settings.seed
        if self.split_by_domain:
            return draw_by_domain(self.domains, size, seed=seed, epoch=epoch)
        return shuffle_all(len(self.domains), size, self._least, seed=seed, epoch=epoch)

    def go_to(self, epoch: int, done: int) -> list[Places]:
        """Set the next epoch, and how many of its minibatches are done.

        Args:
            epoch: Number of the epoch.
            done: How many are done.

        Returns:
            The minibatches that remain.
        """
        remaining = self.batches(epoch)[done:]
        shares = (parts_of(batch, self._settings.devices, self._settings.accumulate, self._rank) for batch in remaining)
        self._queue = [[(epoch, int(place)) for place in part] for parts in shares for part in parts]
        return remaining

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        return iter(self._queue)

    def __len__(self) -> int:
        return len(self._queue)
