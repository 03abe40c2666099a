"""End a run that hangs, so that its claim expires and its GPU is free.

A thread keeps a claim alive whatever the training does. Where a loader, a driver or another device never answers, the process
would hold its cell without end. Every minibatch that is read is a sign of life; without one for too long the process ends itself.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["HUNG", "sign_of_life", "watched"]

HUNG: Final = 71  #: exit code of a process that ended itself
_last = time.monotonic()


def sign_of_life() -> None:
    """Note that the run goes on."""
    global _last  # noqa: PLW0603 - a process trains one network at a time
    _last = time.monotonic()


@contextmanager
def watched(seconds: float, end: Callable[[str], None] | None = None) -> Iterator[None]:
    """Watch the run in this block.

    Args:
        seconds: How long it may go without a sign of life; 0 means no limit.
        end: Called with a sentence when it hangs; by default it prints it and ends the process.

    Yields:
        Nothing.
    """
    sign_of_life()
    is_over = threading.Event()
    if seconds:
        threading.Thread(target=_watch, args=(seconds, is_over, end or _end), daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def _watch(seconds: float, is_over: threading.Event, end: Callable[[str], None]) -> None:
    while not is_over.wait(max(0.0, _last + seconds - time.monotonic())):
        if time.monotonic() - _last >= seconds:
            end(
                f"the run made no progress for {seconds:g} s and is ended; start it again to continue from its last checkpoint. "
                "Set hang_seconds higher if a minibatch can take that long"
            )
            return


def _end(sentence: str) -> None:
    """End the process at once; nothing else works while its main thread waits inside a library."""
    sys.stderr.write(f"recolorist-lab: {sentence}\n")
    sys.stderr.flush()
    os._exit(HUNG)
