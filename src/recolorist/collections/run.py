"""Running work over a collection: in this process, in several, or on a Ray cluster. One bad image never stops the rest."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for
from typing import Any, Final, NoReturn

from recolorist.collections.chunks import Chunk, Work, chunks_of, do_chunk, process_failure
from recolorist.collections.items import Item
from recolorist.collections.options import Where
from recolorist.errors import RecoloristError
from recolorist.io.files import remove_parts

__all__ = ["interrupt_on_termination", "run", "usable_cores"]

_HERE: Final = Where()
_MOST_DEATHS: Final = 8  # in a row
_FEW: Final = 24  # images; starting processes takes longer than working on these
_PRELOADED: Final = ("collections.run", "collections.work", "collections.auditing", "io.jpeg", "io.png")  # used by every worker
_NO_START: Final = (
    "no worker process could start. Each imports the program that calls: put the call below `if __name__ == '__main__':`, "
    "or use one process (jobs=1, --jobs 1)"
)
_ONE_THREAD: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(work: Work, items: Sequence[Item], where: Where = _HERE) -> Iterator[tuple[int, Any]]:
    """Yield (number of the item, result or :class:`Failure`), in the order things get done.

    Args:
        work: What is done with each item.
        items: The images.
        where: Processes or cluster; results do not depend on it.
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
            yield from _run_in_processes(work, chunks_of(items, jobs), jobs)


def usable_cores() -> int:
    """Cores this process may use.

    Returns:
        At least 1.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# ---- processes ------------------------------------------------------------------------------------------------------------

_work: Work | None = None  # of this worker process


def _run_in_processes(work: Work, chunks: list[Chunk], jobs: int) -> Iterator[tuple[int, Any]]:
    """A pool; if one of its processes dies the pool is lost, and what it was doing is repeated image by image."""
    waiting, deaths = deque(chunks), 0
    while waiting:
        lost: list[Chunk] = []
        yield from _run_in_pool(work, waiting, jobs, lost)
        for i, item in ((i, item) for start, items in lost for i, item in enumerate(items, start)):
            alone: list[Chunk] = []
            yield from _run_in_pool(work, deque([(i, [item])]), 1, alone)
            deaths = deaths + 1 if alone else 0
            if deaths > _MOST_DEATHS:
                raise RecoloristError("worker processes die whatever they work on; is there memory left? Try --jobs 1")
            yield from ((i, process_failure(item)) for _ in alone)


def _run_in_pool(work: Work, waiting: deque[Chunk], jobs: int, lost: list[Chunk]) -> Iterator[tuple[int, Any]]:
    context = _context()
    started = context.Event()
    pool = ProcessPoolExecutor(min(jobs, len(waiting)), context, _start, (work, started))
    running: dict[Future[list[Any]], Chunk] = {}
    try:
        while waiting or running:
            while waiting and len(running) < 3 * jobs and not lost:
                running[pool.submit(_work_in_process, waiting[0][1])] = waiting[0]
                waiting.popleft()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                start, items = running.pop(future)
                try:
                    yield from enumerate(future.result(), start)
                except BrokenProcessPool:
                    lost.append((start, items))
            if lost and not running:
                return
    except BrokenProcessPool:  # broken between two chunks
        lost.extend(running.values())
    except BaseException:
        _stop(pool)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        if lost and not started.is_set():
            raise RecoloristError(_NO_START)


def _context() -> Any:
    """Workers are forked from a clean server process that has imported what they need, where the system can do that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"recolorist.{name}" for name in _PRELOADED])
    return context


def _start(work: Work, started: Any) -> None:
    """Begin a worker: the main process alone answers Ctrl-C, and a worker does not outlive it."""
    global _work  # noqa: PLW0603 - one per process is the point
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _end_process())
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with_parent, args=(parent.sentinel,), daemon=True).start()
    started.set()


def _work_in_process(items: Sequence[Item]) -> list[Any]:
    assert _work is not None  # noqa: S101 - set when the worker started
    return do_chunk(_work, items)


def _end_with_parent(sentinel: Any) -> None:
    wait_for([sentinel])
    _end_process()


def _end_process() -> NoReturn:
    remove_parts()
    os._exit(143)


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers of an interrupted run; what they were writing is taken away."""
    for process in list((pool._processes or {}).values()):  # noqa: SLF001 - `terminate_workers` came with Python 3.14
        process.terminate()


@contextmanager
def _limit_threads() -> Iterator[None]:
    """Processes are the parallelism; libraries in them should not start threads for every core as well."""
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
