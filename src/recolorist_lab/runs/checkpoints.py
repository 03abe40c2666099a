"""Checkpoints of an unfinished cell: the last two, each with its checksum, so that a damaged one costs only one step."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Final

from recolorist.io.files import atomic_write

__all__ = ["clear", "load", "save", "steps"]

_PREFIX: Final = "ckpt-"
_KEPT: Final = 2


def save(folder: Path, step: int, data: bytes) -> None:
    """Write a checkpoint and remove all but the last two.

    Args:
        folder: The folder of the cell.
        step: Its number.
        data: Its bytes.
    """
    atomic_write(_path(folder, step), _header(step, data) + b"\n" + data)
    for old in steps(folder)[:-_KEPT]:
        _path(folder, old).unlink(missing_ok=True)


def load(folder: Path) -> tuple[int, bytes] | None:
    """Read the newest checkpoint that verifies.

    Args:
        folder: The folder of the cell.

    Returns:
        Its step and bytes; None where there is none.
    """
    for step in reversed(steps(folder)):
        header, _, data = _path(folder, step).read_bytes().partition(b"\n")
        if header == _header(step, data):
            return step, data
    return None


def steps(folder: Path) -> list[int]:
    """List the steps that have a checkpoint, whether it verifies or not.

    Args:
        folder: The folder of the cell.

    Returns:
        Steps in rising order.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
    except FileNotFoundError:
        return []
    return sorted(int(name[len(_PREFIX) : -4]) for name in names if name.startswith(_PREFIX) and name.endswith(".bin"))


def clear(folder: Path) -> None:
    """Remove the checkpoints of a finished cell.

    Args:
        folder: The folder of the cell.
    """
    for step in steps(folder):
        _path(folder, step).unlink(missing_ok=True)


def _header(step: int, data: bytes) -> bytes:
    return json.dumps({"step": step, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}).encode()


def _path(folder: Path, step: int) -> Path:
    return folder / f"{_PREFIX}{step:09d}.bin"
