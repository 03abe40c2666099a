"""A rehearsal: cells that sleep, checkpoint, fail or die on request, to test machines, schedulers and the ledger.

The result of a cell is a chain of hashes, one link per step, with a checkpoint after each. A run that was interrupted and resumed
ends with the same link as one that was not, or the resuming is wrong.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recolorist.errors import OptionError
from recolorist_lab.runs.config import Json, identity, operational
from recolorist_lab.runs.kind import Context

__all__ = ["Rehearsal", "chain", "run"]


@dataclass(frozen=True)
class Rehearsal:
    """What a cell does in addition to hashing."""

    index: int = identity()
    steps: int = identity(3)
    trouble: Literal["none", "raise", "die", "nan"] = identity("none")
    ballast: int = identity(0)  # bytes kept beside the result
    pause: float = operational(0.0)  # seconds a step
    witness: str = operational("")  # folder in which a lock per cell shows whether two processes ever had it at once
    fuse: str = operational("")  # folder; the cell fails or dies only while a file named after it is there

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise OptionError(f"steps={self.steps}; accepted is at least one")


def run(config: Rehearsal, context: Context) -> Mapping[str, Json]:
    """Compute a chain of hashes, with a checkpoint after each step.

    Args:
        config: The configuration of the cell.
        context: Where the cell keeps checkpoints and files.

    Returns:
        The result, as the ledger stores it.
    """
    with _witnessed(config):
        resumed = context.resume()
        step, link = (resumed[0], resumed[1].decode()) if resumed else (0, _first(config, context))
        while step < config.steps:
            time.sleep(config.pause)
            step, link = step + 1, _next(link)
            context.save(step, link.encode())
            _trouble(config)
        if config.ballast:
            context.keep("ballast.bin", link.encode() * (config.ballast // 64))
        return {"chain": link, "share": int(link[:8], 16) / 2**32 if config.trouble != "nan" else float("nan")}


def chain(index: int, steps: int, earlier: Sequence[str] = ()) -> str:
    """Return the expected last link of a cell, given those of the cells it depends on.

    Args:
        index: The number of the cell.
        steps: How many steps it takes.
        earlier: Links of the cells it builds on.

    Returns:
        The link.

    Example:
        >>> chain(0, 2) == _next(chain(0, 1))
        True
    """
    link = _next("".join([str(index), *earlier]))
    for _ in range(steps):
        link = _next(link)
    return link


def _first(config: Rehearsal, context: Context) -> str:
    return chain(config.index, 0, [str(item.result["chain"]) for items in context.inputs.values() for item in items])


def _next(link: str) -> str:
    return hashlib.sha256(link.encode()).hexdigest()


def _trouble(config: Rehearsal) -> None:
    if config.fuse:
        burnt = Path(config.fuse) / str(config.index)
        if not burnt.exists():
            return
        burnt.unlink()
    if config.trouble == "raise":
        raise OptionError("this cell was asked to fail, and does")
    if config.trouble == "die":
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def _witnessed(config: Rehearsal) -> Iterator[None]:
    """Hold a lock that ends with the process, and record every start; a lock that is held shows two processes at once."""
    if not config.witness:
        yield
        return
    import fcntl  # not on every system; the witness is for tests on those that have it

    folder = Path(config.witness)
    note = json.dumps({"index": config.index, "steps": config.steps, "pid": os.getpid()})
    (folder / f"start-{config.index}-{time.time_ns()}-{os.getpid()}").write_text(note, "utf-8")
    with (folder / f"lock-{config.index}").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            (folder / f"twice-{config.index}-{os.getpid()}").write_text(note, "utf-8")
        yield
