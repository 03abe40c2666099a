"""`recolorist drift`: exit code 4 for a pipeline, reports, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.commands import picture, refused, run_here, run_json, run_process, shared_data


@pytest.fixture
def dark(tmp_path: Path) -> Path:
    folder = tmp_path / "dark" / "scanner"
    folder.mkdir(parents=True)
    for i in range(8):
        Image.fromarray(picture(i) // 5).save(folder / f"{i}.png")
    return folder.parent


def test_the_training_data_itself_is_inside(data: Path, bank: Path) -> None:
    answer = run_here("drift", data, "--bank", bank, "--json", "--fail-over", "0.3")
    assert (answer.code, answer.err, answer.json["over"], answer.json["overall"]["drifted"]) == (0, "", False, False)
    assert [group["group"] for group in answer.json["groups"]] == ["hospital_a", "hospital_b"]
    assert (answer.json["overall"]["images"], answer.json["threshold_rule"]) == (20, "small bank")


def test_a_drifted_group_is_exit_code_4_only_if_asked(dark: Path, bank: Path) -> None:
    answer = run_here("drift", dark, "--bank", bank, "--fail-over", "0.3", "--fail-least", 8, "--json")
    assert (answer.code, answer.json["over"], answer.json["fail_over"]) == (4, True, 0.3)
    assert answer.json["failed_groups"] == ["all"]
    assert len(answer.json["outside"]) == 8
    assert run_here("drift", dark, "--bank", bank, "--fail-shift", "3", "--fail-least", 8).code == 4
    for words in ([], ["--fail-over", "0.3"], ["--fail-shift", "3"], ["--fail-shift", "99", "--fail-least", 8]):
        assert run_here("drift", dark, "--bank", bank, *words).code == 0  # not asked, fewer than 20 images, not so far


def test_a_single_image_gets_its_distance_and_rank(dark: Path, bank: Path) -> None:
    answer = run_here("drift", dark / "scanner" / "0.png", "--bank", bank)
    assert "too few to judge" in answer.out
    assert "100% of the bank's images are nearer" in answer.out


def test_patients_are_named_by_a_pattern(dark: Path, bank: Path) -> None:
    words = ("drift", dark, "--bank", bank, "--json", "--patients")
    assert run_here(*words, r"\d").json["overall"]["shift_sds"] > 3
    assert "patients" in refused(*words, "(nobody)")
    assert "no regular expression" in refused(*words, "(")


def test_another_microscope_is_drift(tmp_path: Path) -> None:
    blood = shared_data("blood")
    run_json("bank", "build", blood / "acevedo20", "--split", "train", "-o", tmp_path / "a.rcb")
    values = run_json("drift", blood, "--bank", tmp_path / "a.rcb", "--fail-over", "0.5", code=4)
    verdicts = {group["group"]: group["drifted"] for group in values["groups"]}
    assert verdicts == {"acevedo20": False, "zheng18_tecom": True}


def test_drift_goes_before_failed_files(dark: Path, bank: Path) -> None:
    (dark / "scanner" / "broken.png").write_bytes(b"nothing")
    for words, code in (([], 3), (["--fail-over", "0.3"], 4)):
        answer = run_here("drift", dark, "--bank", bank, "--json", "--fail-least", 8, *words)
        assert answer.code == code
        assert [failure["source"] for failure in answer.json["failures"]] == ["scanner/broken.png"]
        assert "broken.png" in answer.err


def test_people_read_a_verdict_for_each_group_and_the_farthest_images(dark: Path, bank: Path) -> None:
    answer = run_here("drift", dark, "--bank", bank)
    assert "images outside, group shifted" in answer.out
    assert "fewer than 60 styles" in answer.out
    assert "all: largest change in red: " in answer.out
    assert "darker" in answer.out
    assert "the bank is small, so" in answer.out
    assert "outside, the farthest first (5 of 8):" in answer.out
    assert answer.out.count("scanner/") == 5


def test_a_verdict_is_printed_whole_on_a_narrow_terminal(dark: Path, bank: Path) -> None:
    """With a group of ten letters the last column was cut: "outside, grou"."""
    (dark / "eosinophil").symlink_to(dark / "scanner")
    out = run_process("drift", dark, "--bank", bank, "--follow-links", COLUMNS="80").out
    assert "eosinophil" in out
    assert max(len(line) for line in out.partition("chance:")[0].splitlines()) <= 80
    assert out.count("images outside") == out.count("group shifted") == 3
    assert "chance: how often as much or more is seen where nothing has changed; below 0.001 the verdict names it" in out


def test_groups_that_stayed_are_not_described(data: Path, bank: Path) -> None:
    out = run_here("drift", data, "--bank", bank).out
    assert "hospital_a: largest change in" not in out
    assert "all: largest change in" in out


def test_people_read_why_it_failed(dark: Path, bank: Path) -> None:
    words = ("drift", dark, "--bank", bank, "--fail-least", 8)
    assert "failed (exit code 4): all\n" in run_here(*words, "--fail-over", "0.3").out
    assert "failed" not in run_here(*words, "--fail-shift", "99").out


def test_the_smallest_alpha_can_still_be_reached(dark: Path, bank: Path) -> None:
    """No probability of a shift is below one over the number of resamples, so with that alpha nothing was ever shifted."""
    assert run_here("drift", dark, "--bank", bank, "--alpha", "0.00011", "--json").json["overall"]["group_shifted"]
    assert "above 0.0001" in refused("drift", dark, "--bank", bank, "--alpha", "0.0001")


def test_groups_are_optional(data: Path, bank: Path) -> None:
    summary = run_here("drift", data, "--bank", bank, "--json", "--group-from", "none").json
    assert len(summary["groups"]) <= 1
    assert "neither a whole number nor 'none'" in refused("drift", data, "--bank", bank, "--group-from", "x", code=2)


def test_reports_are_written_and_replaced_only_by_force(data: Path, bank: Path, tmp_path: Path) -> None:
    files = ["--lines", tmp_path / "l.jsonl", "--plot", tmp_path / "p.svg"]
    assert run_here("drift", data, "--bank", bank, *files).code == 0
    lines = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 20
    assert (tmp_path / "p.svg").read_text("utf-8").count("<svg") == 1
    (tmp_path / "l.jsonl").unlink()
    assert "p.svg exists; pass --force" in refused("drift", data, "--bank", bank, *files)
    assert not (tmp_path / "l.jsonl").exists()
    assert run_here("drift", data, "--bank", bank, *files, "--force").code == 0


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--coverage", "2"], "coverage"),
        (["--mask", "liver"], "--mask liver"),
        (["--plot", "p.png"], ".svg"),
        (["--fail-over", "5"], "--fail-over 5.0; accepted are numbers from 0 to 1"),  # 5 % is 0.05; 5 would never fail
        (["--fail-over", "nan"], "--fail-over nan"),
        (["--fail-shift", "-1"], "--fail-shift -1.0"),
        (["--fail-shift", "nan"], "--fail-shift nan"),
        (["--fail-least", "0"], "--fail-least 0; accepted are whole numbers from 1"),
    ],
)
def test_wrong_options_are_refused(data: Path, bank: Path, words: list[str], name: str) -> None:
    assert name in refused("drift", data, "--bank", bank, *words)
