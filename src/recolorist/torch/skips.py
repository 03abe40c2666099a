"""Samples that cannot be read: other samples take their places, and they are logged and counted."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import torch

from recolorist.augment import streams
from recolorist.errors import ImageError, OptionError, RecoloristError

__all__ = ["TRIES", "OnError", "Skips", "read_errors"]

OnError = Literal["raise", "skip"]
#: Draws of another sample before the dataset is given up.
TRIES: Final = 100


def read_errors() -> tuple[type[Exception], ...]:
    """What a missing or damaged file raises; Pillow reports some broken PNG files as a SyntaxError.

    Pillow's own error can only come where Pillow is loaded; this module does not load it.
    """
    pillow = sys.modules.get("PIL.Image")
    return (OSError, EOFError, SyntaxError, RecoloristError, *((pillow.DecompressionBombError,) if pillow else ()))


_PURPOSE: Final = 8  # a stream of its own, so that skipping changes the colours of no other sample
_REPLACED, _LOGGED = 0, 1  # rows of the shared memory
_log = logging.getLogger("recolorist.torch")


class Skips:
    """Find a sample for the place of one that cannot be read, as a function of (seed, epoch, number of the sample).

    Args:
        count: Number of samples of the dataset.
        seed: The seed of the run.

    Example:
        >>> skips = Skips(1000, seed=1)
        >>> skips.find_readable(7, 0, lambda number: f"sample {number}"), skips.count
        ('sample 7', 0)
    """

    def __init__(self, count: int, seed: int) -> None:
        """Reserve memory that loader workers share; by sample, so that two workers do not write to one place."""
        self.seed = seed
        self._cells = torch.zeros((2, count), dtype=torch.int64).share_memory_()

    @property
    def count(self) -> int:
        """How many samples were replaced by others, in all processes."""
        return int(self._cells[_REPLACED].sum())

    def find_readable(self, number: int, epoch: int, read: Callable[[int], Any]) -> Any:
        """Return what ``read`` makes of the sample, or of the first one drawn in its place that can be read.

        Raises:
            ImageError: No sample that was tried can be read.
            OptionError: As raised by ``read``: a wrong option is no fault of a file.
        """
        last: BaseException | None = None
        failed: set[int] = set()
        for candidate in self._candidates(number, epoch):
            if candidate in failed:
                continue
            try:
                result = read(candidate)
            except OptionError:
                raise
            except read_errors() as error:
                last = error
                failed.add(candidate)
                self._log_once(candidate, error)
                continue
            self._cells[_REPLACED, number] += candidate != number
            return result
        raise ImageError(
            f"sample {number} cannot be read, nor can any other that was drawn in its place ({len(failed)} of "
            f"{self._cells.shape[1]} samples were tried); check the paths and files of the dataset. The last error was "
            f"{type(last).__name__}: {last}"
        ) from last

    def _candidates(self, number: int, epoch: int) -> Iterator[int]:
        yield number
        draws = streams.stream(self.seed, epoch, number, _PURPOSE).random(TRIES)
        yield from (draws * self._cells.shape[1]).astype(int).tolist()

    def _log_once(self, number: int, error: BaseException) -> None:
        if not self._cells[_LOGGED, number]:
            self._cells[_LOGGED, number] = 1
            _log.warning("sample %d cannot be read and is replaced by others: %s: %s", number, type(error).__name__, error)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Share the memory of a copy by value with the workers of the copy."""
        self.__dict__.update(state)
        self._cells.share_memory_()
