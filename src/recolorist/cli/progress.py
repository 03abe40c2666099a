"""Progress of long work on standard error: a bar on a terminal, and elsewhere a line a minute, for logs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TextIO, TypeVar

__all__ = ["Lines", "describe_progress", "show_progress"]

T = TypeVar("T")

_PATIENCE: Final = 2.0  # seconds before a bar is shown
_REFRESH: Final = 0.1  # seconds between two states of a bar
_MINUTE: Final = 60.0  # seconds between two lines


class Lines:
    """Progress as lines of text: at most one a minute for each key.

    Args:
        stream: Where the lines go.
        clock: Returns the time in seconds.

    Example:
        >>> times = iter([0.0, 30.0, 61.0])
        >>> lines = Lines(sys.stdout, clock=lambda: next(times))
        >>> for done in range(3):
        ...     lines.add("", f"measured: {done}")
        measured: 2
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._times: dict[str, float] = {}
        self._waiting = ""  # the newest line, until it is written
        self.is_used = False  # whether a line was written

    def add(self, key: str, line: str, *, is_last: bool = False) -> None:
        """Take note of a line; write it if it is the last one, or the one before is a minute old."""
        now = self._clock()
        last = self._times.setdefault(key, now)
        self._waiting = line
        if is_last or now - last >= _MINUTE:
            self._times[key] = now
            self._write()

    def finish(self) -> None:
        """Write the newest line, unless it is written."""
        if self._waiting:
            self._write()

    def _write(self) -> None:
        self._stream.write(f"{self._waiting}\n")
        self._stream.flush()
        self._waiting, self.is_used = "", True


def show_progress(results: Iterable[T], count: int, name: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[T]:
    """Pass results on and show how many have come.

    On a terminal this is a bar, after two seconds. Elsewhere it is a line a minute, and a last one if there was any.

    Args:
        results: The results as they come.
        count: How many there will be.
        name: What is done, as a participle.
        clock: Returns the time in seconds.

    Yields:
        The results.

    Example:
        >>> list(show_progress([1, 2], 2, "measured"))
        [1, 2]
    """
    if sys.stderr.isatty():
        yield from _show_bar(results, count, name, clock)
        return
    lines = Lines(sys.stderr, clock)
    lines.add("", describe_progress(name, 0, count))
    for number, result in enumerate(results, 1):
        yield result
        lines.add("", describe_progress(name, number, count))
    if lines.is_used:
        lines.finish()


def describe_progress(name: str, count: int, total: int | None, text: str = "") -> str:
    """Return a line of a log.

    Args:
        name: What is done, as a participle.
        count: How many are done.
        total: How many there are; None if that is not known.
        text: What else is printed.

    Returns:
        The line.

    Example:
        >>> describe_progress("training", 1200, 3000, "loss 0.5")
        'training: 1,200 of 3,000, loss 0.5'
    """
    of = "" if total is None else f" of {total:,}"
    return f"{name}: {count:,}{of}{text and f', {text}'}"


def _show_bar(results: Iterable[T], count: int, name: str, clock: Callable[[], float]) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: tuple[Any, ...] = (
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=False, auto_refresh=False) as bar:
        task = bar.add_task(name, total=count, rate="", visible=False)
        start = shown = clock()
        for number, result in enumerate(results, 1):
            yield result
            now = clock()
            if now - start > _PATIENCE and now - shown > _REFRESH:
                shown = now
                bar.update(task, completed=number, rate=f"{number / (now - start):.1f}/s", visible=True)
                bar.refresh()
