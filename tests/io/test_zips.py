"""The directory of a zip: how many members it declares, and what happens where it lists others."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from recolorist.io.zips import directory_of, refuse_lost_members


def made(count: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number}", "")
    return buffer.getvalue()


def test_entries_and_bytes() -> None:
    assert directory_of(io.BytesIO(made(3))) == (3, 3 * 47)


def test_a_zip_of_64_bits() -> None:
    """More members than 16 bits can count have a record of their own."""
    data = made(65_537)
    assert struct.unpack_from("<H", data, len(data) - 12) == (0xFFFF,)
    assert directory_of(io.BytesIO(data))[0] == 65_537
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        refuse_lost_members(archive)


def test_old_programs_count_modulo_65_536() -> None:
    with zipfile.ZipFile(io.BytesIO(made(3))) as archive:
        archive.filelist += archive.filelist[:1] * 65_536
        refuse_lost_members(archive)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_another_number_is_refused(count: int) -> None:
    data = bytearray(made(3))
    struct.pack_into("<H", data, len(data) - 12, count)
    with (
        zipfile.ZipFile(io.BytesIO(data)) as archive,
        pytest.raises(zipfile.BadZipFile, match=f"declares {count} members and lists 3"),
    ):
        refuse_lost_members(archive)


def test_zeros_in_the_last_record_are_no_empty_archive() -> None:
    data = made(3)
    with (
        zipfile.ZipFile(io.BytesIO(data[:-18] + bytes(18))) as archive,
        pytest.raises(zipfile.BadZipFile, match=f"lists no members, and {len(data) - 22} bytes lie before it"),
    ):
        refuse_lost_members(archive)


def test_an_empty_archive_lost_nothing() -> None:
    with zipfile.ZipFile(io.BytesIO(made(0))) as archive:
        refuse_lost_members(archive)


@pytest.mark.parametrize("data", [b"", b"PK\5\6", b"nothing" * 9])
def test_no_directory(data: bytes) -> None:
    with pytest.raises(zipfile.BadZipFile, match="no directory at its end"):
        directory_of(io.BytesIO(data))
