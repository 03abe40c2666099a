"""Progress of downloads, training and sweeps: a bar on a terminal, otherwise one line a minute for logs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

from recolorist.cli.progress import Lines, describe_progress

__all__ = ["Tick", "Update", "bytes_bar", "report_step", "shown_steps", "steps_bar"]

Tick = Callable[[str, int, int | None], None]  #: takes the name of a file, its bytes that are here, and the bytes there will be

_UNIT: Final = 1e6


class Update(Protocol):
    """Receives the number of finished steps, their total, and a text."""

    def __call__(self, done: int, total: int | None, text: str = "", *, name: str = "") -> None:
        """Show the progress; a name replaces the title of the bar."""


@contextmanager
def bytes_bar() -> Iterator[Tick]:
    """Show bytes, rate and time left of the file that is being downloaded, on standard error.

    Yields:
        A function that takes the name of a file, the bytes that are here, and the bytes there will be.

    Example:
        >>> with bytes_bar() as tick:
        ...     tick("a.zip", 10, 20)
    """
    if not sys.stderr.isatty():
        lines = Lines(sys.stderr)

        def write(name: str, done: int, total: int | None) -> None:
            of = "" if total is None else f" of {total / _UNIT:,.1f}"
            lines.add(name, f"{name}: {done / _UNIT:,.1f}{of} MB", is_last=done == total)

        yield write
        return
    tasks: dict[str, Any] = {}
    with _bar("name", "bar", "bytes", "rate", "left") as bar:

        def tick(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done, total=total)

        yield tick


@contextmanager
def steps_bar(
    name: str,
    *columns: str,
    is_kept: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Update]:
    """Show how many steps are done, on standard error.

    Without a terminal this writes a line a minute, and a last one when it ends.

    Args:
        name: What is under way.
        columns: Parts of the bar in order: "name", "bar", "count", "text", "elapsed", "left".
        is_kept: Whether the bar stays on the screen at its end.
        clock: Returns the time in seconds.

    Yields:
        A function that takes the steps done, the steps there will be, and a text to show beside them.

    Example:
        >>> with steps_bar("training", "name", "bar", "count", "text") as update:
        ...     update(1, 2, "loss 0.5")
    """
    if not sys.stderr.isatty():
        lines = Lines(sys.stderr, clock)

        def write(done: int, total: int | None, text: str = "", *, name: str = name) -> None:
            lines.add("", describe_progress(name, done, total, text))

        try:
            yield write
        finally:
            lines.finish()
        return
    with _bar(*columns, is_kept=is_kept) as bar:
        task = bar.add_task(name, total=None, text="")

        def draw(done: int, total: int | None, text: str = "", *, name: str = name) -> None:
            bar.update(task, description=name, completed=done, total=total, text=text)

        yield draw


_REPORTED: Final[ContextVar[Update | None]] = ContextVar("_REPORTED", default=None)


@contextmanager
def shown_steps(name: str) -> Iterator[None]:
    """Show the steps that are reported in this context by :func:`report_step`.

    Args:
        name: What to call the work.

    Yields:
        Nothing.

    Example:
        >>> with shown_steps("training"):
        ...     report_step(1, 2, "loss 0.5")
    """
    with steps_bar(name, "name", "bar", "count", "left", "text") as update:
        token = _REPORTED.set(update)
        try:
            yield
        finally:
            _REPORTED.reset(token)


def report_step(done: int, total: int, text: str = "") -> None:
    """Report a step to the display of this context, if there is one.

    Args:
        done: How many steps are done.
        total: How many there are.
        text: What to show beside them.

    Example:
        >>> report_step(1, 2)
    """
    update = _REPORTED.get()
    if update is not None:
        update(done, total, text)


def _bar(*columns: str, is_kept: bool = False) -> Any:
    """Make a bar of rich with these columns."""
    from rich import progress as rich
    from rich.console import Console

    factories: dict[str, Callable[[], rich.ProgressColumn]] = {
        "name": lambda: rich.TextColumn("{task.description}"),
        "bar": rich.BarColumn,
        "count": rich.MofNCompleteColumn,
        "text": lambda: rich.TextColumn("{task.fields[text]}"),
        "bytes": rich.DownloadColumn,
        "rate": rich.TransferSpeedColumn,
        "elapsed": rich.TimeElapsedColumn,
        "left": rich.TimeRemainingColumn,
    }
    return rich.Progress(*(factories[column]() for column in columns), console=Console(stderr=True), transient=not is_kept)
