"""The frame of a page: escaped, self-contained, and allowed to load nothing."""

from __future__ import annotations

import html
import re

import pytest

from recolorist.report.page import chart, page


def test_the_title_is_text() -> None:
    assert "<title>&lt;script&gt; &amp; co</title>" in page("<script> & co", "")


def test_body_and_style_are_taken_as_they_are() -> None:
    made = page("a", "<p>hello</p>", ".mine { color: red; }")
    assert "<main>\n<p>hello</p>\n</main>" in made
    assert ".mine { color: red; }" in made.partition("</style>")[0]


def test_nothing_may_be_loaded_from_elsewhere() -> None:
    made = page("a", "")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', made)
    assert policy
    assert policy[1] == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert "<script" not in made
    assert "url(" not in made


def test_light_and_dark_follow_the_system() -> None:
    assert "prefers-color-scheme: dark" in page("a", "")


@pytest.mark.parametrize("title", ['" onload="alert(1)', "</title><script>", "a\nb", "\x00", "&lt;"])
def test_a_hostile_title_stays_inside_its_element(title: str) -> None:
    made = page(title, "<p>body</p>")
    inside = re.search(r"<title>(.*?)</title>", made, re.DOTALL)
    assert inside
    assert html.unescape(inside[1]) == html.unescape(html.escape(title))
    assert made.count("<title>") == 1
    assert "<script" not in made


def test_a_chart_can_be_scrolled_by_keyboard_and_keeps_its_content() -> None:
    assert chart("<svg>x</svg>") == '<div class="chart" tabindex="0"><svg>x</svg></div>'


def test_a_page_is_in_one_language_and_fits_a_telephone() -> None:
    head = page("a", "").partition("</head>")[0]
    assert '<html lang="en">' in head
    assert 'content="width=device-width, initial-scale=1"' in head
    assert head.index('charset="utf-8"') < head.index("<title>")
