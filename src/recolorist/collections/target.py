"""The folder a run writes into: files appear whole or not at all, inside it, and over nobody's work.

Every step is taken relative to an open folder and follows no link, so that nothing is written elsewhere, not even when somebody
exchanges a folder for a link meanwhile.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from recolorist.errors import ImageError, OptionError, RecoloristError
from recolorist.io.reading import display_path

__all__ = ["OutputError", "Target", "digest_of", "failing_of", "forget_folders", "remove_part"]

_RELATIVE: Final = os.open in os.supports_dir_fd and os.link in os.supports_dir_fd and os.rename in os.supports_dir_fd
_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINKS
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS | getattr(os, "O_BINARY", 0)
_FATAL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ENOTCONN, errno.ESTALE)
_numbers = count()
_part: str | tuple[int, str] | None = None  # what this process is writing just now
_folders: dict[tuple[str, str], int] = {}  # handles of the folders of this run that were written into last
_MOST_FOLDERS: Final = 32


class OutputError(RecoloristError):
    """The target cannot be written to at all; the run ends."""


@dataclass(frozen=True, slots=True)
class Target:
    """A folder for outputs. ``force`` allows to replace what is there."""

    folder: str
    force: bool = False

    def prepare(self) -> None:
        """Make the folder; it may be there already."""
        forget_folders()
        try:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{display_path(self.folder)} cannot be made: {error.strerror}; choose another folder") from error

    def exists(self, name: str) -> bool:
        """Whether something of this name is there, a broken link included."""
        return os.path.lexists(os.path.join(self.folder, name))  # noqa: PTH118

    def place(self, name: str, data: bytes) -> None:
        """Write one file; the same bytes already there are as good as written."""
        try:
            at, last = self._parent(name)
            if not self.force and isinstance(at, int) and _nameless(last, data, at):
                return
            part = _part_name(last)
            _remember((at, part) if isinstance(at, int) else os.path.join(str(at), part))  # noqa: PTH118
            try:
                _write(part, data, at)
                self._put(part, last, data, at)
            finally:
                remove_part()
        except OSError as error:
            raise _failed(name, error) from error

    def place_made(self, name: str, make: Callable[[Path], None]) -> None:
        """Write one large file or folder through a function that is given a path to make it at."""
        final = Path(self.folder) / name
        with failing_of(name):
            self._parent(name)  # makes the folders and refuses links among them
            part = final.with_name(_part_name(final.name))
            _remember(str(part))
            try:
                make(part)
                if self.exists(name) and not self.force:
                    raise ImageError(f"{display_path(name)} exists in the target; pass force=True to replace it")
                if final.is_dir() and not final.is_symlink():
                    shutil.rmtree(final)
                part.replace(final)
            finally:
                remove_part()

    def digest(self, name: str) -> str | None:
        """The sha256 of what is there under this name; None if there is nothing."""
        path = Path(self.folder) / name
        if path.is_symlink() or not path.is_file():
            return None
        return digest_of(path)

    def sweep(self) -> int:
        """Remove what a run that was killed left half-written; returns how many files."""
        parts = list(Path(self.folder).rglob(".*.recolorist-part"))
        for part in parts:
            if part.is_dir() and not part.is_symlink():
                shutil.rmtree(part, ignore_errors=True)
            else:
                part.unlink(missing_ok=True)
        return len(parts)

    def _parent(self, name: str) -> tuple[int | str, str]:
        """The folder that will hold a file, made if needed, and the file's own name."""
        cut = name.rfind("/") + 1
        folder, last = name[:cut], name[cut:]
        _refuse_odd(name, last)
        if not _RELATIVE:
            parent = Path(self.folder, *_parts(folder))
            parent.mkdir(parents=True, exist_ok=True)
            if not parent.resolve().is_relative_to(Path(self.folder).resolve()):
                raise OutputError(f"{display_path(parent)} leads out of the target folder")
            return str(parent), last
        key = (self.folder, folder)
        if key not in _folders:
            if len(_folders) >= _MOST_FOLDERS:
                forget_folders()
            _folders[key] = _opened_folder(self.folder, _parts(folder))
        return _folders[key], last

    def _put(self, part: str, last: str, data: bytes, at: int | str) -> None:
        """Give a finished file its name, which nobody else may have taken."""
        where = {"src_dir_fd": at, "dst_dir_fd": at} if isinstance(at, int) else {}
        source, goal = (part, last) if where else (os.path.join(str(at), part), os.path.join(str(at), last))  # noqa: PTH118
        if self.force:
            os.replace(source, goal, **where)  # noqa: PTH105
            return
        try:
            os.link(source, goal, follow_symlinks=False, **where)
        except FileExistsError:
            _refuse_other_content(last, data, at)
        except (OSError, NotImplementedError) as error:  # the latter where a platform cannot link relative to a folder
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            os.rename(source, goal, **where)  # noqa: PTH104 - a file system without hard links


def _nameless(last: str, data: bytes, at: int) -> bool:
    """Write a file that has no name until it is whole; False where the system cannot do that.

    Cheaper than a file under another name, and not even a kill leaves anything behind.
    """
    try:
        handle = os.open(".", os.O_WRONLY | os.O_TMPFILE, 0o666, dir_fd=at)
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            raise
        return False
    try:
        _write_all(handle, data)
        os.link(f"/proc/self/fd/{handle}", last, dst_dir_fd=at, follow_symlinks=True)
    except FileExistsError:
        _refuse_other_content(last, data, at)
    except (FileNotFoundError, PermissionError):  # no /proc here
        return False
    finally:
        os.close(handle)
    return True


def _refuse_other_content(last: str, data: bytes, at: int | str) -> None:
    if _read(last, at) != data:
        raise ImageError(f"{display_path(last)} exists in the target with other content; pass force=True to replace it") from None


def _opened_folder(root: str, folders: list[str]) -> int:
    handle = os.open(root, os.O_RDONLY)  # the folder named may itself be a link; what is below may not
    for folder in folders:
        try:
            below = _entered(folder, handle)
        finally:
            os.close(handle)
        handle = below
    return handle


def forget_folders() -> None:
    """Close what is open; a run begins without handles of an earlier one."""
    while _folders:
        os.close(_folders.popitem()[1])


def _write(part: str, data: bytes, at: int | str) -> None:
    with _opened(part, _NEW, at) as handle:
        _write_all(handle, data)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _read(name: str, at: int | str) -> bytes | None:
    try:
        with _opened(name, os.O_RDONLY | _NO_LINKS, at) as handle, os.fdopen(os.dup(handle), "rb") as file:
            return file.read()
    except OSError:  # a link or a folder
        return None


@contextmanager
def _opened(name: str, flags: int, at: int | str) -> Iterator[int]:
    handle = os.open(name, flags, 0o666, dir_fd=at) if isinstance(at, int) else os.open(os.path.join(at, name), flags, 0o666)  # noqa: PTH118
    try:
        yield handle
    finally:
        os.close(handle)


def _entered(folder: str, handle: int) -> int:
    try:
        return os.open(folder, _FOLDER, dir_fd=handle)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another worker was faster
            os.mkdir(folder, dir_fd=handle)
        return os.open(folder, _FOLDER, dir_fd=handle)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ImageError(f"{display_path(folder)} in the target is a link or a file; links there are not followed") from error
        raise


def _parts(folder: str) -> list[str]:
    """The folders on the way, none of them leading elsewhere; what came ends in a slash, if there are any."""
    parts = folder.split("/")[:-1]
    for part in parts:
        _refuse_odd(folder, part)
    return parts


def _refuse_odd(name: str, part: str) -> None:
    if part in ("", ".", "..") or "\0" in part or os.sep in part:
        raise OptionError(f"{display_path(name)!r} cannot be the name of an output")


@contextmanager
def failing_of(name: str) -> Iterator[None]:
    """Turn an error of the system into one that names the output; a disk that is full ends the run."""
    try:
        yield
    except OSError as error:
        raise _failed(name, error) from error


def _failed(name: str, error: OSError) -> RecoloristError:
    text = f"{display_path(name)} was not written: {error.strerror or error}"
    return OutputError(text) if error.errno in _FATAL else ImageError(text)


def _part_name(name: str) -> str:
    short = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f".{short}-{os.getpid()}-{next(_numbers)}.recolorist-part"


def _remember(part: str | tuple[int, str]) -> None:
    global _part  # noqa: PLW0603 - one file at a time per process
    _part = part


def remove_part() -> None:
    """Take away what this process has half-written; called when a file is done and when a worker is told to stop."""
    global _part
    part, _part = _part, None
    if isinstance(part, tuple):
        with suppress(OSError):
            os.unlink(part[1], dir_fd=part[0])
    elif part is not None:
        if os.path.isdir(part) and not os.path.islink(part):  # noqa: PTH112, PTH114
            shutil.rmtree(part, ignore_errors=True)
        with suppress(OSError):
            os.unlink(part)  # noqa: PTH108


def digest_of(path: str | Path) -> str:
    """The sha256 of a file, read in pieces."""
    with open(path, "rb") as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest()
