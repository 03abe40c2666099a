"""Unpack archives: regular files only, inside one folder. An archive with one bad member is refused as a whole.

Everything is checked before anything is written. The files then go into a new folder beside the target, which takes the target's
name when all are there. They are not flushed to disk one by one: `index` opens every file, and so finds what a power failure
damaged. Zip and tar (plain, gzip, bzip2, xz) are recognised by their first bytes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from recolorist.io.files import atomic_path
from recolorist.io.reading import display_path
from recolorist_lab.assets.archive_formats import ArchiveError, Caps, Member, OpenArchive, open_tar, open_zip
from recolorist_lab.disk import refuse_full_disk

__all__ = ["ArchiveError", "Caps", "Member", "check_archive", "safe_name", "unpack"]

_CHUNK: Final = 1 << 20
_JUNK: Final = ("__MACOSX", ".DS_Store", "Thumbs.db")  # checked like all others, and not written
_LONGEST_PART: Final = 200  # bytes
_LONGEST: Final = 1000
_RESERVED: Final = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}


def unpack(archive: str | Path, target: str | Path, caps: Caps | None = None) -> int:
    """Unpack an archive into a folder that does not exist or is empty.

    Args:
        archive: A zip or tar file; a tar may be packed with gzip, bzip2 or xz.
        target: The folder to make.
        caps: Limits on files, bytes and the ratio of compression; None for the usual ones.

    Returns:
        The number of files.

    Raises:
        ArchiveError: The folder is in use, the archive is damaged, beyond a limit, or a name in it is not safe. Nothing is left
            behind.

    Example:
        >>> import tempfile, zipfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with zipfile.ZipFile(f"{folder}/a.zip", "w") as made:
        ...         made.writestr("../evil.txt", "x")
        ...     unpack(f"{folder}/a.zip", f"{folder}/out")
        Traceback (most recent call last):
        recolorist_lab.assets.archive_formats.ArchiveError: .../a.zip is refused, and nothing of it was written: ...
    """
    source, goal, caps = Path(archive), Path(target), caps or Caps()
    if goal.is_symlink() or (goal.exists() and (not goal.is_dir() or any(goal.iterdir()))):
        raise ArchiveError(f"{display_path(goal)} exists and is not an empty folder; name another one, or remove it")
    try:
        with _open_archive(source) as opened:
            plan = _plan_files(opened, source.stat().st_size, caps)
            goal.parent.mkdir(parents=True, exist_ok=True)
            refuse_full_disk(goal.parent, sum(plan.values()), ArchiveError)
            _write(opened, plan, goal)
    except ArchiveError as error:
        raise ArchiveError(f"{display_path(source)} is refused, and nothing of it was written: {error}") from error
    except Exception as error:  # damaged archives raise errors of many types; the caller gets one type
        raise ArchiveError(f"{display_path(source)} cannot be unpacked, and nothing of it was written: {error}") from error
    return len(plan)


def check_archive(archive: str | Path, caps: Caps | None = None) -> int:
    """Read every member of a zip or tar to its end, so that every checksum in it is verified, and write nothing.

    Args:
        archive: The file.
        caps: The most that it may unpack to.

    Returns:
        The number of files in it.

    Raises:
        ArchiveError: If :func:`unpack` would refuse it, or a checksum is wrong.
    """
    source, caps = Path(archive), caps or Caps()
    try:
        with _open_archive(source) as opened:
            plan = _plan_files(opened, source.stat().st_size, caps)
            for _, content in opened.contents():
                while content.read(_CHUNK):
                    pass
    except Exception as error:  # as in `unpack`
        raise ArchiveError(f"{display_path(source)} is not a whole archive: {error}") from error
    return len(plan)


def safe_name(name: str) -> tuple[str, ...]:
    """Split a member's name into its parts, if it means the same on every system.

    Args:
        name: The name as the archive has it.

    Returns:
        The parts of the path, without ``.``.

    Raises:
        ArchiveError: The name is absolute, leaves its folder, is too long, or is changed by some systems.

    Example:
        >>> safe_name("./a/b.png")
        ('a', 'b.png')
    """
    if not name or not name.isprintable():  # NUL, newlines, direction overrides, bytes that are no text
        raise ArchiveError(f"{display_path(name)!r} has characters that do not belong in a name")
    if name.startswith("/") or "\\" in name or ":" in name:
        raise ArchiveError(f"{name!r} is not a plain relative path")
    parts = tuple(part for part in name.rstrip("/").split("/") if part != ".")
    if ".." in parts:
        raise ArchiveError(f"{name!r} leaves its folder")
    if len(name) > _LONGEST or any(len(part.encode()) > _LONGEST_PART for part in parts):
        raise ArchiveError(f"{name[:60]!r}… is too long a name")
    for part in parts:
        if not part or part != part.strip(" ") or part.endswith(".") or part.split(".")[0].lower() in _RESERVED:
            raise ArchiveError(f"{name!r} is a name that some systems change")
    return parts


@contextmanager
def _open_archive(path: Path) -> Iterator[OpenArchive]:
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start in (b"PK\3\4", b"PK\5\6"):
            yield open_zip(file)
        else:
            yield open_tar(file, path.stat().st_size)


def _plan_files(opened: OpenArchive, packed: int, caps: Caps) -> dict[str, int]:
    """The files to write, as paths, with their sizes. Reads all headers and no content."""
    kinds: dict[str, bool] = {}  # name as the strictest system compares it, and whether it is a folder
    plan: dict[str, int] = {}
    total = 0
    for count, member in enumerate(opened.members(caps), 1):
        if count > caps.files:
            raise ArchiveError(f"it has more than {caps.files:,} members")
        parts = safe_name(member.name)
        total += member.size
        if total > caps.bytes or (total > _CHUNK and total > caps.ratio * packed):
            raise ArchiveError(f"it would unpack to {total:,} bytes or more from {packed:,}")
        _note(kinds, parts, member)
        if not member.folder and not any(part in _JUNK for part in parts):
            plan["/".join(parts)] = member.size
    return plan


def _note(kinds: dict[str, bool], parts: tuple[str, ...], member: Member) -> None:
    """Refuse a second member of a name, however it is written, and a file where a folder is."""
    key = ""
    for part in parts[:-1]:
        key += "/" + unicodedata.normalize("NFC", part).casefold()
        if not kinds.setdefault(key, True):
            raise ArchiveError(f"{member.name!r} lies in a file")
    if not parts:
        return  # the folder itself, "./"
    key += "/" + unicodedata.normalize("NFC", parts[-1]).casefold()
    if key in kinds and not (kinds[key] and member.folder):
        raise ArchiveError(f"{member.name!r} is there twice, or differs from another only in case")
    kinds[key] = member.folder


def _write(opened: OpenArchive, plan: dict[str, int], goal: Path) -> None:
    with atomic_path(goal) as fresh:
        fresh.mkdir(0o755)
        folders: set[Path] = set()
        count = 0
        for name, content in opened.contents():
            path = "/".join(safe_name(name))
            if path in plan:
                _write_file(fresh / path, content, plan[path], folders)
                count += 1
        if count != len(plan):
            raise ArchiveError(f"it held {count} files the second time and {len(plan)} the first")


def _write_file(path: Path, content: IO[bytes], size: int, folders: set[Path]) -> None:
    if path.parent not in folders:
        path.parent.mkdir(parents=True, exist_ok=True)
        folders.add(path.parent)
    remaining = size
    with path.open("xb") as file:
        while block := content.read(min(_CHUNK, remaining + 1)):
            remaining -= len(block)
            if remaining < 0:
                break
            file.write(block)
    if remaining:
        raise ArchiveError(f"{path.name!r} is not of the {size:,} bytes that it declares")
