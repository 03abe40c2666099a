"""Cache folders and free disk space."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Final

from recolorist.errors import RecoloristError
from recolorist.io.reading import display_path

__all__ = ["cache_folder", "cache_place", "refuse_full_disk"]

_WRITABLE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def refuse_full_disk(folder: Path, need: int, kind: type[RecoloristError], subject: str = "it") -> None:
    """Check, before anything is written, that there is space for all of it.

    Args:
        folder: Where it is written.
        need: Bytes.
        kind: The class of the error.
        subject: What is written.

    Raises:
        RecoloristError: There is too little space; the error is of the class ``kind``.
    """
    free = shutil.disk_usage(folder).free
    if need > free:
        raise kind(f"{subject} needs {need:,} bytes and {free:,} are free in {display_path(folder)}")


def cache_folder() -> Path:
    """Return the folder of downloads and features: ``RECOLORIST_CACHE``, or where the platform has caches.

    Returns:
        Its path.
    """
    if named := os.environ.get("RECOLORIST_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "recolorist"


def cache_place(folder: Path, name: str) -> Path:
    """Return where to keep results computed from a folder: in it, or in the cache where it is read-only.

    Args:
        folder: The folder of the files. A folder that is marked read-only counts as read-only, also for users whom the system
            would let write.
        name: Of what is kept; it must identify what it was computed from.

    Returns:
        The path, which need not exist.
    """
    place = folder / name
    if place.exists() or (folder.stat().st_mode & _WRITABLE and os.access(folder, os.W_OK)):
        return place
    return cache_folder() / "data" / name
