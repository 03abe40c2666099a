"""Room on the disk, asked for before anything is written."""

from __future__ import annotations

import shutil
from pathlib import Path

from recolorist.errors import RecoloristError
from recolorist.io.reading import display_path

__all__ = ["refuse_full_disk"]


def refuse_full_disk(folder: Path, need: int, kind: type[RecoloristError], subject: str = "it") -> None:
    """Find out before anything is written that there is no room for all of it."""
    free = shutil.disk_usage(folder).free
    if need > free:
        raise kind(f"{subject} needs {need:,} bytes and {free:,} are free in {display_path(folder)}")
