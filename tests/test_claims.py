"""Tables of measurements on the pages: every line is made from the figures that are committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.claims.pages import PAGES, lines_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", PAGES)
def test_every_line_of_a_result_stands_on_its_page(name: str) -> None:
    lines = lines_of(name)
    if lines is None:
        pytest.skip(f"benchmarks/results/claims/{name}.json was not measured")
    page = (ROOT / PAGES[name][0]).read_text(encoding="utf-8")
    assert lines
    assert [line for line in lines if line not in page] == []
