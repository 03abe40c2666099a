"""The epoch of keyed draws, in memory that loader workers share, and the notice that a key came again without a new epoch.

A keyed draw is a function of (seed, epoch, key), so a key that comes back in the same epoch gets the same colours. Within one
epoch that is right: a sampler with replacement brings an image several times. But code that never sets an epoch would give every
image the same colours for the whole training. Looking at an image a few times in a notebook is no training. So the warning comes
with the return number :data:`RETURNS` where no epoch was ever set or passed.

An epoch that was set once and then forgotten is noticed later: when nearly every remembered key has come :data:`PASSES` times
since it was set. A sampler with replacement leaves some keys out of a pass, so it is not taken for that.
"""

from __future__ import annotations

import math
import warnings
from multiprocessing.context import get_spawning_popen
from multiprocessing.sharedctypes import RawArray
from typing import Any, Final

from recolorist.augment import streams

__all__ = ["PASSES", "RETURNS", "SLOTS", "RepeatedEpochWarning", "SharedEpoch"]

#: Keys may come back so often, all of them together, before the warning.
RETURNS: Final = 16
#: Visits of nearly every key in one epoch before the warning that the epoch does not go on.
PASSES: Final = 4
#: Keys that are remembered, at most; they are the first that came, so every one of them is seen again in the next epoch.
SLOTS: Final = 1024

_NOW, _SETTINGS, _RETURNED, _KNOWN, _FULL, _KEYS = range(6)  # places in the shared memory
_LEAST_KEYS: Final = 16  # fewer are a look in a notebook
_MOST: Final = 0.9  # of the keys; workers that count at the same time may lose a visit


class RepeatedEpochWarning(UserWarning):
    """Keys came again without a new epoch, so that images get the colours they had before."""


class SharedEpoch:
    """The present epoch, which forked and spawned processes share, however long they have been running.

    A copy by value (:mod:`copy`, :mod:`pickle` to a file) starts at the same epoch and goes on by itself.

    Example:
        >>> epoch = SharedEpoch()
        >>> epoch.is_set, epoch.set(3), epoch.now, epoch.is_set
        (False, None, 3, True)
    """

    def __init__(self) -> None:
        """Start at epoch 0, which nobody has set."""
        self._cells = _new_cells()

    @property
    def now(self) -> int:
        """The epoch."""
        return int(self._cells[_NOW])

    @property
    def settings(self) -> int:
        """How often an epoch was set."""
        return int(self._cells[_SETTINGS])

    @property
    def is_set(self) -> bool:
        """Whether an epoch was ever set."""
        return bool(self._cells[_SETTINGS])

    def set(self, epoch: int) -> None:
        """Begin an epoch, in all processes that share it.

        Args:
            epoch: A whole number from 0 on.

        Raises:
            OptionError: It is no whole number from 0 on.
        """
        cells, number = self._cells, streams.check_word(epoch, "epoch")
        if number != cells[_NOW] or not cells[_SETTINGS]:
            cells[_RETURNED:] = [0] * (len(cells) - _RETURNED)
        cells[_NOW] = number
        cells[_SETTINGS] += 1

    def note(self, number: int, name: Any = None) -> int:
        """Return the epoch for the draw of a key; warns once if keys come back and no epoch was set, or none for long.

        Args:
            number: The number of the key.
            name: The key as the caller knows it, for the message.

        Returns:
            The epoch.
        """
        cells = self._cells
        slot, mark = _KEYS + number % SLOTS, (number + 1) % 2**64  # 0 is an empty place
        if cells[slot] == 0:
            cells[slot] = mark
            cells[slot + SLOTS] = 1
            cells[_KNOWN] += 1
        elif cells[slot] == mark:
            cells[_RETURNED] += 1
            cells[slot + SLOTS] += 1
            if not cells[_SETTINGS]:
                if cells[_RETURNED] == RETURNS:
                    _warn(number if name is None else name, "no epoch was ever set")
            elif cells[slot + SLOTS] == PASSES and self._completes_passes():
                _warn(number if name is None else name, f"the epoch has been {cells[_NOW]} for {PASSES} passes")
        return int(cells[_NOW])

    def _completes_passes(self) -> bool:
        """Count a key that came as often as in several passes; True when that is just now so of nearly all."""
        cells = self._cells
        needed = max(_LEAST_KEYS, math.ceil(_MOST * cells[_KNOWN]))
        cells[_FULL] += 1
        return bool(cells[_FULL] == needed)

    def __getstate__(self) -> dict[str, Any]:
        """Hand the memory itself to a process that is being started, and the epoch to anything else."""
        if get_spawning_popen() is not None:
            return {"cells": self._cells}
        return {"now": self.now, "settings": int(self.is_set)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take either."""
        self._cells = state["cells"] if "cells" in state else _new_cells()
        if "cells" not in state:
            self._cells[_NOW], self._cells[_SETTINGS] = state["now"], state["settings"]


def _new_cells() -> Any:
    """Return the shared memory: the counters, then a mark and a count of visits for each remembered key."""
    return RawArray("Q", _KEYS + 2 * SLOTS)


def _warn(name: Any, reason: str) -> None:
    warnings.warn(
        f"keys come back (now {name!r}) and {reason}, so each image gets the colours it had before. Call "
        "set_epoch(epoch) of the Colorist at the beginning of every epoch, or pass epoch=... with the key. Without a key and an "
        "index every call draws anew.",
        RepeatedEpochWarning,
        stacklevel=6,  # the caller of Colorist
    )
