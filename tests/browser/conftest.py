"""One browser and one page for all browser tests of a process; skipped, with the reason, where there is no browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recolorist import studio
from tests.browser.chromium import Chromium, find
from tests.browser.studio_page import StudioPage


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioPage]:
    program = find()
    if program is None:
        pytest.skip("no Chromium here; install one (Debian: apt install chromium) or name it in RECOLORIST_CHROMIUM")
    file = studio.write(tmp_path_factory.mktemp("studio") / "studio.html")
    with Chromium(program, tmp_path_factory.mktemp("chromium")) as browser:
        yield StudioPage(browser, file)


@pytest.fixture
def page(opened: StudioPage) -> StudioPage:
    """The page as somebody finds it."""
    opened.open()
    return opened
