"""Archives with one wrong bit are refused, or unpacked with the right content: streams are read to the checksum at their end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from recolorist_lab.assets.archive_formats import ArchiveError, Caps, Member, open_tar, open_zip
from recolorist_lab.assets.archives import check_archive, unpack
from tests.full import full

NAME, CONTENT = "a.txt", bytes(range(256)) * 3


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo(NAME)
        info.size = len(CONTENT)
        archive.addfile(info, io.BytesIO(CONTENT))
    return buffer.getvalue()


def _zip(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(NAME, CONTENT)
    return buffer.getvalue()


MADE: dict[str, Callable[[], bytes]] = {
    "gzip, stored": lambda: gzip.compress(_tar(), 0, mtime=0),
    "gzip": lambda: gzip.compress(_tar(), 9, mtime=0),
    "bzip2": lambda: bz2.compress(_tar()),
    "xz": lambda: lzma.compress(_tar()),
    "zip, stored": lambda: _zip(zipfile.ZIP_STORED),
    "zip": lambda: _zip(zipfile.ZIP_DEFLATED),
}


@pytest.mark.parametrize("kind", MADE)
class TestDamage:
    def test_one_wrong_bit(self, kind: str, tmp_path: Path) -> None:
        """Half of the flips in a stored .tar.gz were unpacked with wrong bytes, because reading stopped before the checksum."""
        data, archive = MADE[kind](), tmp_path / "archive"
        wrong, refused = [], 0
        for bit in range(0, 8 * len(data), full(max(1, len(data) // 5) | 1, 1)):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            archive.write_bytes(changed)
            try:
                check_archive(archive)
                unpack(archive, tmp_path / f"out{bit}")
            except ArchiveError:
                refused += 1
                continue
            held = [path.read_bytes() for path in (tmp_path / f"out{bit}").iterdir()]
            wrong += [] if held == [CONTENT] else [bit]
        assert not wrong
        assert refused

    def test_cut_short(self, kind: str, tmp_path: Path) -> None:
        data, archive = MADE[kind](), tmp_path / "archive"
        for cut in (1, 2, 4, 6, 8, 9, 20, len(data) // 2):
            archive.write_bytes(data[:-cut])
            with pytest.raises(ArchiveError):
                check_archive(archive)
            with pytest.raises(ArchiveError, match="nothing of it was written"):
                unpack(archive, tmp_path / "out")
            assert not (tmp_path / "out").exists()

    def test_whole(self, kind: str, tmp_path: Path) -> None:
        (tmp_path / "archive").write_bytes(MADE[kind]())
        assert check_archive(tmp_path / "archive") == 1


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_wrong_bit_in_the_directory_of_a_zip(method: int, tmp_path: Path) -> None:
    """A comment that is longer by one bit swallowed the members that follow, and the rest was unpacked as if it were all."""
    buffer, contents = io.BytesIO(), {f"{name}.txt": name.encode() * 40 for name in "abc"}
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, content in contents.items():
            made.writestr(name, content)
    data, archive, wrong = buffer.getvalue(), tmp_path / "a.zip", []
    for bit in range(8 * data.index(b"PK\1\2"), 8 * len(data), full(5, 1)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        archive.write_bytes(changed)
        try:
            unpack(archive, tmp_path / f"out{bit}")
        except ArchiveError:
            continue
        held = {path.name: path.read_bytes() for path in (tmp_path / f"out{bit}").iterdir()}
        wrong += [] if held == contents else [bit]
    assert not wrong


def test_two_archives_in_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(_tar() + _tar())
    with pytest.raises(ArchiveError, match="goes on after the mark of its end"):
        check_archive(tmp_path / "a.tar")


def test_a_bomb_after_the_end_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(_tar() + bytes(80 << 20), 9))
    with pytest.raises(ArchiveError, match="much more than its size allows"):
        check_archive(tmp_path / "a.tar.gz", Caps(files=10))


def test_members_and_contents() -> None:
    for data, opener in ((_tar(), lambda file: open_tar(file, len(_tar()))), (_zip(zipfile.ZIP_STORED), open_zip)):
        opened = opener(io.BytesIO(data))
        assert list(opened.members(Caps())) == [Member(NAME, len(CONTENT), folder=False)]
        assert [(name, content.read()) for name, content in opened.contents()] == [(NAME, CONTENT)]
