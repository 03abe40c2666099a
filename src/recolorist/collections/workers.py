"""Worker processes with a pipe each: a process that is killed loses the chunk it worked on and never stops the others.

A pool of `concurrent.futures` has one pipe for the results of all processes. If one is killed while it writes, the rest of its
message never comes, and the pool waits for it without end.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, Final, NoReturn

from recolorist.collections.chunks import Chunk, Work, do_chunk, process_failure
from recolorist.errors import RecoloristError
from recolorist.io.files import remove_parts

__all__ = ["run_in_processes"]

_MOST_DEATHS: Final = 8  # in a row
_PATIENCE: Final = 30.0  # seconds for a process that was asked to end
# modules that every worker uses
_PRELOADED: Final = ("collections.workers", "collections.work", "collections.auditing", "io.jpeg", "io.png")
_NO_START: Final = (
    "no worker process could start. Each imports the program that calls: put the call below `if __name__ == '__main__':`, "
    "or use one process (jobs=1, --jobs 1)"
)
_ALL_DIE: Final = "worker processes die with every file; the machine may be out of memory. Try --jobs 1"


def run_in_processes(work: Work, chunks: list[Chunk], jobs: int) -> Iterator[tuple[int, Any]]:
    """Work on chunks in several processes; what a process that died was doing is repeated image by image, alone.

    Args:
        work: What is done with each item; sent to every process once.
        chunks: The images.
        jobs: The number of processes.

    Yields:
        The number of an item and its result, or a failure, in the order things get done.

    Raises:
        RecoloristError: No process can start, or every process dies.
    """
    lost: list[Chunk] = []
    yield from _Workers(work, chunks, jobs, lost).run()
    deaths = 0
    for number, item in ((i, item) for start, items in lost for i, item in enumerate(items, start)):
        alone: list[Chunk] = []
        yield from _Workers(work, [(number, [item])], 1, alone).run()
        deaths = deaths + 1 if alone else 0
        if deaths > _MOST_DEATHS:
            raise RecoloristError(_ALL_DIE)
        yield from ((number, process_failure(item)) for _ in alone)


class _Worker:
    """A process and this side of its pipe."""

    def __init__(self, context: Any, work: Work) -> None:
        self.connection, theirs = context.Pipe()
        self.chunk: Chunk | None = None  #: what it works on
        self.is_idle = False  #: it started, and waits for a chunk
        self.process = context.Process(target=_serve, args=(theirs, work))
        self.process.start()
        theirs.close()

    def give(self, chunk: Chunk) -> bool:
        """Send a chunk; returns whether the process could take it."""
        try:
            self.connection.send(chunk[1])
        except OSError:  # it is dead, which reading from it will tell
            return False
        self.chunk, self.is_idle = chunk, False
        return True

    def take(self) -> Any:
        """Receive an answer, after which the process waits for the next chunk."""
        answer = self.connection.recv()
        self.chunk, self.is_idle = None, True
        return answer

    def end(self) -> None:
        """End the process: an idle one by closing its pipe, another by a signal, after which it removes unfinished files."""
        self.connection.close()
        if not self.is_idle:
            self.process.terminate()
        self.process.join(_PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class _Workers:
    """Some processes, and the chunks that wait for them."""

    def __init__(self, work: Work, chunks: list[Chunk], jobs: int, lost: list[Chunk]) -> None:
        self._work, self._waiting, self._jobs, self._lost = work, deque(chunks), jobs, lost
        self._context = _context()
        self._workers: list[_Worker] = []
        self._deaths: int | None = None  # since something was done; None before a process has started

    def run(self) -> Iterator[tuple[int, Any]]:
        """Yield results until all is done; chunks whose process died are lost, and another process takes its place."""
        try:
            while self._waiting or any(worker.chunk for worker in self._workers):
                busy = sum(worker.chunk is not None for worker in self._workers)
                while len(self._workers) < min(self._jobs, busy + len(self._waiting)):
                    self._workers.append(_Worker(self._context, self._work))
                ready = wait([worker.connection for worker in self._workers])
                for worker in [each for each in self._workers if each.connection in ready]:
                    yield from self._read(worker)
        except BaseException:
            for worker in self._workers:
                worker.process.terminate()  # all of them, before one is waited for
            raise
        finally:
            for worker in self._workers:
                worker.end()

    def _read(self, worker: _Worker) -> Iterator[tuple[int, Any]]:
        chunk = worker.chunk
        try:
            answer = worker.take()
        except (EOFError, OSError):
            self._remove_dead(worker)
            return
        if self._waiting and worker.give(self._waiting[0]):  # before the results are passed on, so that it need not wait
            self._waiting.popleft()
        if isinstance(answer, Exception):
            raise answer
        if chunk is None:  # it has started
            self._deaths = self._deaths or 0
        else:
            self._deaths = 0
            yield from enumerate(answer, chunk[0])

    def _remove_dead(self, worker: _Worker) -> None:
        """Remove a process that died, and note what it was doing."""
        self._workers.remove(worker)
        if worker.chunk:
            self._lost.append(worker.chunk)
        worker.end()
        if self._deaths is None:
            raise RecoloristError(_NO_START)
        self._deaths += 1
        if self._deaths > _MOST_DEATHS:
            raise RecoloristError(_ALL_DIE)


def _context() -> Any:
    """Workers are forked from a clean server process that has imported what they need, where the system can do that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"recolorist.{name}" for name in _PRELOADED])
    return context


# ---- in the worker process ------------------------------------------------------------------------------------------------


def _serve(connection: Connection, work: Work) -> None:
    """Work on one chunk after the other until the pipe is closed. The main process alone answers Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _end_process())
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with_parent, args=(parent.sentinel,), daemon=True).start()
    answer: Any = None  # says that this process is ready
    while True:
        try:
            connection.send(answer)
            items = connection.recv()
        except (EOFError, OSError):  # nobody needs it any more
            return
        try:
            answer = do_chunk(work, items)
        except Exception as error:  # noqa: BLE001 - raised in the main process
            answer = error


def _end_with_parent(sentinel: Any) -> None:
    wait([sentinel])
    _end_process()


def _end_process() -> NoReturn:
    remove_parts()
    os._exit(143)
