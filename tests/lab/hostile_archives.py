"""Archives that nobody should unpack, made on the spot. Each holds a good file first, which a careless copier would write."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from typing import Final

GOOD: Final = ("good.txt", b"fine")
MEBI: Final = 1 << 20
Change = Callable[[zipfile.ZipInfo], None]


def zip_of(*names: str, change: Change | None = None, content: bytes = b"evil", method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(*GOOD)
        for name in names:
            info = zipfile.ZipInfo("placeholder")
            info.filename = name  # the constructor would tidy it
            info.compress_type = method
            if change:
                change(info)
            archive.writestr(info, content)
    return buffer.getvalue()


def zip_kind(mode: int, content: bytes = b"/etc/passwd") -> bytes:
    def change(info: zipfile.ZipInfo) -> None:
        info.create_system = 3
        info.external_attr = mode << 16

    return zip_of("odd", change=change, content=content)


def renamed_zip(name: bytes) -> bytes:
    """A zip with a name that Python's writer would change: the bytes are put in afterwards, in both places."""
    stand_in = "q" * len(name)
    return zip_of(stand_in).replace(stand_in.encode(), name)


def tar_of(*members: tarfile.TarInfo, content: bytes = b"evil", end: bool = True) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        first = tarfile.TarInfo(GOOD[0])
        first.size = len(GOOD[1])
        archive.addfile(first, io.BytesIO(GOOD[1]))
        for info in members:
            if info.isreg():
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    data = buffer.getvalue()
    return data if end else data.rstrip(b"\0") + b"\0" * (-len(data.rstrip(b"\0")) % 512)


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def many_entries(count: int) -> bytes:
    """A zip whose last record says that it has a million members."""
    data = bytearray(zip_of("a"))
    struct.pack_into("<HH", data, len(data) - 22 + 8, 0xFFFF, 0xFFFF)
    directory = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, 100, 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(data) - 22, 1)
    return bytes(data[:-22]) + directory + locator + bytes(data[-22:])


def long_directory() -> bytes:
    """One member, it says, in a directory of two gigabytes."""
    data = bytearray(zip_of("a"))
    struct.pack_into("<I", data, len(data) - 22 + 12, 2_000_000_000)
    return bytes(data)


def overlapping_zip() -> bytes:
    """Two members in the directory, one and the same content."""
    data = zip_of("aaaa", "bbbb")
    start = data.index(b"PK\1\2")
    entries = data[start:]
    places = [place for place in range(len(entries)) if entries.startswith(b"PK\1\2", place)]
    shared = bytearray(entries)
    offset = struct.unpack_from("<I", shared, places[1] + 42)[0]
    struct.pack_into("<I", shared, places[2] + 42, offset)
    return data[:start] + bytes(shared)


def nested_zip() -> bytes:
    """The second member, header and all, is the content of the first."""
    inner = zip_of("in.bin")
    entry_at, directory_at = inner.index(b"PK\3\4", 4), inner.index(b"PK\1\2")
    outer = zip_of("out.bin", content=inner[entry_at:directory_at])
    listed = inner[inner.index(b"PK\1\2", directory_at + 4) : inner.index(b"PK\5\6")]
    start, end = outer.index(b"PK\1\2"), outer.index(b"PK\5\6")
    moved = bytearray(listed)
    struct.pack_into("<I", moved, 42, outer.index(b"PK\3\4", outer.index(b"out.bin")))
    last = bytearray(outer[end:])
    struct.pack_into("<HHI", last, 8, 3, 3, end - start + len(moved))
    return outer[:end] + bytes(moved) + bytes(last)


def two_names_zip() -> bytes:
    """The directory says one name, the member itself another."""
    data = zip_of("safe.txt")
    start = data.index(b"PK\1\2")
    return data[:start].replace(b"safe.txt", b"../../up") + data[start:]


def lying_zip() -> bytes:
    """Declares four bytes and holds many."""
    data = zip_of("a.bin", content=bytes(MEBI), method=zipfile.ZIP_DEFLATED)
    return data.replace(struct.pack("<I", MEBI), struct.pack("<I", 4))


def broken_sum_zip() -> bytes:
    return zip_of("a.txt", content=b"original").replace(b"original", b"tampered", 1)


def huge_tar() -> bytes:
    """A header that declares half a terabyte."""
    info = entry("big.bin")
    info.size = 1 << 39
    return tar_of()[:1024] + info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def tar_with_long_header() -> bytes:
    """A name of a gigabyte, packed small: a reader that believes the header fills its memory."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    return gzip.compress(tar_of()[:1024] + info.tobuf(tarfile.GNU_FORMAT) + bytes(8 * MEBI))


def chain_of_links() -> bytes:
    return tar_of(entry("a", tarfile.SYMTYPE, "."), entry("a/b", tarfile.SYMTYPE, ".."), entry("a/b/evil"))


def sparse_tar() -> bytes:
    info = entry("sparse", tarfile.GNUTYPE_SPARSE)
    return tar_of()[:1024] + info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


#: What makes the archive, and a word of why it is refused.
CORPUS: Final[dict[str, tuple[Callable[[], bytes], str]]] = {
    "zip: up": (lambda: zip_of("../evil.txt"), "leaves its folder"),
    "zip: up from below": (lambda: zip_of("a/../../evil.txt"), "leaves its folder"),
    "zip: up and back within": (lambda: zip_of("a/../b.txt"), "leaves its folder"),
    "zip: to a sibling with the same beginning": (lambda: zip_of("../out-evil/x"), "leaves its folder"),
    "zip: absolute": (lambda: zip_of("/evil.txt"), "not a plain relative path"),
    "zip: network path": (lambda: zip_of("//host/share/evil.txt"), "not a plain relative path"),
    "zip: drive": (lambda: zip_of("C:/evil.txt"), "not a plain relative path"),
    "zip: drive without slash": (lambda: zip_of("C:evil.txt"), "not a plain relative path"),
    "zip: backslashes": (lambda: zip_of("..\\..\\evil.txt"), "not a plain relative path"),
    "zip: stream of a file": (lambda: zip_of("a.txt:hidden"), "not a plain relative path"),
    "zip: NUL in the name": (lambda: renamed_zip(b"a.txt\0.png"), "characters"),
    "zip: newline in the name": (lambda: zip_of("a\nb.txt"), "characters"),
    "zip: escape in the name": (lambda: zip_of("a\x1b[2J.txt"), "characters"),
    "zip: direction override": (lambda: zip_of("photo\u202egpj.exe"), "characters"),
    "zip: reserved name": (lambda: zip_of("data/NUL.txt"), "some systems change"),
    "zip: trailing dot": (lambda: zip_of("a./b"), "some systems change"),
    "zip: trailing space": (lambda: zip_of("a /b"), "some systems change"),
    "zip: empty part": (lambda: zip_of("a//b"), "some systems change"),
    "zip: name too long": (lambda: zip_of("x" * 300), "too long"),
    "zip: path too long": (lambda: zip_of("/".join(["y" * 100] * 20)), "too long"),
    "zip: same name twice": (lambda: zip_of("a.txt", "b.txt").replace(b"b.txt", b"a.txt"), "there twice"),
    "zip: names that differ in case": (lambda: zip_of("a.txt", "A.TXT"), "there twice"),
    "zip: names that differ in normal form": (lambda: zip_of("\u00e9.txt", "e\u0301.txt"), "there twice"),
    "zip: a file and a folder": (lambda: zip_of("a", "a/b.txt"), "lies in a file"),
    "zip: a folder and then a file": (lambda: zip_of("a/b.txt", "a"), "there twice"),
    "zip: link": (lambda: zip_kind(0o120777), "a link or a device"),
    "zip: device": (lambda: zip_kind(0o020666), "a link or a device"),
    "zip: pipe": (lambda: zip_kind(0o010666), "a link or a device"),
    "zip: bomb": (lambda: zip_of("a.bin", content=bytes(8 * MEBI), method=zipfile.ZIP_DEFLATED), "would unpack to"),
    "zip: bomb in bzip2": (lambda: zip_of("a.bin", content=bytes(8 * MEBI), method=zipfile.ZIP_BZIP2), "would unpack to"),
    "zip: a million members": (lambda: many_entries(1_000_000), "more than 500,000"),
    "zip: endless directory": (long_directory, "more than 500,000"),
    "zip: overlapping members": (overlapping_zip, "overlaps"),
    "zip: a member within another": (nested_zip, "overlaps"),
    "zip: two names": (two_names_zip, "differ"),
    "zip: lies about its size": (lying_zip, "CRC"),
    "zip: wrong checksum": (broken_sum_zip, "CRC"),
    "zip: cut off": (lambda: zip_of("a.txt", content=bytes(500))[:-30], "no directory"),
    "zip: encrypted": (lambda: zip_of("a.txt").replace(b"PK\1\2\x14\x03\x14\0\0", b"PK\1\2\x14\x03\x14\0\1"), "encrypted"),
    "tar: up": (lambda: tar_of(entry("../evil.txt")), "leaves its folder"),
    "tar: to a sibling with the same beginning": (lambda: tar_of(entry("../out-evil/x")), "leaves its folder"),
    "tar: absolute": (lambda: tar_of(entry("/evil.txt")), "not a plain relative path"),
    "tar: symbolic link": (lambda: tar_of(entry("a", tarfile.SYMTYPE, "/etc")), "a link"),
    "tar: link within": (lambda: tar_of(entry("a", tarfile.SYMTYPE, "good.txt")), "a link"),
    "tar: chain of links": (chain_of_links, "a link"),
    "tar: hard link": (lambda: tar_of(entry("a", tarfile.LNKTYPE, "/etc/passwd")), "a link"),
    "tar: hard link to a member": (lambda: tar_of(entry("a", tarfile.LNKTYPE, "good.txt")), "a link"),
    "tar: character device": (lambda: tar_of(entry("a", tarfile.CHRTYPE)), "a device"),
    "tar: block device": (lambda: tar_of(entry("a", tarfile.BLKTYPE)), "a device"),
    "tar: pipe": (lambda: tar_of(entry("a", tarfile.FIFOTYPE)), "a device"),
    "tar: sparse": (sparse_tar, "sparse"),
    "tar: same name twice": (lambda: tar_of(entry("a"), entry("a")), "there twice"),
    "tar: bytes that are no text": (lambda: tar_of(entry("a\udcff.txt")), "characters"),
    "tar: half a terabyte": (huge_tar, "would unpack to"),
    "tar: cut off in a member": (lambda: tar_of(entry("a"), content=bytes(2000))[:1800], "unexpected end"),
    "tar: cut off between members": (lambda: tar_of(entry("a"), end=False), "mark of its end"),
    "tar.gz: bomb": (lambda: gzip.compress(tar_of(entry("a"), content=bytes(16 * MEBI))), "would unpack to"),
    "tar.gz: header of a gigabyte": (tar_with_long_header, "header of many megabytes"),
    "tar.gz: cut off": (lambda: gzip.compress(tar_of(entry("a"), content=bytes(range(256)) * 50))[:-40], "ended before"),
    "tar.bz2: bomb": (lambda: bz2.compress(tar_of(entry("a"), content=bytes(16 * MEBI))), "would unpack to"),
    "tar.gz: holds itself no tar": (lambda: gzip.compress(gzip.compress(b"x" * 2000)), "header"),
    "neither": (lambda: b"<!DOCTYPE html><html>please log in</html>" * 40, "header"),
    "empty": (lambda: b"", "empty"),
}
