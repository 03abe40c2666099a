"""Unpacking: good archives arrive whole, and a bad member refuses the whole archive before anything is written."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from recolorist_lab.assets import archive_formats, archives
from recolorist_lab.assets.archives import ArchiveError, Caps, safe_name, unpack
from tests.lab.fakes.parts import tarred, zipped
from tests.lab.hostile_archives import CORPUS, entry, tar_of, zip_of

MEMBERS = {"a.txt": b"one", "deep/er/b.bin": bytes(range(256)) * 9, "deep/c.txt": b"", "ünï/ç.txt": "é".encode()}


def everything_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestCorpus:
    def test_is_large_enough(self) -> None:
        assert len(CORPUS) >= 40

    @pytest.mark.parametrize("name", CORPUS)
    def test_refused_and_nothing_written(self, name: str, tmp_path: Path) -> None:
        place = tmp_path / "place"
        place.mkdir()
        archive = tmp_path / "archive"
        make, why = CORPUS[name]
        archive.write_bytes(make())
        before = everything_below(tmp_path)
        with pytest.raises(ArchiveError, match=f"nothing of it was written: .*{why}"):
            unpack(archive, place / "out")
        assert everything_below(tmp_path) == before
        assert list(place.iterdir()) == []

    @pytest.mark.parametrize("name", CORPUS)
    def test_an_empty_target_stays_empty(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "archive").write_bytes(CORPUS[name][0]())
        (tmp_path / "out").mkdir()
        with pytest.raises(ArchiveError):
            unpack(tmp_path / "archive", tmp_path / "out")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "out"]
        assert list((tmp_path / "out").iterdir()) == []

    def test_without_its_bad_member_it_is_unpacked(self, tmp_path: Path) -> None:
        """The corpus is refused for what is bad in it, not for how it is made."""
        for number, data in enumerate((zip_of(), tar_of(), zip_of("plain.txt"), tar_of(entry("plain.txt")))):
            (tmp_path / f"{number}").write_bytes(data)
            unpack(tmp_path / f"{number}", tmp_path / f"out{number}")
            assert (tmp_path / f"out{number}" / "good.txt").read_bytes() == b"fine"


class TestGood:
    def test_zip(self, tmp_path: Path) -> None:
        (tmp_path / "a.zip").write_bytes(zipped(MEMBERS))
        assert unpack(tmp_path / "a.zip", tmp_path / "out") == len(MEMBERS)
        assert everything_below(tmp_path / "out") == MEMBERS

    def test_compressed_zip(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in MEMBERS.items():
                archive.writestr(name, content)
            archive.mkdir("empty")
        unpack(tmp_path / "a.zip", tmp_path / "out")
        assert everything_below(tmp_path / "out") == MEMBERS

    def test_tar_gz(self, tmp_path: Path) -> None:
        (tmp_path / "a.tar.gz").write_bytes(tarred(MEMBERS))
        unpack(tmp_path / "a.tar.gz", tmp_path / "out")
        assert everything_below(tmp_path / "out") == MEMBERS

    @pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_tar_with_long_names_and_dots(self, kind: int, tmp_path: Path) -> None:
        buffer = io.BytesIO()
        name = "./" + "/".join(["folder" * 4] * 5) + "/" + "n" * 60
        with tarfile.open(fileobj=buffer, mode="w", format=kind) as archive:
            archive.addfile(entry("./", tarfile.DIRTYPE))
            info = entry(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"abc"))
        (tmp_path / "a.tar.xz").write_bytes(lzma.compress(buffer.getvalue()))
        assert unpack(tmp_path / "a.tar.xz", tmp_path / "out") == 1
        assert everything_below(tmp_path / "out") == {name[2:]: b"abc"}

    def test_an_empty_folder_may_be_filled(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "a.zip").write_bytes(zipped(MEMBERS))
        unpack(tmp_path / "a.zip", tmp_path / "out")
        assert everything_below(tmp_path / "out") == MEMBERS

    def test_what_systems_leave_behind_is_not_written(self, tmp_path: Path) -> None:
        junk = {"__MACOSX/._a.txt": b"fork", "deep/.DS_Store": b"x", "Thumbs.db": b"y"}
        (tmp_path / "a.zip").write_bytes(zipped(MEMBERS | junk))
        assert unpack(tmp_path / "a.zip", tmp_path / "out") == len(MEMBERS)
        assert everything_below(tmp_path / "out") == MEMBERS

    def test_modes_of_the_archive_are_not_taken_over(self, tmp_path: Path) -> None:
        info = entry("run.sh")
        info.mode = 0o6777
        (tmp_path / "a.tar").write_bytes(tar_of(info))
        unpack(tmp_path / "a.tar", tmp_path / "out")
        assert not stat.S_IMODE((tmp_path / "out" / "run.sh").stat().st_mode) & 0o6111

    def test_a_repeated_folder_is_no_fault(self, tmp_path: Path) -> None:
        (tmp_path / "a.tar").write_bytes(tar_of(entry("d", tarfile.DIRTYPE), entry("d/a"), entry("d/", tarfile.DIRTYPE)))
        assert unpack(tmp_path / "a.tar", tmp_path / "out") == 2


class TestTarget:
    def test_a_folder_with_something_in_it_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.zip").write_bytes(zipped(MEMBERS))
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine.txt").write_text("keep")
        with pytest.raises(ArchiveError, match="not an empty folder"):
            unpack(tmp_path / "a.zip", tmp_path / "out")
        assert everything_below(tmp_path / "out") == {"mine.txt": b"keep"}

    def test_a_link_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.zip").write_bytes(zipped(MEMBERS))
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ArchiveError, match="not an empty folder"):
            unpack(tmp_path / "a.zip", tmp_path / "out")
        assert list((tmp_path / "elsewhere").iterdir()) == []

    @pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may write everywhere")
    def test_a_folder_that_cannot_be_written_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "a.zip").write_bytes(zipped(MEMBERS))
        (tmp_path / "locked").mkdir(mode=0o500)
        with pytest.raises(ArchiveError, match="cannot be unpacked"):
            unpack(tmp_path / "a.zip", tmp_path / "locked" / "out")

    def test_a_missing_archive_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ArchiveError, match="cannot be unpacked"):
            unpack(tmp_path / "nothing.zip", tmp_path / "out")


class TestCaps:
    def test_files(self, tmp_path: Path) -> None:
        members = {f"{number}.txt": b"x" for number in range(11)}
        for name, data in (("zip", zipped(members)), ("tar", tarred(members))):
            (tmp_path / name).write_bytes(data)
            with pytest.raises(ArchiveError, match="more than 10 members"):
                unpack(tmp_path / name, tmp_path / "out", Caps(files=10))
            assert unpack(tmp_path / name, tmp_path / f"out-{name}", Caps(files=11)) == 11

    def test_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(zipped({"a": bytes(600), "b": bytes(500)}))
        with pytest.raises(ArchiveError, match="would unpack to 1,100 bytes"):
            unpack(tmp_path / "a", tmp_path / "out", Caps(bytes=1000))
        assert unpack(tmp_path / "a", tmp_path / "out", Caps(bytes=1100)) == 2

    def test_ratio(self, tmp_path: Path) -> None:
        data = gzip.compress(tar_of(entry("a"), content=bytes(2 << 20)))
        (tmp_path / "a").write_bytes(data)
        with pytest.raises(ArchiveError, match=r"bytes or more from|much more than"):
            unpack(tmp_path / "a", tmp_path / "out")
        assert unpack(tmp_path / "a", tmp_path / "out", Caps(ratio=10_000)) == 2


class TestCopying:
    """The last line of defence, whatever the format's own reader lets through."""

    @pytest.mark.parametrize("size", [0, 2, 4, 1 << 30])
    def test_a_member_of_another_length_than_declared(self, size: int, tmp_path: Path) -> None:
        with pytest.raises(ArchiveError, match="bytes that it declares"):
            archives._write_file(tmp_path / "a", io.BytesIO(b"abc"), size, set())
        assert (tmp_path / "a").stat().st_size <= 3

    def test_of_the_same_length(self, tmp_path: Path) -> None:
        archives._write_file(tmp_path / "deep" / "a", io.BytesIO(b"abc"), 3, set())
        assert (tmp_path / "deep" / "a").read_bytes() == b"abc"

    def test_never_over_another(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"mine")
        with pytest.raises(FileExistsError):
            archives._write_file(tmp_path / "a", io.BytesIO(b"abc"), 3, set())

    def test_a_header_that_is_believed_would_fill_the_memory(self) -> None:
        stream = archive_formats._Bounded(io.BytesIO(bytes(100)))
        assert stream.read(50) == bytes(50)
        for size in (-1, 5 << 20):
            with pytest.raises(ArchiveError, match="header of many megabytes"):
                stream.read(size)
        with pytest.raises(ArchiveError, match="much more than its size allows"):
            stream.seek(1)


class TestNames:
    @pytest.mark.parametrize(
        "name", ["a", "a/b.png", "./a/b", "a/", "with space/x", "Ünï/ç", "a.b.c", "-dash", "auxiliary/console.txt"]
    )
    def test_accepted(self, name: str) -> None:
        assert "/".join(safe_name(name)) == name.removeprefix("./").rstrip("/")

    @pytest.mark.parametrize(
        "name", ["", "..", "a/..", "/", "a\0", "a\\b", "c:x", "a\u2028b", "aux", "com1.txt", " a", "a ", "a.", "\ud800"]
    )
    def test_refused(self, name: str) -> None:
        with pytest.raises(ArchiveError):
            safe_name(name)
