"""`recolorist match`: one file to another's colours, its reports, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

import recolorist as rc
from recolorist.io.images import read_image
from tests.commands import picture, refused, run_here, run_json

Pair = tuple[Path, Path]


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A tiled file that goes through in strips with --max-pixels 4000."""
    path = tmp_path / "large.tif"
    tifffile.imwrite(path, picture(0, (64, 80)), photometric="rgb", tile=(16, 16))
    return path


def test_json_holds_size_plan_and_audit(pair: Pair, tmp_path: Path) -> None:
    answer = run_here("match", *pair, "-o", tmp_path / "o.png", "--json")
    plan = rc.plan(rc.measure(picture(0)), rc.measure(picture(1)))
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["output"] == str(tmp_path / "o.png")
    assert answer.json["size"] == [37, 53]
    assert answer.json["plan"] == json.loads(plan.to_json())
    assert answer.json["audit"] == json.loads(rc.audit(picture(0), plan).to_json())


def test_plan_audit_and_triptych_are_written_beside_the_output(pair: Pair, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("plan.json", "audit.json", "three.png")}
    words = ["--save-plan", files["plan.json"], "--audit", files["audit.json"], "--triptych", files["three.png"]]
    values = run_json("match", *pair, "-o", tmp_path / "o.png", *words)
    assert np.array_equal(read_image(tmp_path / "o.png"), rc.match(picture(0), picture(1)))
    plan = rc.plan(rc.measure(picture(0)), rc.measure(picture(1)))
    assert rc.Plan.from_json(files["plan.json"].read_text("utf-8")) == plan
    assert json.loads(files["audit.json"].read_text("utf-8")) == values["audit"]
    assert read_image(files["three.png"]).shape == (37 + 42, 3 * 53 + 4 * 12, 3)


@pytest.mark.parametrize(("spread", "is_named"), [(20, False), (120, True)])
def test_much_clipping_names_the_option_that_limits_it(spread: int, is_named: bool, tmp_path: Path) -> None:
    ramp = np.tile(np.linspace(0, 1, 64), (48, 1))[..., None].repeat(3, axis=2)
    Image.fromarray((90 + 40 * ramp**4).astype(np.uint8)).save(tmp_path / "content.png")
    Image.fromarray((128 + spread * (2 * ramp - 1)).astype(np.uint8)).save(tmp_path / "style.png")
    answer = run_here("match", tmp_path / "content.png", tmp_path / "style.png", "-o", tmp_path / "o.png")
    assert ("--max-clip 0.02 limits it" in answer.out) is is_named
    assert "correlation of content and output, channels together: " in answer.out


def test_a_bank_and_one_of_its_domains(pair: Pair, bank: Path, tmp_path: Path) -> None:
    opened = rc.StyleBank.load(bank)
    for i, (name, domain) in enumerate(((str(bank), None), (f"{bank}:hospital_b", "hospital_b"))):
        run_json("match", pair[0], name, "-o", tmp_path / f"{i}.png")
        expected = rc.match(picture(0), opened.average(domain))
        assert np.array_equal(read_image(tmp_path / f"{i}.png"), expected)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--method", "covariance", "--strength", "0.5"], {"method": "covariance", "strength": 0.5}),
        (["--method", "histogram"], {"method": "histogram"}),
        (["--space", "lab", "--max-gain", "1.1"], {"space": "lab", "max_gain": 1.1}),
    ],
)
def test_options_are_those_of_the_library(pair: Pair, tmp_path: Path, words: list[str], options: dict[str, Any]) -> None:
    run_json("match", *pair, "-o", tmp_path / "o.png", *words)
    assert np.array_equal(read_image(tmp_path / "o.png"), rc.match(picture(0), picture(1), **options))


def test_masks(pair: Pair, tmp_path: Path) -> None:
    mask = np.zeros((37, 53), np.uint8)
    mask[5:30, 9:40] = 255
    Image.fromarray(mask).save(tmp_path / "m.png")
    masks = ["--mask", tmp_path / "m.png", "--style-mask", tmp_path / "m.png", "--apply-to", "mask"]
    run_json("match", *pair, "-o", tmp_path / "o.png", *masks)
    expected = rc.match(picture(0), picture(1), mask=mask, style_mask=mask, apply_to="mask")
    assert np.array_equal(read_image(tmp_path / "o.png"), expected)


def test_histograms_have_no_plan(pair: Pair, tmp_path: Path) -> None:
    words = ["match", *pair, "-o", tmp_path / "o.png", "--method", "histogram"]
    assert run_here(*words, "--json").json["plan"] is None
    (tmp_path / "o.png").unlink()
    sentence = refused(*words, "--save-plan", tmp_path / "p.json")
    assert "--method histogram has no plan" in sentence
    assert "--save-plan" in sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["-o", "--save-plan", "--audit", "--triptych"])
def test_a_file_that_exists_is_replaced_only_by_force(pair: Pair, tmp_path: Path, option: str) -> None:
    path = tmp_path / "there.png"
    path.write_bytes(b"of last week")
    words = [] if option == "-o" else ["-o", tmp_path / "o.png"]
    assert "there.png exists; pass" in refused("match", *pair, *words, option, path)
    assert path.read_bytes() == b"of last week"
    assert list(tmp_path.iterdir()) == [path]
    assert run_here("match", *pair, *words, option, path, "--force").code == 0
    assert path.read_bytes() != b"of last week"


def test_a_style_or_a_plan_is_needed_and_not_both(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(rc.plan(rc.measure(picture(0)), rc.measure(picture(1))).to_json(), "utf-8")
    plan = ["--plan", tmp_path / "p.json"]
    for words in ([pair[0]], [*pair, *plan]):
        assert "either a STYLE or --plan FILE" in refused("match", *words, "-o", tmp_path / "o.png", code=2)
    assert "only --apply-to" in refused("match", pair[0], *plan, "--space", "lab", "-o", tmp_path / "o.png", code=2)
    assert not (tmp_path / "o.png").exists()
    assert run_here("match", pair[0], *plan, "-o", tmp_path / "o.png").code == 0
    assert np.array_equal(read_image(tmp_path / "o.png"), rc.match(picture(0), picture(1)))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[1, 2]", b'{"format": "another"}'])
def test_a_file_that_is_no_plan_is_refused(pair: Pair, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.json").write_bytes(content)
    refused("match", pair[0], "--plan", tmp_path / "p.json", "-o", tmp_path / "o.png")
    assert not (tmp_path / "o.png").exists()


@pytest.mark.parametrize(
    ("words", "name"),
    [(["--method", "mean_sdt"], "--method mean_sdt"), (["--space", "cmyk"], "--space cmyk"),
     (["--strength", "7"], "--strength 7"), (["--max-gain", "-1"], "--max-gain -1"),
     (["--apply-to", "maks"], "--apply-to maks"), (["--mask", "none.png"], "none.png"),
     (["--eps-mode", "big"], "--eps-mode big"), (["--style-mask", "none.png"], "none.png")],
)  # fmt: skip
def test_wrong_options_are_refused_and_nothing_is_written(pair: Pair, tmp_path: Path, words: list[str], name: str) -> None:
    assert name in refused("match", *pair, "-o", tmp_path / "o.png", *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["--plan", "none.json"], ["none.png"]])
def test_a_style_or_plan_that_is_not_there_is_refused(pair: Pair, tmp_path: Path, words: list[str]) -> None:
    assert words[-1] in refused("match", pair[0], *words, "-o", tmp_path / "o.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["--quality", "101"], ["--bits", "99"]])
def test_a_number_outside_its_limits_is_refused(pair: Pair, tmp_path: Path, words: list[str]) -> None:
    assert words[0] in refused("match", *pair, "-o", tmp_path / "o.jpg", *words)


def test_an_unknown_suffix_is_refused(pair: Pair, tmp_path: Path) -> None:
    assert ".xyz" in refused("match", *pair, "-o", tmp_path / "o.xyz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--triptych", "--audit"])
def test_strips_have_neither_triptych_nor_audit(large: Path, pair: Pair, tmp_path: Path, option: str) -> None:
    words = ["match", large, pair[1], "-o", tmp_path / "o.tif", "--max-pixels", "4000"]
    assert "the output was written" in refused(*words, option, tmp_path / "extra")
    assert np.array_equal(read_image(tmp_path / "o.tif"), rc.match(read_image(large), picture(1)))
    assert not (tmp_path / "extra").exists()


def test_people_read_the_formula_and_the_size(pair: Pair, tmp_path: Path) -> None:
    answer = run_here("match", *pair, "-o", tmp_path / "o.png")
    assert (answer.code, answer.err) == (0, "")
    assert re.search(r"^R' = [\d.]+·R [+-] [\d.]+$", answer.out, re.MULTILINE)
    assert "53 x 37 pixels in" in answer.out


def test_flags_are_printed_for_people(pair: Pair, tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.full((9, 7, 3), 40, np.uint8))
    answer = run_here("match", tmp_path / "flat.npy", pair[1], "-o", tmp_path / "o.png")
    assert answer.code == 0
    assert "flat: a channel has one value only" in answer.out
    assert f"7 x 9 pixels in {tmp_path / 'o.png'}\n" in answer.out


def test_people_read_what_the_limits_cost(pair: Pair, tmp_path: Path) -> None:
    content, style = pair[0], tmp_path / "style.png"
    Image.fromarray(np.where(picture(1) > 128, 255, 0).astype(np.uint8)).save(style)
    plain = run_here("match", content, style, "--out", tmp_path / "plain.png")
    assert (plain.code, "to keep the limits" in plain.out) == (0, False)
    answer = run_here("match", content, style, "--out", tmp_path / "limited.png", "--max-clip", 0.001)
    assert answer.code == 0
    assert re.search(r"^to keep the limits: \d+% of the style's contrast, strength [01]\.\d\d$", answer.out, re.MULTILINE)
