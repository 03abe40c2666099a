"""A bar for downloads, for people who look."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from recolorist_lab.assets.download import Tick


@contextmanager
def bytes_bar() -> Iterator[Tick]:
    """Bytes, rate and time left of the file that is being downloaded; nothing where standard error is not a terminal.

    >>> with bytes_bar() as tick:
    ...     tick("a.zip", 10, 20)
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
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
