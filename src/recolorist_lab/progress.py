"""How far downloads have come: a bar on a terminal, and elsewhere a line a minute, so that logs of clusters are not empty."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from recolorist_lab.assets.download import Tick

__all__ = ["Lines", "bytes_bar"]

_SECONDS: Final = 60.0  # between two lines
_UNIT: Final = 1e6


class Lines:
    """Progress as lines of text: at most one a minute for each file, and one when it is complete.

    Args:
        stream: Where the lines go.
        clock: Returns the time in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._written: dict[str, float] = {}

    def tick(self, name: str, done: int, total: int | None) -> None:
        """Take note of how many bytes of a file are here, and write a line if it is time."""
        now = self._clock()
        last = self._written.setdefault(name, now)
        if done == total or now - last >= _SECONDS:
            self._written[name] = now
            of = "" if total is None else f" of {total / _UNIT:,.1f}"
            self._stream.write(f"{name}: {done / _UNIT:,.1f}{of} MB\n")
            self._stream.flush()


@contextmanager
def bytes_bar() -> Iterator[Tick]:
    """Show bytes, rate and time left of the file that is being downloaded, on standard error.

    Yields:
        A function that is told the name of a file, the bytes that are here, and the bytes there will be.

    Example:
        >>> with bytes_bar() as tick:
        ...     tick("a.zip", 10, 20)
    """
    if not sys.stderr.isatty():
        yield Lines(sys.stderr).tick
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:

        def tick(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done, total=total)

        yield tick
