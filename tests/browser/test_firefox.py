"""The same page in a real Firefox: the library's bytes in every method and space, banks, draws and a contact sheet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

import recolorist as rc
from recolorist import studio
from tests.browser.firefox import Firefox, find
from tests.browser.pairs import FEW, fingerprint, narrow_noise, noise, slides
from tests.browser.studio_page import StudioPage, save

if TYPE_CHECKING:
    from tests.browser.chromium import Chromium


@pytest.fixture
def page(tmp_path: Path, loopback: str) -> Iterator[StudioPage]:  # noqa: ARG001 - the browser listens on 127.0.0.1
    program = find()
    if program is None:
        pytest.skip("no Firefox here; install one (Debian: apt install firefox-esr) or name it in RECOLORIST_FIREFOX")
    profile = tmp_path / "firefox"
    profile.mkdir()
    with Firefox(program, profile) as browser:
        opened = StudioPage(cast("Chromium", browser), studio.write(tmp_path / "studio.html"))  # the gestures used are the same
        opened.open()
        yield opened


def test_the_page_gives_the_library_s_bytes_and_draws_from_a_bank(page: StudioPage, tmp_path: Path) -> None:
    content, style = slides()
    page.load(save(tmp_path / "content.png", content), save(tmp_path / "style.png", style))
    answers = page.fingerprints(*FEW)
    assert [one for one, answer in zip(FEW, answers, strict=True) if answer != fingerprint(one.match(content, style))] == []

    page.open()
    bank = rc.StyleBank.build([noise(), narrow_noise(), *slides()], keys=list("abcd"), name="four", split="train")
    page.browser.choose("#bank-file", bank.save(tmp_path / "bank.rcb"))
    page.browser.wait("document.querySelector('#bank-name').textContent === 'four: 4 styles'")
    page.browser.click("#draw")
    page.browser.wait("document.querySelectorAll('#sheet .cell').length === 30")
    assert page.message() == ""
