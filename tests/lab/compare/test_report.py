"""All files of a report say the same, and names of hospitals cannot break a page."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np

from recolorist_lab.compare.report import plain_text, write_report
from tests.lab.compare.conftest import made

BASE = np.array([[0.60, 0.62], [0.55, 0.57]])


def test_files_and_their_numbers(tmp_path: Path) -> None:
    comparison = made({"none": BASE, "colorist": BASE + 0.1})
    files = write_report(comparison, tmp_path)
    assert [path.name for path in files] == ["report.md", "report.html", "compare.png", "results.json"]
    numbers = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert np.allclose(numbers["methods"][1]["unseen"], BASE + 0.1)
    assert (tmp_path / "compare.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "report.md").read_text("utf-8")
    for text in (page, plain_text(comparison), (tmp_path / "report.html").read_text("utf-8")):
        assert "+10.0 (+10.0 to +10.0)" in text
        assert "What cannot be concluded" in text


def test_pages_begin_with_the_conclusions(tmp_path: Path) -> None:
    write_report(made({"none": BASE, "colorist": BASE + 0.1}), tmp_path)
    for name, picture in (("report.md", "compare.png"), ("report.html", "<img")):
        page = (tmp_path / name).read_text("utf-8")
        places = [
            page.index(text) for text in ("What can be concluded", picture, "unseen hospital</th>" if "<" in picture else "|")
        ]
        assert places == sorted(places)
    assert "<h1>Does it help?</h1>" in (tmp_path / "report.html").read_text("utf-8")


def test_names_are_escaped(tmp_path: Path) -> None:
    comparison = made({"none": BASE, "colorist": BASE})
    named = dataclasses.replace(comparison, targets=("<b>a|b", "c"), images={"<b>a|b": 1, "c": 2})
    write_report(named, tmp_path)
    assert "<b>a" not in (tmp_path / "report.html").read_text("utf-8")
    assert "| <b>a/b | c |" in (tmp_path / "report.md").read_text("utf-8")
