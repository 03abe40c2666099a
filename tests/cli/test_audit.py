"""`recolorist audit`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from recolorist import collections
from recolorist.bank.style_bank import StyleBank
from tests.commands import refused, run_here, run_json


def test_json_is_the_summary_of_the_library_and_the_flagged_images(data: Path, bank: Path) -> None:
    result = collections.audit(data, StyleBank.load(bank))
    answer = run_here("audit", data, "--bank", bank, "--json")
    assert (answer.code, answer.err) == (0, "")
    expected = [{"source": line["source"], "flags": line["flags"]} for line in result.lines if line["flags"]]
    assert answer.json == {**result.summary, "images_flagged": expected, "failures": [], "ignored": {"kinds": {}, "links": []}}


def test_people_read_a_table_and_what_the_median_style_clips(data: Path, bank: Path) -> None:
    answer = run_here("audit", data, "--bank", bank)
    assert answer.code == 0
    assert answer.out.lstrip().startswith("20 images, ")
    assert re.search(r"blank\s+0\s+nothing in it", answer.out)
    assert "values clipped by the median style" in answer.out


def test_without_a_bank_nothing_is_said_of_clipping(data: Path) -> None:
    answer = run_here("audit", data)
    assert answer.code == 0
    assert not re.search(r"^\s*(clips|gain_capped)\s", answer.out, re.MULTILINE)
    assert "median style" not in answer.out


def test_lines_are_one_json_object_per_image(data: Path, tmp_path: Path) -> None:
    answer = run_here("audit", data, "--lines", tmp_path / "l.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text("utf-8").splitlines()]
    assert answer.code == 0
    assert lines == collections.audit(data).lines
    assert [path.name for path in tmp_path.iterdir()] == ["l.jsonl"]


def test_a_broken_file_is_named_and_the_rest_is_reported(with_broken: Path, tmp_path: Path) -> None:
    answer = run_here("audit", with_broken, "--json", "--lines", tmp_path / "l.jsonl", "--html", tmp_path / "r.html")
    assert answer.code == 3
    assert (answer.json["images"], answer.json["failed"]) == (4, 1)
    assert [failure["source"] for failure in answer.json["failures"]] == ["broken.png"]
    assert re.fullmatch(r"recolorist: .*broken\.png.*\n", answer.err)
    assert len((tmp_path / "l.jsonl").read_text("utf-8").splitlines()) == 4
    assert "broken.png" in (tmp_path / "r.html").read_text("utf-8")


def test_names_on_the_page_are_text_and_pictures_are_inside_it(data: Path, bank: Path, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    Image.new("RGB", (30, 20), (200, 30, 40)).save(folder / "<b>flat.png")
    (folder / "broken & bad.jpg").write_bytes(b"\xff\xd8\xff nothing")
    for source in list(data.rglob("*.png"))[:5]:
        (folder / source.name).write_bytes(source.read_bytes())
    words = ["--bank", bank, "--html", tmp_path / "r.html", "--lines", tmp_path / "l.jsonl"]
    values = run_json("audit", folder, *words, code=3)
    assert (values["images"], values["failed"], values["flags"]["flat"]) == (6, 1, 1)
    lines = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text("utf-8").splitlines()]
    assert [line["source"] for line in lines if "blank" in line["flags"]] == ["<b>flat.png"]
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "&lt;b&gt;flat.png" in page
    assert "<b>flat" not in page
    assert "broken &amp; bad.jpg" in page
    assert page.count("data:image/jpeg;base64,") >= 2
    assert not re.search(r"<script|https?://(?!www\.w3\.org/2000/svg)", page)
    assert re.search(r"blank\s+1", run_here("audit", folder, "--bank", bank).out)


@pytest.mark.parametrize("option", ["--lines", "--html"])
def test_a_report_that_exists_is_replaced_only_by_force(data: Path, tmp_path: Path, option: str) -> None:
    path = tmp_path / "report"
    path.write_text("of last week", "utf-8")
    assert "exists; pass --force" in refused("audit", data, option, path)
    assert path.read_text("utf-8") == "of last week"
    assert run_here("audit", data, option, path, "--force").code == 0
    assert path.read_text("utf-8") != "of last week"


def test_no_report_is_written_if_one_of_them_exists(data: Path, tmp_path: Path) -> None:
    (tmp_path / "r.html").touch()
    refused("audit", data, "--lines", tmp_path / "l.jsonl", "--html", tmp_path / "r.html")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    ("words", "name"),
    [(["--max-clip", "7"], "--max-clip 7"), (["--max-gain", "-1"], "--max-gain -1"), (["--mask", "liver"], "--mask liver"),
     (["--engine", "dask"], "--engine dask")],
)  # fmt: skip
def test_wrong_options_are_refused_before_anything_is_written(data: Path, tmp_path: Path, words: list[str], name: str) -> None:
    assert name in refused("audit", data, *words, "--lines", tmp_path / "l.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_source_or_bank_that_is_not_there_is_refused(data: Path, tmp_path: Path) -> None:
    assert "none" in refused("audit", tmp_path / "none")
    assert "none.rcb" in refused("audit", data, "--bank", tmp_path / "none.rcb")
