"""The same work on a Ray cluster.

A task whose worker dies is run again. Outputs are written whole and are the same each time. So what the dead worker had written
is found and kept, and nothing is lost or done twice.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any, Final

from recolorist import optional
from recolorist.collections.chunks import Chunk, Work, do_chunk, process_failure
from recolorist.collections.target import OutputError
from recolorist.errors import RecoloristError

__all__ = ["run_on_ray"]

_RETRIES: Final = 4  # of a task whose worker died, before its images are tried one by one
_AHEAD: Final = 3  # chunks submitted per process


def run_on_ray(work: Work, chunks: list[Chunk], jobs: int, address: str | None) -> Iterator[tuple[int, Any]]:
    """Yield what :func:`recolorist.collections.run.run` does.

    Args:
        work: What is done with each item.
        chunks: The items.
        jobs: Processes to start, where there is no address.
        address: The address of the cluster; without it Ray is started here.

    Yields:
        The number of each item, and its result.
    """
    with redirect_stdout(sys.stderr):  # Ray prints messages; standard output is the caller's
        yield from _run(work, chunks, jobs, address)


def _run(work: Work, chunks: list[Chunk], jobs: int, address: str | None) -> Iterator[tuple[int, Any]]:
    ray = _start_ray(jobs, address)
    owner = address is None
    try:
        ahead = _AHEAD * (jobs if owner else max(1, int(ray.cluster_resources().get("CPU", 1))))
        remote = ray.remote(do_chunk).options(max_retries=_RETRIES, num_cpus=1)
        yield from _gather(ray, remote, ray.put(work), deque(chunks), ahead)
    finally:
        ray.shutdown()


def _start_ray(jobs: int, address: str | None) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray = optional.load("ray", "run with engine='ray'")
    quiet = {"logging_level": "ERROR", "log_to_driver": False, "ignore_reinit_error": True}
    try:
        if address is None:
            ray.init(address="local", num_cpus=jobs, include_dashboard=False, **quiet)  # and not one that happens to run here
        else:
            ray.init(address=address, **quiet)
    except Exception as error:  # Ray's own errors: no cluster there, wrong version, no space
        raise RecoloristError(f"Ray could not be started or reached: {error}") from error
    return ray


def _gather(ray: Any, remote: Any, work: Any, waiting: deque[Chunk], ahead: int) -> Iterator[tuple[int, Any]]:
    running: dict[Any, Chunk] = {}
    while waiting or running:
        while waiting and len(running) < ahead:
            start, items = waiting.popleft()
            running[remote.remote(work, items)] = (start, items)
        (ready,), _ = ray.wait(list(running), num_returns=1)
        start, items = running.pop(ready)
        try:
            yield from enumerate(ray.get(ready), start)
        except ray.exceptions.RayTaskError as error:
            raise _cause(error) from error
        except ray.exceptions.RayError:  # the worker died every time
            if len(items) == 1:
                yield start, process_failure(items[0])
            waiting.extend((start + i, [item]) for i, item in enumerate(items) if len(items) > 1)


def _cause(error: Any) -> Exception:
    """What went wrong in the task itself: an unwritable target ends the run as it does locally."""
    cause = getattr(error, "cause", None)
    return OutputError(str(cause)) if isinstance(cause, OutputError) else RecoloristError(f"a task failed on Ray: {error}")
