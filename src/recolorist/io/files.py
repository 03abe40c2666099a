"""Write files and folders that appear whole or not at all; the only module that does.

What is written gets a temporary name beside its final one, ``.name.….recolorist.part``, or none where the system allows that. It
is flushed to the disk and then given its final name. So neither an exception nor a loss of power leaves a partly written file
under that name.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from recolorist.errors import RecoloristError

__all__ = [
    "HAS_OPEN_FOLDERS",
    "PART_SUFFIX",
    "atomic_create",
    "atomic_path",
    "atomic_write",
    "flush_folder",
    "remove_parts",
    "write_into",
]

#: Whether this system takes paths relative to an open folder.
HAS_OPEN_FOLDERS: Final = {os.link, os.open, os.rename, os.unlink} <= os.supports_dir_fd
#: The end of every temporary name.
PART_SUFFIX: Final = ".recolorist.part"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NOT_FOLLOWED: Final[dict[str, Any]] = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
_UNSUPPORTED: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
_parts: set[tuple[int | str, str]] = set()  # what this process is writing just now: a folder, and a name in it


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
    with _name_in_errors(path):
        write_into(str(path.parent), path.name, data, replace=True)
        flush_folder(path.parent)
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
    with _name_in_errors(path):
        is_new = write_into(str(path.parent), path.name, data, replace=False)
        flush_folder(path.parent)
    return is_new


def write_into(folder: int | str, name: str, data: bytes, *, replace: bool, flush: bool = True) -> bool:
    """Write a file into a folder; no link of this name is followed.

    Args:
        folder: The path of a folder, or an open one, in which the file appears whatever happens to its path meanwhile.
        name: The final name in this folder.
        data: The content.
        replace: Whether a file of this name is replaced.
        flush: Whether the content is on the disk before the file gets its name. False for outputs that are verified anyhow.

    Returns:
        Whether the file was written; False if there was one that may not be replaced.

    Raises:
        OSError: If it cannot be written, or is not to be replaced and the file system has no hard links.
    """
    if isinstance(folder, str) and HAS_OPEN_FOLDERS:
        handle = os.open(folder, os.O_RDONLY)
        try:
            return write_into(handle, name, data, replace=replace, flush=flush)
        finally:
            os.close(handle)
    try:
        if not replace and isinstance(folder, int) and _write_nameless(folder, name, data, flush=flush):
            return True
        with _temporary_name(folder, name) as part:
            _write_new(folder, part, data, flush=flush)
            if replace:
                os.replace(_path(folder, part), _path(folder, name), **_at(folder, "src_dir_fd", "dst_dir_fd"))  # noqa: PTH105
            else:
                os.link(_path(folder, part), _path(folder, name), **_NOT_FOLLOWED, **_at(folder, "src_dir_fd", "dst_dir_fd"))
    except FileExistsError:
        return False
    return True


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path to make a file or a folder at, and give it its final name at the end of the block.

    A file that is there is replaced; of folders, only an empty one. If the block raises, what it made is removed.

    Args:
        path: The final name, in a folder that exists.

    Yields:
        A path in the same folder that does not exist.

    Raises:
        OSError: If it cannot get its final name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with atomic_path(Path(folder) / "new") as part:
        ...         part.mkdir()
        ...         _ = (part / "a.txt").write_text("whole")
        ...     [found.name for found in Path(folder, "new").iterdir()]
        ['a.txt']
    """
    with _temporary_name(str(path.parent), path.name) as name:
        part = path.with_name(name)
        yield part
        if part.is_dir():
            if path.is_dir():
                path.rmdir()
            flush_folder(part)
        else:
            _flush(part, os.O_RDWR)
        part.replace(path)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk; systems that cannot open folders do this on their own.

    Args:
        folder: The folder.
    """
    try:
        _flush(folder, os.O_RDONLY)
    except PermissionError:
        return


def remove_parts() -> None:
    """Remove what this process is writing just now, before it ends without leaving the blocks it is in."""
    for folder, name in list(_parts):
        _remove(folder, name)


@contextmanager
def _temporary_name(folder: int | str, name: str) -> Iterator[str]:
    """Yield an unused hidden name beside the final one; what has this name at the end of the block is removed."""
    start = name.encode("utf-8", "surrogateescape")[:180].decode("utf-8", "ignore")  # of the 255 bytes that a name may have
    part = f".{start}.{secrets.token_hex(8)}{PART_SUFFIX}"
    _parts.add((folder, part))
    try:
        yield part
    finally:
        _remove(folder, part)
        _parts.discard((folder, part))


def _remove(folder: int | str, part: str) -> None:
    path = _path(folder, part)
    try:
        os.unlink(path, **_at(folder, "dir_fd"))
    except FileNotFoundError:
        return
    except OSError:  # a folder, which Linux and macOS report by different errors
        shutil.rmtree(path, ignore_errors=True, **_at(folder, "dir_fd"))


def _write_nameless(folder: int, name: str, data: bytes, *, flush: bool) -> bool:
    """Write a file that has no name until it is whole; return False where the system has no such files.

    It is cheaper than a file under another name, and not even a kill leaves anything behind.

    Raises:
        FileExistsError: There is one of this name.
    """
    try:
        handle = _open(folder, ".", os.O_WRONLY | os.O_TMPFILE)
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _UNSUPPORTED:
            raise
        return False
    try:
        _write_all(handle, data, flush=flush)
        os.link(f"/proc/self/fd/{handle}", name, dst_dir_fd=folder, follow_symlinks=True)
    except (FileNotFoundError, PermissionError):  # no /proc here
        return False
    finally:
        os.close(handle)
    return True


def _write_new(folder: int | str, name: str, data: bytes, *, flush: bool) -> None:
    handle = _open(folder, name, _NEW)
    try:
        _write_all(handle, data, flush=flush)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes, *, flush: bool) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    if flush:
        os.fsync(handle)


def _open(folder: int | str, name: str, flags: int) -> int:
    return os.open(_path(folder, name), flags, 0o666, **_at(folder, "dir_fd"))


def _path(folder: int | str, name: str) -> str:
    return name if isinstance(folder, int) else os.path.join(folder, name)  # noqa: PTH118 - for every image of a collection


def _at(folder: int | str, *keywords: str) -> dict[str, Any]:
    """Return the keywords that make a path relative to an open folder."""
    return dict.fromkeys(keywords, folder) if isinstance(folder, int) else {}


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    """Turn errors of the system into one that names the file."""
    try:
        yield
    except OSError as error:
        if not path.parent.is_dir():
            raise RecoloristError(f"{path} cannot be written: {error.strerror}; choose an existing, writable folder") from error
        raise RecoloristError(f"{path} was not written: {error.strerror}; what was there before is unchanged") from error
