"""Running work over a collection: in this process, in several, or on a Ray cluster. One bad image never stops the rest."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from recolorist.collections.chunks import Work, chunks_of, do_chunk
from recolorist.collections.items import Item
from recolorist.collections.options import Where
from recolorist.collections.workers import run_in_processes

__all__ = ["interrupt_on_termination", "run", "usable_cores"]

_HERE: Final = Where()
_FEW: Final = 24  # images; starting processes takes longer than working on these
_ONE_THREAD: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(work: Work, items: Sequence[Item], where: Where = _HERE) -> Iterator[tuple[int, Any]]:
    """Work on every item.

    Args:
        work: What is done with each item.
        items: The images.
        where: Processes or cluster; results do not depend on it.

    Yields:
        The number of an item and its result or :class:`Failure`, in the order they get done.
    """
    with interrupt_on_termination():
        results = _run(work, items, where)
        yield from where.progress(results, len(items)) if where.progress else results


def _run(work: Work, items: Sequence[Item], where: Where) -> Iterator[tuple[int, Any]]:
    jobs = where.jobs or usable_cores()
    if where.engine == "ray":
        from recolorist.collections.ray import run_on_ray

        yield from run_on_ray(work, chunks_of(items, jobs), jobs, where.address)
    elif jobs == 1 or len(items) < _FEW:
        for start, chunk in chunks_of(items, 1):
            yield from enumerate(do_chunk(work, chunk), start)
    else:
        with _limit_threads():
            yield from run_in_processes(work, chunks_of(items, jobs), jobs)


def usable_cores() -> int:
    """Count the cores that this process may use.

    Returns:
        At least 1.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _limit_threads() -> Iterator[None]:
    """Limit the threads of libraries, because there is one process for each core already."""
    values = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update({name: os.environ.get(name) or "1" for name in _ONE_THREAD})
    try:
        yield
    finally:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def interrupt_on_termination() -> Iterator[None]:
    """A scheduler's SIGTERM ends a run as Ctrl-C does: cleanly, ready to be resumed."""
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
