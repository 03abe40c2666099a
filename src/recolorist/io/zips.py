"""The directory of a zip, as its last record declares it. Python's zipfile reads the directory and never counts its entries."""

from __future__ import annotations

import struct
import zipfile
from typing import IO

__all__ = ["directory_of", "refuse_lost_members"]


def directory_of(file: IO[bytes]) -> tuple[int, int]:
    """Return the entries and bytes of the directory of a zip.

    Args:
        file: The open file; it is left at its start.

    Returns:
        The number of entries and their bytes. Old programs write the number modulo 65,536.

    Raises:
        zipfile.BadZipFile: There is no directory.
    """
    end = file.seek(0, 2)
    start = max(0, end - 65_557)
    file.seek(start)
    tail = file.read()
    place = tail.rfind(b"PK\5\6")
    if place < 0 or len(tail) < place + 22:
        raise zipfile.BadZipFile("it has no directory at its end: it is cut off, or no zip")
    count, length = struct.unpack_from("<HI", tail, place + 10)
    locator = tail.rfind(b"PK\6\7", 0, place)
    if locator >= 0 and (count == 0xFFFF or length == 0xFFFFFFFF):
        (offset,) = struct.unpack_from("<Q", tail, locator + 8)
        file.seek(min(offset, end))
        record = file.read(56)
        if len(record) == 56 and record.startswith(b"PK\6\6"):
            count, length = struct.unpack_from("<QQ", record, 32)
    file.seek(0)
    return int(count), int(length)


def refuse_lost_members(archive: zipfile.ZipFile) -> None:
    """Refuse a zip whose directory lists fewer or more members than it declares.

    One wrong bit in the length of an entry's comment makes the comment swallow the entries that follow.

    Args:
        archive: The archive, open for reading.

    Raises:
        zipfile.BadZipFile: The numbers differ, or both are zero and the file holds something.

    Example:
        >>> import io
        >>> buffer = io.BytesIO()
        >>> with zipfile.ZipFile(buffer, "w") as made:
        ...     made.writestr("a", "1")
        ...     made.writestr("b", "2")
        >>> data = bytearray(buffer.getvalue())
        >>> data[data.index(b"PK" + bytes([1, 2])) + 32] = 47  # the comment of a takes the entry of b
        >>> damaged = zipfile.ZipFile(io.BytesIO(data))
        >>> damaged.namelist()
        ['a']
        >>> refuse_lost_members(damaged)
        Traceback (most recent call last):
        zipfile.BadZipFile: its directory declares 2 members and lists 1; it is damaged, fetch it again
    """
    if archive.fp is None:
        return
    if not archive.infolist() and archive.start_dir:
        raise zipfile.BadZipFile(f"its directory lists no members, and {archive.start_dir:,} bytes lie before it; fetch it again")
    declared, found = directory_of(archive.fp)[0], len(archive.infolist())
    if declared % 65_536 != found % 65_536:
        raise zipfile.BadZipFile(
            f"its directory declares {declared:,} members and lists {found:,}; it is damaged, fetch it again"
        )
