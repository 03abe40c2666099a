"""The page of an audit: every flag with its worst images, failures named, names escaped."""

from __future__ import annotations

import html
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recolorist.collections import api
from recolorist.collections import audit_page as module
from recolorist.collections.audit_page import audit_page
from recolorist.collections.chunks import Failure
from recolorist.collections.flags import FLAGS
from recolorist.collections.options import SourceOptions
from recolorist.io.images import Reading
from tests.commands import picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two ordinary images, three flat ones, and a file that cannot be read."""
    place = tmp_path / "a <collection>"
    place.mkdir()
    for number in range(2):
        Image.fromarray(picture(number)).save(place / f"good{number}.png")
    for number in range(3):
        Image.fromarray(np.full((20, 30, 3), 40 * number + 60, np.uint8)).save(place / f"flat & {number}.png")
    (place / "broken.png").write_bytes(b"nothing")
    return place


def test_it_counts_flags_and_names_failures(folder: Path) -> None:
    page = audit_page(api.audit(folder), folder, Reading())
    assert re.search(r"5 images read, \d flagged, 1 could not be read\.", page)
    assert "<h2>flat" in page
    assert "Could not be read" in page
    assert "broken.png" in page


def test_flagged_images_are_shown_inside_the_page(folder: Path) -> None:
    page = audit_page(api.audit(folder), folder, Reading())
    gallery = page.partition("<h2>flat")[2].partition("</section>")[0]
    assert gallery.count('<img src="data:image/jpeg;base64,') == 3
    assert "flat &amp; 0.png" in gallery


def test_names_are_text(folder: Path) -> None:
    page = audit_page(api.audit(folder), folder, Reading())
    assert "a &lt;collection&gt;" in page
    assert "<collection>" not in page


def test_only_the_worst_are_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHOWN", 2)
    page = audit_page(api.audit(folder), folder, Reading())
    assert "the worst 2 of 3 images" in page


def test_an_image_that_is_gone_leaves_its_line(folder: Path) -> None:
    result = api.audit(folder)
    (folder / "flat & 1.png").unlink()
    gallery = audit_page(result, folder, Reading()).partition("<h2>flat")[2].partition("</section>")[0]
    assert gallery.count("<img ") == 2
    assert "flat &amp; 1<wbr>.png" in gallery


def test_clipping_is_drawn_where_a_bank_was_given(folder: Path) -> None:
    (folder / "broken.png").unlink()
    bank = api.build_bank(folder, split="train").bank
    page = audit_page(api.audit(folder, bank), folder, Reading())
    assert "<h2>Clipping</h2>" in page
    assert "Half of the images would lose" in page


def test_each_flag_says_what_to_do(folder: Path) -> None:
    page = re.sub(r'<span class="option">(.*?)</span>', r"\1", audit_page(api.audit(folder), folder, Reading()))
    for flag in ("flat", "blank", "saturated", "outlier"):
        assert html.escape(FLAGS[flag].remedy[1:]) in page
    assert "What to do:</strong>" in page.partition("<h2>flat")[2]


def test_lost_patches_are_outlined(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "broken.png").unlink()
    result = api.audit(folder, api.build_bank(folder, split="train").bank)
    result.lines[-1]["flags"] = ["detail_lost"]
    result.summary["flags"]["detail_lost"] = 1
    marks: list[object] = []

    def draw(*values: object) -> str:
        marks.append(values[3])
        return "data:,"

    monkeypatch.setattr(module, "data_uri", draw)
    page = audit_page(result, folder, Reading())
    assert result.lines[-1]["loss_map"] in marks
    assert "of the patches in the style of" in page


def test_names_break_at_separators() -> None:
    assert module._breakable("a/b_c.png") == "a/<wbr><span>b_<wbr>c<wbr>.png</span>"


@pytest.mark.parametrize(
    ("flag", "line", "words", "severity"),
    [
        ("clips", {"clip_new_median": 0.031, "clip_worst": 0.4}, "3.1&nbsp;% newly clipped, 40&nbsp;% in the worst", 0.031),
        (
            "detail_lost",
            {"loss_share": 0.25, "loss_style": "a<b.png"},
            "25 % of the patches in the style of <span>a&lt;b",
            0.25,
        ),
        ("saturated", {"at_white": [0.5, 0.2, 0.9]}, "20.0 % white in every channel", 0.2),
        ("outlier", {"mean": [0.5], "std": [0.1], "outlier_distance": 7.0}, "mean 128, SD 25.5", 7.0),
        ("flat", {"mean": [1.0, 0.0, 0.2], "std": [0.0, 0.02, 0.0]}, "mean 255 0 51, SD 0.0 5.1 0.0", -0.02),
    ],
)
def test_each_flag_has_its_figure_and_its_order(flag: str, line: dict[str, Any], words: str, severity: float) -> None:
    assert words in module._caption(line, flag)
    assert module._severity(flag, line) == severity


def test_flags_with_few_images_share_a_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = audit_page(api.audit(folder), folder, Reading())
    assert '<section class="card"><h2>flat' in page
    monkeypatch.setattr(module, "_FEW", 2)
    assert '<section class="card many"><h2>flat' in audit_page(api.audit(folder), folder, Reading())


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_images_behind_followed_links_have_their_pictures(tmp_path: Path) -> None:
    """The page listed the folder without following links, and left out the pictures of what it flagged."""
    (tmp_path / "in").mkdir()
    (tmp_path / "elsewhere").mkdir()
    Image.fromarray(picture(0)).save(tmp_path / "in" / "good.png")
    Image.new("RGB", (20, 30), "red").save(tmp_path / "elsewhere" / "flat.png")
    (tmp_path / "in" / "flat.png").symlink_to(tmp_path / "elsewhere" / "flat.png")
    select = SourceOptions(follow_links=True)
    result = api.audit(tmp_path / "in", follow_links=True)
    page = audit_page(result, tmp_path / "in", Reading(), select)
    assert page.count("<img ") == sum(len(line["flags"]) for line in result.lines) > 0


def test_a_collection_of_broken_files_only_has_a_page_without_charts(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"nothing")
    page = audit_page(api.audit(tmp_path), tmp_path, Reading())
    assert "0 images read, 0 flagged, 3 could not be read." in page
    assert "<svg" not in page
    assert "<img " not in page
    assert page.count("<li>") == 3


def test_a_list_of_failures_ends_somewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LISTED", 2)
    result = replace(api.audit(folder), failures=[Failure(f"{i}.png", "it is <broken>") for i in range(1002)])
    page = audit_page(result, folder, Reading())
    assert "and 1,000 more" in page
    assert page.count("it is &lt;broken&gt;") == 2


def test_grey_images_among_colour_ones_are_left_out_of_the_glance_and_not_of_the_page(tmp_path: Path) -> None:
    Image.fromarray(picture(0)).save(tmp_path / "a.png")
    Image.fromarray(picture(1)[..., 0]).save(tmp_path / "b.png")
    page = audit_page(api.audit(tmp_path), tmp_path, Reading())
    assert page.count("<circle") == 1
    assert "2 images read" in page


HOSTILE = ['"><img src=x onerror=alert(1)>.png', "'; alert(1); '.png", "line\nbreak.png", "\x1b[31mred.png", "&lt;b&gt;.png"]


@pytest.mark.skipif(os.name == "nt", reason="no file can be named so there")
@pytest.mark.parametrize("name", [*HOSTILE, "\udcff.png"])
def test_a_hostile_name_is_text_in_every_part_of_the_page(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "<b>folder"
    folder.mkdir()
    Image.new("RGB", (20, 30), "red").save(folder / name)
    (folder / f"broken {name}").write_bytes(b"nothing")
    page = audit_page(api.audit(folder), folder, Reading())
    page.encode("utf-8", "backslashreplace").decode("utf-8")
    elements = re.findall(r"<([a-z]+)\b([^>]*)>", re.sub(r'"data:[^"]*"', '"data:"', page))
    assert {tag for tag, _ in elements} <= TAGS
    assert not [attributes for _, attributes in elements if re.search(r"\bon[a-z]+\s*=", re.sub(r'"[^"]*"', '""', attributes))]
    assert page.count("<img ") == 2  # flat and blank
    assert "\x1b" not in page


#: What our own pages are made of; anything else came from a name.
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "header", "h1", "h2", "p", "section", "table", "thead", "tbody"}
TAGS |= {"tr", "th", "td", "div", "svg", "rect", "line", "text", "path", "circle", "ul", "li", "img", "span", "strong", "code"}
TAGS |= {"wbr"}
