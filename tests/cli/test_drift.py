"""`recolorist drift`: exit code 4 for a pipeline, reports, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.commands import picture, refused, run_here, run_json, shared_data


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
    assert (answer.json["overall"]["images"], answer.json["threshold_rule"]) == (20, "F")


def test_a_drifted_group_is_exit_code_4_only_if_asked(dark: Path, bank: Path) -> None:
    answer = run_here("drift", dark, "--bank", bank, "--fail-over", "0.3", "--json")
    assert (answer.code, answer.json["over"], answer.json["fail_over"]) == (4, True, 0.3)
    assert len(answer.json["outside"]) == 8
    assert run_here("drift", dark, "--bank", bank).code == 0


def test_another_microscope_is_drift(tmp_path: Path) -> None:
    blood = shared_data("blood")
    run_json("bank", "build", blood / "acevedo20", "--split", "train", "-o", tmp_path / "a.rcb")
    values = run_json("drift", blood, "--bank", tmp_path / "a.rcb", "--fail-over", "0.5", code=4)
    verdicts = {group["group"]: group["drifted"] for group in values["groups"]}
    assert verdicts == {"acevedo20": False, "zheng18_tecom": True}


def test_drift_goes_before_failed_files(dark: Path, bank: Path) -> None:
    (dark / "scanner" / "broken.png").write_bytes(b"nothing")
    for words, code in (([], 3), (["--fail-over", "0.3"], 4)):
        answer = run_here("drift", dark, "--bank", bank, "--json", *words)
        assert answer.code == code
        assert [failure["source"] for failure in answer.json["failures"]] == ["scanner/broken.png"]
        assert "broken.png" in answer.err


def test_people_read_a_verdict_for_each_group_and_the_farthest_images(dark: Path, bank: Path) -> None:
    answer = run_here("drift", dark, "--bank", bank)
    assert "drifted" in answer.out
    assert "all: most moved red: " in answer.out
    assert "darker" in answer.out
    assert "by the F distribution, since the bank is small" in answer.out
    assert answer.out.count("scanner/") == 5


def test_groups_are_optional(data: Path, bank: Path) -> None:
    told = run_here("drift", data, "--bank", bank, "--json", "--group-from", "none").json
    assert len(told["groups"]) <= 1
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
    [(["--coverage", "2"], "coverage"), (["--mask", "liver"], "--mask liver"), (["--plot", "p.png"], ".svg")],
)
def test_wrong_options_are_refused(data: Path, bank: Path, words: list[str], name: str) -> None:
    assert name in refused("drift", data, "--bank", bank, *words)
