"""The folder a run writes into: files appear whole or not at all, only inside it, and replace no file of others.

Every step is taken relative to an open folder and follows no link. So nothing is written elsewhere, not even if somebody replaces
a folder by a link meanwhile.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recolorist.errors import ImageError, OptionError, RecoloristError
from recolorist.io.files import HAS_OPEN_FOLDERS, PART_SUFFIX, atomic_path, write_into
from recolorist.io.reading import display_path

__all__ = ["OutputError", "Target", "close_folders", "file_digest", "output_error"]

_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINKS
_FATAL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ENOTCONN, errno.ESTALE)
_NO_HARD_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_folders: dict[tuple[str, str], int] = {}  # handles of the folders of this run that were written into last
_MOST_FOLDERS: Final = 32


class OutputError(RecoloristError):
    """The target cannot be written to at all; the run ends."""


@dataclass(frozen=True, slots=True)
class Target:
    """A folder for outputs.

    Attributes:
        folder: Its path.
        force: Whether files that are there are replaced.
    """

    folder: str
    force: bool = False

    def prepare(self) -> None:
        """Make the folder; it may be there already.

        Raises:
            OutputError: It cannot be made.
        """
        close_folders()
        try:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{display_path(self.folder)} cannot be made: {error.strerror}; choose another folder") from error

    def exists(self, name: str) -> bool:
        """Return whether something of this name is there, a broken link included.

        Args:
            name: The path below the folder.

        Returns:
            True if there is something.
        """
        return os.path.lexists(os.path.join(self.folder, name))  # noqa: PTH118

    def place(self, name: str, data: bytes) -> None:
        """Write one file; if the same bytes are already there, nothing happens.

        Args:
            name: The path below the folder, with slashes. Folders on the way are made.
            data: The content.

        Raises:
            ImageError: There is a file of this name with other content and ``force`` is False, or a link is on the way.
            OptionError: The name leads elsewhere.
            OutputError: The disk is full or read-only.
        """
        try:
            folder, last = self._open_parent(name)
            try:
                is_written = write_into(folder, last, data, replace=self.force, flush=False)
            except OSError as error:
                if self.force or error.errno not in _NO_HARD_LINKS:
                    raise
                is_written = not self.exists(name) and write_into(folder, last, data, replace=True, flush=False)
        except OSError as error:
            raise output_error(name, error) from error
        if not is_written and _read(folder, last) != data:
            raise ImageError(f"{display_path(last)} exists in the target with other content; pass force=True to replace it")

    def place_made(self, name: str, make: Callable[[Path], None]) -> None:
        """Write one large file or folder through a function.

        Args:
            name: The path below the folder, with slashes.
            make: Called with the path to make the file or folder at.

        Raises:
            ImageError: There is one of this name and ``force`` is False, or a link is on the way.
            OptionError: The name leads elsewhere.
            OutputError: The disk is full or read-only.
        """
        final = Path(self.folder) / name
        try:
            self._open_parent(name)  # makes the folders and refuses links among them
            with atomic_path(final) as temporary:
                make(temporary)
                if self.exists(name) and not self.force:
                    raise ImageError(f"{display_path(name)} exists in the target; pass force=True to replace it")
                if final.is_dir() and not final.is_symlink():
                    shutil.rmtree(final)
        except OSError as error:
            raise output_error(name, error) from error

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of the file of this name; None if there is none, or a link.

        Args:
            name: The path below the folder.

        Returns:
            Hexadecimal digits, or None.
        """
        path = Path(self.folder) / name
        if path.is_symlink() or not path.is_file():
            return None
        return file_digest(path)

    def sweep(self) -> int:
        """Remove what a run that was killed left half-written, and return how many files and folders that were.

        Returns:
            Their number.
        """
        parts = list(Path(self.folder).rglob(f".*{PART_SUFFIX}"))
        for leftover in parts:
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)
        return len(parts)

    def _open_parent(self, name: str) -> tuple[int | str, str]:
        """Return the folder that will hold a file, made if needed, and the file's own name."""
        cut = name.rfind("/") + 1
        folder, last = name[:cut], name[cut:]
        _refuse_odd(name, last)
        if not HAS_OPEN_FOLDERS:
            parent = Path(self.folder, *_split(folder))
            parent.mkdir(parents=True, exist_ok=True)
            if not parent.resolve().is_relative_to(Path(self.folder).resolve()):
                raise OutputError(
                    f"{display_path(parent)} leads out of the target folder; remove the link, or choose another target"
                )
            return str(parent), last
        # a relative path means another folder after a chdir
        key = (self.folder if os.path.isabs(self.folder) else os.path.abspath(self.folder), folder)  # noqa: PTH100, PTH117
        if key not in _folders:
            if len(_folders) >= _MOST_FOLDERS:
                close_folders()
            _folders[key] = _open_below(self.folder, _split(folder))
        return _folders[key], last


def close_folders() -> None:
    """Close the folders that were written into; a run begins without handles of an earlier one."""
    while _folders:
        os.close(_folders.popitem()[1])


def _open_below(root: str, folders: list[str]) -> int:
    handle = os.open(root, os.O_RDONLY)  # the folder named may itself be a link; what is below may not
    for folder in folders:
        try:
            below = _enter(folder, handle)
        finally:
            os.close(handle)
        handle = below
    return handle


def _enter(folder: str, handle: int) -> int:
    """Open a folder inside an open one, made if needed."""
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


def _read(folder: int | str, name: str) -> bytes | None:
    """Return the content of a file, None of a link or a folder."""
    flags = os.O_RDONLY | _NO_LINKS | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(name, flags, dir_fd=folder) if isinstance(folder, int) else os.open(Path(folder, name), flags)
        with os.fdopen(handle, "rb") as file:
            return file.read()
    except OSError:
        return None


def _split(folder: str) -> list[str]:
    """Return the folders on the way, none of them leading elsewhere; what came ends in a slash, if there are any."""
    parts = folder.split("/")[:-1]
    for name_part in parts:
        _refuse_odd(folder, name_part)
    return parts


def _refuse_odd(name: str, name_part: str) -> None:
    if name_part in ("", ".", "..") or "\0" in name_part or os.sep in name_part:
        raise OptionError(f"{display_path(name)!r} cannot be the name of an output; use a relative path without '..'")


def output_error(name: str, error: OSError) -> RecoloristError:
    """Return the error to raise for an output that the system did not let us write.

    Args:
        name: The path below the target.
        error: What the system said.

    Returns:
        An ImageError where this file alone is concerned, an OutputError where no file can be written there.

    Example:
        >>> output_error("a.png", OSError(errno.ENOSPC, "No space left on device"))
        OutputError('a.png was not written: No space left on device')
    """
    message = f"{display_path(name)} was not written: {error.strerror or error}"
    return OutputError(message) if error.errno in _FATAL else ImageError(message)


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file, read in pieces.

    Args:
        path: The file.

    Returns:
        Hexadecimal digits.
    """
    with open(path, "rb") as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest()
