"""The frame of a page: escaped, self-contained, and allowed to load nothing."""

from __future__ import annotations

import re

from recolorist.report.page import page


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
