"""Zip and tar through one interface, which gives regular files only."""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Final, Protocol

from recolorist.errors import RecoloristError
from recolorist.io.zips import directory_of, refuse_lost_members
from recolorist_lab.data.cards import GIB

__all__ = ["ArchiveError", "Caps", "Member", "OpenArchive", "open_tar", "open_zip"]

_UNZIPPED: Final = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))
#: Headers are read in pieces of 512 bytes and we copy by the mebibyte, so one read that asks for more is a decompression bomb.
_ONE_READ: Final = 4 << 20
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_ENTRY_BYTES: Final = 512  # of the directory at the end of a zip; real ones take about 150
_ENCRYPTED: Final = 0x1
_BLOCK: Final = 512  # of a tar
_PIECE: Final = 1 << 20


class ArchiveError(RecoloristError):
    """An archive that is refused as a whole; nothing of it was written."""


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that an archive may unpack to. ``ratio`` is bytes unpacked per byte packed, above one mebibyte."""

    files: int = 500_000
    bytes: int = 64 * GIB
    ratio: float = 200.0


@dataclass(frozen=True, slots=True)
class Member:
    """A file or folder in an archive, as its header declares it."""

    name: str
    size: int
    folder: bool


class OpenArchive(Protocol):
    """An archive that can be listed, and then read in the same order."""

    def members(self, caps: Caps) -> Iterator[Member]:
        """List all members.

        Args:
            caps: Limits on what the headers declare.

        Yields:
            Members.

        Raises:
            ArchiveError: A member is neither a regular file nor a folder.
        """

    def contents(self) -> Iterator[tuple[str, IO[bytes]]]:
        """Read every regular file.

        Yields:
            Name and content.
        """


def open_zip(file: IO[bytes]) -> _Zip:
    """Open a zip. The length of its directory is checked before it is read.

    Args:
        file: The open file.

    Returns:
        The archive.
    """
    return _Zip(file)


def open_tar(file: IO[bytes], size: int) -> _Tar:
    """Open a tar, compressed or not.

    Args:
        file: The open file.
        size: Its bytes.

    Returns:
        The archive.
    """
    start = file.read(6)
    file.seek(0)
    for magic, opener in _UNZIPPED:
        if start.startswith(magic):
            return _Tar(opener(file, "rb"), size)
    return _Tar(file, size)


class _Zip:
    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.archive: zipfile.ZipFile | None = None

    def members(self, caps: Caps) -> Iterator[Member]:
        count, length = directory_of(self.file)
        if count > caps.files or length > caps.files * _ENTRY_BYTES:
            raise ArchiveError(f"it has more than {caps.files:,} members")
        self.archive = zipfile.ZipFile(self.file)
        refuse_lost_members(self.archive)
        infos = self.archive.infolist()
        _refuse_overlap(infos, self.archive.start_dir)
        for info in infos:
            self._refuse(info, caps)
            yield Member(info.orig_filename, info.file_size, info.is_dir())

    def contents(self) -> Iterator[tuple[str, IO[bytes]]]:
        archive = self.archive
        for info in archive.infolist() if archive else ():
            if archive and not info.is_dir():
                with archive.open(info) as content:
                    yield info.orig_filename, content

    def _refuse(self, info: zipfile.ZipInfo, caps: Caps) -> None:
        kind = stat.S_IFMT(info.external_attr >> 16)
        usual = stat.S_IFDIR if info.is_dir() else stat.S_IFREG
        if kind not in (0, usual):
            raise ArchiveError(f"{info.filename!r} is a link or a device, not a regular file")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            raise ArchiveError(f"{info.filename!r} is encrypted or packed in a way that is not read here")
        if info.is_dir() and info.file_size:
            raise ArchiveError(f"{info.filename!r} is a folder with content")
        if info.file_size > max(1 << 20, caps.ratio * info.compress_size):
            raise ArchiveError(f"{info.filename!r} would unpack to {info.file_size:,} bytes from {info.compress_size:,}")
        if self.archive:
            self.archive.open(info).close()  # compares the name here with the one in the directory


def _refuse_overlap(infos: list[zipfile.ZipInfo], end: int) -> None:
    """Refuse members that share bytes, with which a small zip can declare a huge content."""
    reach = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < reach:
            raise ArchiveError(f"{info.filename!r} overlaps the member before it")
        reach = info.header_offset + 30 + len(info.orig_filename) + info.compress_size
    if reach > end:
        raise ArchiveError("its members reach into its directory")


class _Tar:
    def __init__(self, stream: Any, packed: int) -> None:
        self.stream = _Bounded(stream)
        self.packed = packed

    def members(self, caps: Caps) -> Iterator[Member]:
        self.stream.limit = max(64 << 20, int(caps.ratio * self.packed) + caps.files * 1024)
        with self._tar() as tar:
            for info in tar:
                yield _tar_member(info)
                tar.members.clear()  # or half a million of them stay in memory
            self._read_to_end(tar.offset)

    def contents(self) -> Iterator[tuple[str, IO[bytes]]]:
        self.stream.seek(0)
        with self._tar() as tar:
            for info in tar:
                if info.isreg() and (content := tar.extractfile(info)):
                    yield info.name, content
                tar.members.clear()
            self._read_to_end(tar.offset)

    def _read_to_end(self, offset: int) -> None:
        """Read what follows the last member: zeros, and then the checksum of the compressed stream, which is verified there."""
        self.stream.seek(offset)
        block = self.stream.read(_BLOCK)
        if block != bytes(_BLOCK):
            raise ArchiveError("it ends without the mark of its end: it is cut off")
        while block := self.stream.read(_PIECE):
            if block.strip(b"\0"):
                raise ArchiveError("it goes on after the mark of its end: it is damaged, or two archives in one")
            self.stream.seek(self.stream.tell())  # refused beyond the limit

    def _tar(self) -> Any:
        stream: Any = self.stream  # it has read, seek and tell; nothing else is called
        return tarfile.TarFile(fileobj=stream, mode="r", errorlevel=2, encoding="utf-8", errors="surrogateescape")


def _tar_member(info: tarfile.TarInfo) -> Member:
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE) or info.issparse():
        raise ArchiveError(f"{info.name!r} is a link, a device or a sparse file, not a regular one")
    if info.size < 0 or (info.isdir() and info.size):
        raise ArchiveError(f"{info.name!r} declares {info.size} bytes")
    return Member(info.name, info.size, info.isdir())


class _Bounded:
    """A stream that never gives much at once, nor more in all than the archive may unpack to."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.limit = 0

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _ONE_READ:
            raise ArchiveError("it holds a header of many megabytes")
        data: bytes = self.stream.read(size)
        return data

    def seek(self, place: int) -> int:
        if place > self.limit:
            raise ArchiveError("it unpacks to much more than its size allows")
        return int(self.stream.seek(place))

    def tell(self) -> int:
        return int(self.stream.tell())
