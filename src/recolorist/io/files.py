"""Writing files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from recolorist.errors import RecoloristError


def atomic_write(path: Path, data: bytes) -> Path:
    """Write beside the target, flush to disk, and rename; on any failure the old file stays and nothing is left behind.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder) / "a.txt", b"whole").read_bytes()
    b'whole'
    """
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part")
    except OSError as error:
        raise RecoloristError(f"{path} cannot be written: {error.strerror}; choose an existing, writable folder") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o666 & ~_umask())  # mkstemp makes files private; ours are ordinary ones
        Path(temporary).replace(path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise RecoloristError(f"{path} was not written: {error.strerror}; what was there before is unchanged") from error
        raise
    _flush_folder(path.parent)
    return path


def _umask() -> int:
    mask = os.umask(0)  # the only way to ask for it is to set it
    os.umask(mask)
    return mask


def _flush_folder(folder: Path) -> None:
    """The rename itself must reach the disk; systems that cannot open folders do this on their own."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
