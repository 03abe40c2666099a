"""Downloads: https only, pinned, whole or not at all, resumable; a server that misbehaves gets nothing accepted."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from recolorist_lab.assets.download import FetchError, Link
from recolorist_lab.assets.fetch import RECORD, fetch
from recolorist_lab.data.cards import Card, File
from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import tarred, zipped
from tests.lab.server import Handler, Server

HOST = "files.example.org"
DATA = bytes(range(256)) * 800 + b"end"
MD5 = hashlib.md5(DATA, usedforsecurity=False).hexdigest()
SHA = hashlib.sha256(DATA).hexdigest()


def card_with(*files: File) -> Card:
    card = card_of("ddi")
    return replace(card, sources=(replace(card.sources[0], files=files, request=()),))


def pinned_file(name: str = "a.bin") -> File:
    return File(name, f"https://{HOST}/{name}", len(DATA), f"md5:{MD5}")


def open_file(name: str = "a.bin") -> File:
    return File(name, f"https://{HOST}/{name}", at_most=10 * len(DATA))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def served(server: Server) -> Server:
    server.files[f"/{HOST}/a.bin"] = DATA
    return server


class TestGood:
    def test_a_file_arrives_whole_under_its_name(self, served: Server, link: Link, tmp_path: Path) -> None:
        done = fetch(card_with(pinned_file()), tmp_path / "new" / "folder", link=link)
        assert done.files == ("a.bin",)
        assert (tmp_path / "new" / "folder" / "a.bin").read_bytes() == DATA
        assert names(tmp_path / "new" / "folder") == ["a.bin", RECORD]
        assert len(served.asked) == 1

    def test_progress_is_told(self, served: Server, link: Link, tmp_path: Path) -> None:
        assert served.port
        ticks: list[tuple[str, int, int | None]] = []
        fetch(card_with(pinned_file()), tmp_path, link=link, tick=lambda *progress: ticks.append(progress))
        assert ticks[-1] == ("a.bin", len(DATA), len(DATA))
        assert [done for _, done, _ in ticks] == sorted(done for _, done, _ in ticks)

    def test_what_is_there_and_right_is_not_asked_for_again(self, served: Server, link: Link, tmp_path: Path) -> None:
        fetch(card_with(pinned_file()), tmp_path, link=link)
        done = fetch(card_with(pinned_file()), tmp_path, link=link)
        assert (done.files, done.present) == ((), ("a.bin",))
        assert len(served.asked) == 1

    @pytest.mark.parametrize("file", [pinned_file(), open_file()], ids=["pinned", "recorded"])
    def test_what_is_there_and_wrong_is_noticed(self, file: File, served: Server, link: Link, tmp_path: Path) -> None:
        assert served.port
        fetch(card_with(file), tmp_path, link=link)
        (tmp_path / "a.bin").write_bytes(DATA[:-1] + b"?")
        with pytest.raises(FetchError, match="should have"):
            fetch(card_with(file), tmp_path, link=link)

    @pytest.mark.parametrize("extra", [b"", b"too long"])
    def test_a_size_alone_is_held_against_what_is_there(self, extra: bytes, served: Server, link: Link, tmp_path: Path) -> None:
        """As for Camelyon17, of which the size is known and no checksum."""
        file = replace(pinned_file(), checksum=None)
        (tmp_path / "a.bin").write_bytes(DATA[:-3] + extra)
        with pytest.raises(FetchError, match=f"should have {len(DATA):,}; it is not accepted"):
            fetch(card_with(file), tmp_path, link=link)
        assert served.asked == []

    def test_unpinned_files_are_recorded(self, served: Server, link: Link, tmp_path: Path) -> None:
        assert served.port
        fetch(card_with(open_file()), tmp_path, link=link)
        record = json.loads((tmp_path / RECORD).read_text())
        assert record["a.bin"] == {"bytes": len(DATA), "sha256": SHA, "url": f"https://{HOST}/a.bin"}

    def test_a_recorded_file_that_changed_at_its_source_is_refused(self, served: Server, link: Link, tmp_path: Path) -> None:
        fetch(card_with(open_file()), tmp_path, link=link)
        (tmp_path / "a.bin").unlink()
        served.files[f"/{HOST}/a.bin"] = DATA[:-1] + b"?"
        with pytest.raises(FetchError, match=f"should have {SHA}"):
            fetch(card_with(open_file()), tmp_path, link=link)
        assert names(tmp_path) == [RECORD]

    def test_archives_are_unpacked_once_and_then_dropped(self, server: Server, link: Link, tmp_path: Path) -> None:
        server.files[f"/{HOST}/a.zip"] = zipped({"x/y.txt": b"hello"})
        file = replace(open_file("a.zip"), name="archives/a.zip", unpack="place/a")
        fetch(card_with(file), tmp_path, link=link)
        assert (tmp_path / "place" / "a" / "x" / "y.txt").read_bytes() == b"hello"
        assert list((tmp_path / "archives").iterdir()) == []
        assert fetch(card_with(file), tmp_path, link=link).present == ("archives/a.zip",)
        assert len(server.asked) == 1

    def test_archives_may_be_kept(self, server: Server, link: Link, tmp_path: Path) -> None:
        server.files[f"/{HOST}/a.zip"] = zipped({"y.txt": b"hello"})
        fetch(card_with(replace(open_file("a.zip"), unpack="a")), tmp_path, link=link, keep_archives=True)
        assert (tmp_path / "a.zip").exists()
        assert (tmp_path / "a" / "y.txt").exists()

    def test_redirects_are_followed(self, served: Server, link: Link, tmp_path: Path) -> None:
        target = f"{served.mirror}/{HOST}/a.bin"
        served.answers[f"/{HOST}/moved.bin"] = lambda handler: handler.plain(302, {"Location": target, "Content-Length": "0"})
        fetch(card_with(replace(pinned_file(), url=f"https://{HOST}/moved.bin")), tmp_path, link=link)
        assert (tmp_path / "a.bin").read_bytes() == DATA

    def test_the_authority_may_come_from_the_environment(
        self, served: Server, link: Link, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RECOLORIST_CA", str(served.ca))
        fetch(card_with(pinned_file()), tmp_path, link=replace(link, ca=None))
        assert (tmp_path / "a.bin").read_bytes() == DATA


class TestResume:
    @pytest.mark.parametrize("cut", [*range(1, 50 * 4001, 4001), len(DATA) - 1])
    def test_cut_off_anywhere_it_goes_on(self, cut: int, served: Server, link: Link, tmp_path: Path) -> None:
        served.cut_after = [cut]
        fetch(card_with(pinned_file()), tmp_path, link=link)
        assert (tmp_path / "a.bin").read_bytes() == DATA
        assert [asked for _, asked in served.asked] == [None, f"bytes={cut}-"]

    def test_after_the_last_try_the_part_is_kept_for_the_next_command(self, served: Server, link: Link, tmp_path: Path) -> None:
        served.cut_after = [1000, 1000, 1000]
        with pytest.raises(
            FetchError, match=r"cut off after 3,000 of .*; what came is kept, and the same command goes on from there"
        ):
            fetch(card_with(pinned_file()), tmp_path, link=link)
        assert names(tmp_path) == ["a.bin.part", "a.bin.part.json"]
        fetch(card_with(pinned_file()), tmp_path, link=link)
        assert served.asked[-1][1] == "bytes=3000-"
        assert (tmp_path / "a.bin").read_bytes() == DATA
        assert names(tmp_path) == ["a.bin", RECORD]

    def test_a_file_that_changed_meanwhile_starts_again(self, served: Server, link: Link, tmp_path: Path) -> None:
        served.cut_after = [1000, 1000, 1000]
        with pytest.raises(FetchError):
            fetch(card_with(open_file()), tmp_path, link=link)
        served.etag, served.files[f"/{HOST}/a.bin"] = '"two"', DATA[::-1]
        fetch(card_with(open_file()), tmp_path, link=link)
        assert (tmp_path / "a.bin").read_bytes() == DATA[::-1]

    def test_without_tag_or_checksum_nothing_is_put_together(self, served: Server, link: Link, tmp_path: Path) -> None:
        served.etag, served.cut_after = None, [1000]
        fetch(card_with(open_file()), tmp_path, link=link)
        assert [asked for _, asked in served.asked] == [None, None]
        assert (tmp_path / "a.bin").read_bytes() == DATA

    def test_a_part_of_another_file_is_found_out(self, served: Server, link: Link, tmp_path: Path) -> None:
        assert served.port
        (tmp_path / "a.bin.part").write_bytes(b"?" * 1000)
        (tmp_path / "a.bin.part.json").write_text(json.dumps({"url": f"https://{HOST}/a.bin", "etag": '"one"'}))
        with pytest.raises(FetchError, match="has the md5"):
            fetch(card_with(pinned_file()), tmp_path, link=link)
        assert names(tmp_path) == []
        fetch(card_with(pinned_file()), tmp_path, link=link)
        assert (tmp_path / "a.bin").read_bytes() == DATA

    def test_a_whole_part_is_only_checked(self, served: Server, link: Link, tmp_path: Path) -> None:
        (tmp_path / "a.bin.part").write_bytes(DATA)
        (tmp_path / "a.bin.part.json").write_text(json.dumps({"url": f"https://{HOST}/a.bin", "etag": '"one"'}))
        fetch(card_with(pinned_file()), tmp_path, link=link)
        assert served.asked == []
        assert (tmp_path / "a.bin").read_bytes() == DATA

    def test_another_part_than_was_asked_for_is_refused(self, served: Server, link: Link, tmp_path: Path) -> None:
        served.cut_after = [1000, 1000, 1000]
        with pytest.raises(FetchError):
            fetch(card_with(pinned_file()), tmp_path, link=link)
        headers = {"Content-Range": f"bytes 500-{len(DATA) - 1}/{len(DATA)}", "Content-Length": str(len(DATA) - 500)}
        served.answers[f"/{HOST}/a.bin"] = lambda handler: handler.plain(206, headers, DATA[500:])
        with pytest.raises(FetchError, match="another part"):
            fetch(card_with(pinned_file()), tmp_path, link=link)

    def test_two_at_once_do_not_mix(self, served: Server, link: Link, tmp_path: Path) -> None:
        fcntl = pytest.importorskip("fcntl")
        assert served.port
        with (tmp_path / "a.bin.part").open("ab") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            with pytest.raises(FetchError, match="being downloaded by another process"):
                fetch(card_with(pinned_file()), tmp_path, link=link)


Bad = Callable[[Handler], None]


def _endless(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/octet-stream")
    handler.end_headers()
    try:
        for _ in range(10_000):
            handler.wfile.write(bytes(65_536))
    except OSError:
        pass


def _page(handler: Handler) -> None:
    body = b"<html>Google Drive cannot scan this file for viruses. Download anyway?</html>"
    handler.plain(200, {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}, body)


BAD: dict[str, tuple[Bad, str]] = {
    "too short": (lambda h: h.plain(200, {"Content-Length": "10"}, DATA[:10]), "would have 10 bytes"),
    "too long": (lambda h: h.plain(200, {"Content-Length": str(len(DATA) + 1)}, DATA + b"x"), "would have"),
    "wrong bytes": (lambda h: h.send_file(DATA[:-1] + b"?"), "has the md5"),
    "endless": (_endless, "does not end after"),
    "web page": (_page, "sent a web page instead"),
    "packed once more": (
        lambda h: h.plain(200, {"Content-Encoding": "gzip", "Content-Length": "3"}, b"abc"),
        "packed the file once more",
    ),
    "http": (lambda h: h.plain(302, {"Location": "http://127.0.0.1/a.bin", "Content-Length": "0"}), "https only"),
    "ftp": (lambda h: h.plain(301, {"Location": "ftp://127.0.0.1/a.bin", "Content-Length": "0"}), "https only"),
    "file": (lambda h: h.plain(307, {"Location": "file:///etc/passwd", "Content-Length": "0"}), "https only|is not allowed"),
    "password": (lambda h: h.plain(302, {"Location": "https://me:you@127.0.0.1/a", "Content-Length": "0"}), "https only"),
    "in circles": (lambda h: h.plain(302, {"Location": h.path, "Content-Length": "0"}), "answered 302"),
    "not found": (lambda h: h.send_error(404), "answered 404"),
    "forbidden": (lambda h: h.send_error(403), "answered 403"),
    "busy": (lambda h: h.send_error(503), "answered 503"),
    "silent": (lambda h: h.connection.close(), "cut off"),
}


class TestBad:
    @pytest.mark.parametrize("name", BAD)
    def test_nothing_is_accepted(self, name: str, server: Server, link: Link, tmp_path: Path) -> None:
        server.answers[f"/{HOST}/a.bin"], why = BAD[name]
        with pytest.raises(FetchError, match=why):
            fetch(card_with(pinned_file()), tmp_path, link=link)
        assert not (tmp_path / "a.bin").exists()
        assert not (tmp_path / RECORD).exists()

    @pytest.mark.parametrize("name", ["web page", "packed once more", "http", "busy"])
    def test_nor_where_nothing_is_pinned(self, name: str, server: Server, link: Link, tmp_path: Path) -> None:
        server.answers[f"/{HOST}/a.bin"], why = BAD[name]
        with pytest.raises(FetchError, match=why):
            fetch(card_with(open_file()), tmp_path, link=link)
        assert not (tmp_path / "a.bin").exists()

    @pytest.mark.parametrize("name", ["a.bin", "a.zip"])
    def test_a_body_without_a_length_is_refused_where_nothing_is_pinned(
        self, name: str, server: Server, link: Link, tmp_path: Path
    ) -> None:
        """A connection that was cut cannot be distinguished from the end of the file."""
        server.answers[f"/{HOST}/{name}"] = lambda h: h.plain(200, {"Connection": "close"}, zipped({"a.txt": b"x"}))
        with pytest.raises(FetchError, match="does not declare its length"):
            fetch(card_with(open_file(name)), tmp_path, link=link)
        assert names(tmp_path) == []

    @pytest.mark.parametrize("ending", ["zip", "npz", "tar.gz"])
    def test_wrong_bytes_of_an_archive_are_refused_where_nothing_is_pinned(
        self, ending: str, server: Server, link: Link, tmp_path: Path
    ) -> None:
        content = {"a.txt": bytes(range(256)) * 40}
        data = bytearray(tarred(content) if ending == "tar.gz" else zipped(content))
        data[len(data) // 2] ^= 1
        server.files[f"/{HOST}/a.{ending}"] = bytes(data)
        with pytest.raises(FetchError, match="has no known checksum and is not accepted"):
            fetch(card_with(open_file(f"a.{ending}")), tmp_path, link=link)
        assert names(tmp_path) == []

    def test_a_change_is_accepted_on_request(self, served: Server, link: Link, tmp_path: Path) -> None:
        fetch(card_with(open_file()), tmp_path, link=link)
        (tmp_path / "a.bin").unlink()
        served.files[f"/{HOST}/a.bin"] = DATA[::-1]
        with pytest.raises(FetchError, match=r"changed since its first download \(--accept-new"):
            fetch(card_with(open_file()), tmp_path, link=link)
        fetch(card_with(open_file()), tmp_path, link=link, accept_new=True)
        assert json.loads((tmp_path / RECORD).read_text())["a.bin"]["sha256"] == hashlib.sha256(DATA[::-1]).hexdigest()
        fetch(card_with(open_file()), tmp_path, link=link)

    def test_what_the_card_pins_holds_in_any_case(self, server: Server, link: Link, tmp_path: Path) -> None:
        server.files[f"/{HOST}/a.bin"] = DATA[::-1]
        with pytest.raises(FetchError, match="has the md5"):
            fetch(card_with(pinned_file()), tmp_path, link=link, accept_new=True)

    def test_a_file_put_there_by_hand_is_recorded(self, link: Link, tmp_path: Path) -> None:
        (tmp_path / "a.bin").write_bytes(DATA)
        fetch(card_with(open_file()), tmp_path, link=link)
        (tmp_path / "a.bin").write_bytes(DATA[::-1])
        with pytest.raises(FetchError, match="changed since"):
            fetch(card_with(open_file()), tmp_path, link=link)

    @pytest.mark.parametrize("text", ["[]", "3", '{"a.bin": []}', '{"a.bin": {"bytes": "many"}}', "[" * 100_000, '"', "\xff"])
    def test_a_record_of_another_kind_is_an_error(self, text: str, link: Link, tmp_path: Path) -> None:
        (tmp_path / RECORD).write_bytes(text.encode("latin-1"))
        with pytest.raises(FetchError, match="is damaged"):
            fetch(card_with(open_file()), tmp_path, link=link)

    def test_a_busy_server_is_asked_again(self, served: Server, link: Link, tmp_path: Path) -> None:
        def once(handler: Handler) -> None:
            del served.answers[f"/{HOST}/a.bin"]
            handler.send_error(503)

        served.answers[f"/{HOST}/a.bin"] = once
        fetch(card_with(pinned_file()), tmp_path, link=link)
        assert len(served.asked) == 2

    def test_one_that_says_no_is_not(self, server: Server, link: Link, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match="404"):
            fetch(card_with(pinned_file()), tmp_path, link=link)
        assert len(server.asked) == 1

    def test_a_page_named_as_an_archive_is_no_archive(self, server: Server, link: Link, tmp_path: Path) -> None:
        server.files[f"/{HOST}/a.zip"] = b"<html>please log in</html>"
        with pytest.raises(FetchError, match=r"does not begin as a \.zip file does"):
            fetch(card_with(open_file("a.zip")), tmp_path, link=link)
        assert names(tmp_path) == []

    def test_a_hostile_archive_leaves_no_folder(self, server: Server, link: Link, tmp_path: Path) -> None:
        server.files[f"/{HOST}/a.zip"] = zipped({"fine.txt": b"x", "../evil.txt": b"y"})
        with pytest.raises(FetchError, match="leaves its folder"):
            fetch(card_with(replace(open_file("a.zip"), unpack="a")), tmp_path, link=link)
        assert not (tmp_path / "a").exists()
        assert not (tmp_path.parent / "evil.txt").exists()

    def test_a_stranger_is_not_trusted(self, served: Server, link: Link, tmp_path: Path) -> None:
        assert served.port
        with pytest.raises(FetchError, match=r"certificate that is not trusted here.*--ca"):
            fetch(card_with(pinned_file()), tmp_path, link=replace(link, ca=None))

    def test_an_authority_that_cannot_be_read_is_said(self, served: Server, link: Link, tmp_path: Path) -> None:
        assert served.port
        with pytest.raises(FetchError, match="cannot be read as certificates"):
            fetch(card_with(pinned_file()), tmp_path, link=replace(link, ca=tmp_path / "none.pem"))

    def test_plain_http_is_never_asked(self, tmp_path: Path) -> None:
        """The guard against the network would raise another error if a connection were tried."""
        file = replace(pinned_file(), url=f"http://{HOST}/a.bin")
        with pytest.raises(FetchError, match="https only"):
            fetch(card_with(file), tmp_path)
        with pytest.raises(FetchError, match="https only"):
            fetch(card_with(pinned_file()), tmp_path, link=Link(mirror="http://127.0.0.1:9"))

    def test_a_damaged_record_is_said(self, served: Server, link: Link, tmp_path: Path) -> None:
        assert served.port
        (tmp_path / RECORD).write_text("{")
        with pytest.raises(FetchError, match="is damaged"):
            fetch(card_with(pinned_file()), tmp_path, link=link)


class TestGuard:
    """The fixture opens this machine's own address and nothing else."""

    def test_other_addresses_stay_refused(self, loopback: str) -> None:
        assert loopback == "127.0.0.1"
        with socket.socket() as one, pytest.raises(RuntimeError, match="without a network"):
            one.connect(("192.0.2.1", 9))
        with pytest.raises(RuntimeError, match="without a network"):
            socket.getaddrinfo("localhost", 80)

    def test_and_so_does_this_one_without_it(self) -> None:
        with socket.socket() as one, pytest.raises(RuntimeError, match="without a network"):
            one.connect(("127.0.0.1", 9))
