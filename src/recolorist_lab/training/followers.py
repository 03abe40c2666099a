"""Train on several devices: this process uses the first device and starts one process for each other."""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any, Final

from recolorist_lab.training.settings import Settings

__all__ = ["following"]

_HOST: Final = "127.0.0.1"
_ENDED: Final = 70  # exit code when a follower died: nobody can go on without it
_NAMES: Final = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "NODE_RANK", "LOCAL_RANK")


@contextmanager
def following(settings: Settings, work: Callable[[Settings, None], object]) -> Iterator[None]:
    """Run the other devices' part of a training during the block, in processes started as torch's launchers do.

    Args:
        settings: Of the run; with one device nothing is started.
        work: What every other process does.

    Yields:
        When the processes have been started. They are ended with the block.
    """
    if settings.devices == 1:
        yield
        return
    before = {name: os.environ.get(name) for name in _NAMES}
    common = {"MASTER_ADDR": _HOST, "MASTER_PORT": str(_free_port()), "WORLD_SIZE": str(settings.devices), "NODE_RANK": "0"}
    context = multiprocessing.get_context("spawn")  # CUDA cannot be used in a copy of a process
    processes = [
        context.Process(target=_follow, args=(settings, work, {**common, "LOCAL_RANK": str(rank)}))
        for rank in range(1, settings.devices)
    ]
    over = threading.Event()
    for process in processes:
        process.start()
    threading.Thread(target=_guard, args=(processes, over), daemon=True).start()
    os.environ.update({**common, "LOCAL_RANK": "0"})
    try:
        yield
    finally:
        over.set()
        _leave()
        _end(processes)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def _follow(settings: Settings, work: Callable[[Settings, None], object], place: dict[str, str]) -> None:
    os.environ.update(place)
    work(settings, None)
    _leave()


def _leave() -> None:
    """Leave the process group that Fabric joined."""
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _guard(processes: list[Any], over: threading.Event) -> None:
    """End the run if a follower dies, since it would otherwise wait without end; it is then tried again from its checkpoint."""
    while not over.is_set():
        for process in processes:
            wait([process.sentinel], timeout=1.0)
            if process.exitcode and not over.is_set():
                sys.stderr.write(f"recolorist-lab: the process of another device ended with exit code {process.exitcode}\n")
                sys.stderr.flush()
                os._exit(_ENDED)


def _end(processes: list[Any]) -> None:
    for process in processes:
        process.join(30.0)
        if process.exitcode is None:
            process.terminate()
            process.join()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
