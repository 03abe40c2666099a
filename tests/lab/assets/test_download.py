"""One transfer into one part: what is asked for, what is kept, and which error says that another try may help."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from recolorist_lab.assets.download import CutOffError, FetchError, Link, address, note_of, refuse_address, transfer
from recolorist_lab.data.cards import File
from recolorist_lab.data.registry import CARDS
from tests.lab.server import Server

HOST = "files.example.org"
DATA = bytes(range(256)) * 16
FILE = File("a.bin", f"https://{HOST}/a.bin", at_most=2 * len(DATA))


@pytest.fixture
def served(server: Server) -> Server:
    server.files[f"/{HOST}/a.bin"] = DATA
    return server


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "a.bin.part"


def begin(part: Path, data: bytes, *, url: str = FILE.url, etag: str | None = '"one"') -> None:
    """Write what an earlier try would have left."""
    part.write_bytes(data)
    note_of(part).write_text(json.dumps({"url": url, "etag": etag}))


def test_an_empty_part_is_filled_and_every_piece_is_counted(served: Server, link: Link, part: Path) -> None:
    ticks: list[tuple[str, int, int | None]] = []
    transfer(FILE, part, link, lambda *tick: ticks.append(tick))
    assert part.read_bytes() == DATA
    assert ticks[-1] == ("a.bin", len(DATA), len(DATA))
    assert json.loads(note_of(part).read_text()) == {"url": FILE.url, "etag": served.etag}


def test_a_begun_part_is_continued(served: Server, link: Link, part: Path) -> None:
    begin(part, DATA[:1000])
    transfer(FILE, part, link, lambda *_: None)
    assert part.read_bytes() == DATA
    assert [asked for _, asked in served.asked] == ["bytes=1000-"]


@pytest.mark.parametrize("kept", [{"url": f"https://{HOST}/b.bin"}, {"etag": None}])
def test_a_part_that_may_be_of_another_file_begins_again(
    kept: dict[str, str | None], served: Server, link: Link, part: Path
) -> None:
    begin(part, b"?" * 1000, url=kept.get("url") or FILE.url, etag=kept.get("etag", '"one"'))
    transfer(FILE, part, link, lambda *_: None)
    assert part.read_bytes() == DATA
    assert [asked for _, asked in served.asked] == [None]


def test_a_complete_part_asks_for_nothing(served: Server, link: Link, part: Path) -> None:
    begin(part, DATA)
    transfer(replace(FILE, bytes=len(DATA)), part, link, lambda *_: None)
    assert served.asked == []


def test_a_cut_off_transfer_keeps_what_came_and_may_be_tried_again(served: Server, link: Link, part: Path) -> None:
    served.cut_after = [1000]
    with pytest.raises(CutOffError, match="cut off after 1,000 of"):
        transfer(FILE, part, link, lambda *_: None)
    assert part.read_bytes() == DATA[:1000]


@pytest.mark.parametrize(("status", "kind"), [(503, CutOffError), (416, CutOffError), (404, FetchError)])
def test_only_a_busy_server_is_worth_another_try(
    status: int, kind: type[FetchError], served: Server, link: Link, part: Path
) -> None:
    served.answers[f"/{HOST}/a.bin"] = lambda handler: handler.plain(status, {"Content-Length": "0"}, b"")
    begin(part, DATA[:1000])
    with pytest.raises(FetchError, match=f"answered {status}") as caught:
        transfer(FILE, part, link, lambda *_: None)
    assert type(caught.value) is kind
    assert part.exists() == (status != 416)  # then what was there is no part of the file


def test_a_file_that_is_too_large_is_refused_before_it_comes(served: Server, link: Link, part: Path) -> None:
    assert served.port
    with pytest.raises(FetchError, match="should have at most 10 bytes; it is not downloaded"):
        transfer(replace(FILE, at_most=10), part, link, lambda *_: None)
    assert not part.exists()


def is_refused(url: str) -> bool:
    try:
        refuse_address(url)
    except FetchError:
        return True
    return False


class TestAddresses:
    @pytest.mark.parametrize(
        "url", ["http://a/b", "ftp://a/b", "file:///a", "https:///a", "https://u:p@a/b", "//a/b", "", "javascript:1"]
    )
    def test_refused(self, url: str) -> None:
        with pytest.raises(FetchError, match="https only"):
            refuse_address(url)

    def test_all_cards_pass(self) -> None:
        urls = [file.url for card in CARDS.values() for file in card.files]
        assert len(urls) > 30
        assert [url for url in urls if is_refused(url)] == []

    def test_mirror(self) -> None:
        assert address("https://a.org/b?c=1", None) == "https://a.org/b?c=1"
        assert address("https://a.org/b?c=1", "https://m.org") == "https://m.org/a.org/b?c=1"
