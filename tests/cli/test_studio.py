"""`recolorist studio`: the page is written whole, over nothing, and opened if asked."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

import recolorist.studio
from tests.commands import refused, run_here

PAGE = "<!doctype html><title>page</title>"


@pytest.fixture(autouse=True)
def _short_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page itself is tested in `tests/studio`."""
    monkeypatch.setattr(recolorist.studio, "page", lambda: PAGE)


def test_writes_the_page_and_says_where(tmp_path: Path) -> None:
    answer = run_here("studio", "-o", tmp_path / "s.html")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{(tmp_path / 's.html').resolve()} (0.0 MB)")
    assert (tmp_path / "s.html").read_text("utf-8") == PAGE


def test_a_page_that_exists_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "s.html"
    path.write_text("mine", "utf-8")
    assert "--force" in refused("studio", "-o", path)
    assert path.read_text("utf-8") == "mine"
    assert run_here("studio", "-o", path, "--force").code == 0
    assert path.read_text("utf-8") == PAGE
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "choose an existing, writable folder" in refused("studio", "-o", tmp_path / "none" / "s.html")


@pytest.mark.parametrize("has_browser", [True, False])
def test_opens_a_browser_only_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_browser: bool) -> None:
    opened: list[str] = []

    def open_page(address: str) -> bool:
        opened.append(address)
        return has_browser

    monkeypatch.setattr(webbrowser, "open", open_page)
    run_here("studio", "-o", tmp_path / "a.html")
    assert opened == []
    answer = run_here("studio", "-o", tmp_path / "b.html", "--open")
    assert answer.code == 0
    assert opened == [(tmp_path / "b.html").resolve().as_uri()]
    assert ("open the file by hand" in answer.err) is not has_browser
