"""Write files and folders that appear whole or not at all.

What is written gets a temporary name beside its final one, ``.name.….part``. It is flushed to the disk and then renamed, so that
neither an exception nor a loss of power leaves a file that is half written under its final name.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recolorist.errors import RecoloristError

__all__ = ["atomic_create", "atomic_path", "atomic_write", "flush_folder"]


def atomic_write(path: Path, data: bytes) -> Path:
    """Write a file, replacing one that is there.

    Args:
        path: The final name, in a folder that exists.
        data: The content.

    Returns:
        The path.

    Raises:
        RecoloristError: If it cannot be written; an older file of this name is unchanged, and nothing is left behind.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     atomic_write(Path(folder) / "a.txt", b"whole").read_bytes()
        b'whole'
    """
    with _reported(path), atomic_path(path) as part:
        _write(part, data)
    return path


def atomic_create(path: Path, data: bytes) -> bool:
    """Write a file unless there is one of this name, however many processes try it at once.

    Args:
        path: The final name, in a folder that exists.
        data: The content.

    Returns:
        Whether the file was written; False if there was one, which is unchanged.

    Raises:
        RecoloristError: If it cannot be written, or the file system has no hard links.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [atomic_create(Path(folder) / "a.txt", data) for data in (b"first", b"second")]
        [True, False]
    """
    with _reported(path):
        part = _temporary_name(path)
        try:
            _write(part, data)
            os.link(part, path)
        except FileExistsError:
            return False
        finally:
            part.unlink(missing_ok=True)
            flush_folder(path.parent)
    return True


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path to make a file or a folder at, and give it its final name at the end of the block.

    A file that is there is replaced; of folders, only an empty one. If the block raises, what it made is removed.

    Args:
        path: The final name, in a folder that exists.

    Yields:
        A path in the same folder that does not exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with atomic_path(Path(folder) / "new") as part:
        ...         part.mkdir()
        ...         _ = (part / "a.txt").write_text("whole")
        ...     [found.name for found in Path(folder, "new").iterdir()]
        ['a.txt']
    """
    part = _temporary_name(path)
    try:
        yield part
        if part.is_dir():
            if path.is_dir():
                path.rmdir()
            flush_folder(part)
        else:
            _flush(part, os.O_RDWR)
        part.replace(path)
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk; systems that cannot open folders do this on their own."""
    try:
        _flush(folder, os.O_RDONLY)
    except PermissionError:
        return


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _temporary_name(path: Path) -> Path:
    """Return an unused hidden name beside the final one."""
    return path.with_name(f".{path.name[:80]}.{secrets.token_hex(8)}.part")


def _write(part: Path, data: bytes) -> None:
    with part.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn errors of the system into one that names the file."""
    try:
        yield
    except OSError as error:
        if not path.parent.is_dir():
            raise RecoloristError(f"{path} cannot be written: {error.strerror}; choose an existing, writable folder") from error
        raise RecoloristError(f"{path} was not written: {error.strerror}; what was there before is unchanged") from error
