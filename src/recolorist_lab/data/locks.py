"""Let one process at a time make what several need: converted arrays, packed images, banks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["locked"]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process makes this file or folder. The lock ends with the process that holds it.

    Some folders have no locks: read-only ones, and some systems and network disks. There the block runs without one, so what it
    makes must appear whole or not at all.

    Args:
        path: What is about to be made; the lock is a hidden file beside it while it is held.

    Yields:
        Nothing.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with locked(Path(folder) / "bank"):
        ...         print([path.name for path in Path(folder).iterdir()])
        ...     print(list(Path(folder).iterdir()))
        ['.bank.lock']
        []
    """
    place = path.with_name(f".{path.name}.lock")
    file = _lock(place)
    try:
        yield
    finally:
        if file is not None:
            with suppress(OSError):
                place.unlink()  # before the lock is released: a waiting process then sees that the file is another one
            file.close()


def _lock(place: Path) -> IO[str] | None:
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        try:
            file = place.open("a")
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_ino == place.stat().st_ino:
                return file
        except FileNotFoundError:  # the process that held the lock removed the file
            pass
        except OSError:
            file.close()
            return None
        file.close()
