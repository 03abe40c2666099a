"""`recolorist bank`: files whole or not at all, and refusals before the work is done."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recolorist import collections
from recolorist.bank.style_bank import StyleBank
from tests.commands import picture, refused, run_here, run_json, shared_data


def test_build_writes_the_bank_of_the_library(data: Path, tmp_path: Path) -> None:
    words = ["--split", "train", "--name", "tiles", "--domain-from", "0", "--preprocessing", "none"]
    answer = run_here("bank", "build", data, "-o", tmp_path / "b.rcb", *words, "--json")
    expected = collections.build_bank(data, split="train", name="tiles", domain_from=0, preprocessing="none").bank
    assert (answer.code, answer.err) == (0, "")
    assert StyleBank.load(tmp_path / "b.rcb").fingerprint == expected.fingerprint == answer.json["fingerprint"]
    assert answer.json["failures"] == []


def test_processes_info_merge_and_plot(data: Path, bank: Path, tmp_path: Path) -> None:
    built = run_json("bank", "build", data, "-o", tmp_path / "a.rcb", "--domain-from", "0", "--split", "train", "-j", "2")
    assert (built["styles"], built["failures"]) == (20, [])
    assert built["fingerprint"] == StyleBank.load(bank).fingerprint
    info = run_json("bank", "info", tmp_path / "a.rcb")
    assert (info["labels"], list(info["domains"])) == ({"benign": 10, "malignant": 10}, ["hospital_a", "hospital_b"])
    assert run_json("bank", "merge", tmp_path / "a.rcb", bank, "-o", tmp_path / "b.rcb")["styles"] == 40
    run_json("bank", "plot", bank, "-o", tmp_path / "p.svg")
    chart = (tmp_path / "p.svg").read_text("utf-8")
    assert chart.count('r="3.2"') == 40  # 20 styles in each of two panels
    assert "hospital_b" in chart
    assert "<script" not in chart


def test_a_json_bank_for_the_page(data: Path, bank: Path, tmp_path: Path) -> None:
    run_json("bank", "build", data, "-o", tmp_path / "a.json", "--split", "train")
    values = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert (values["format"], values["count"]) == ("recolorist.bank/2", 20)
    assert StyleBank.open(tmp_path / "a.json").keys == StyleBank.load(bank).keys


def test_real_images_in_one_archive(tmp_path: Path) -> None:
    archive = shared_data("medmnist") / "pathmnist_test718_28.npz"
    with np.load(archive) as arrays:
        split = next(name.removesuffix("_images") for name in arrays.files if name.endswith("_images"))
    values = run_json("bank", "build", archive, "--split", split, "-o", tmp_path / "p.rcb")
    assert (values["styles"], values["blank_left_out"]) == (678, 40)
    assert run_json("bank", "build", archive, "--split", split, "-o", tmp_path / "q.rcb", "--with-blank")["styles"] == 718


def test_kathers_empty_tiles_are_left_out_and_named(tmp_path: Path) -> None:
    tiles = shared_data("histology") / "kather2016"
    answer = run_here("bank", "build", tiles, "-o", tmp_path / "k.rcb", "--split", "train")
    assert "21 styles" in answer.out
    assert "3 blank image(s) left out: 08_EMPTY/" in answer.out
    text = run_here("bank", "info", tmp_path / "k.rcb").out
    assert "measured: all pixels" in text
    assert "blank images: left out (3)" in text
    assert "preparation: not recorded" in text


def test_build_leaves_outliers_out_if_asked(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    for i in range(12):
        Image.fromarray(picture(0) // 2 + i).save(folder / f"{i}.png")
    Image.new("RGB", (30, 20), (255, 255, 255)).save(folder / "blank.png")
    kept, dropped = (run_here("bank", "build", folder, "-o", tmp_path / name, "--json", "--with-blank", *words).json["styles"]
                     for name, words in (("a.rcb", []), ("b.rcb", ["--drop-outliers"])))  # fmt: skip
    assert kept == 13
    assert dropped < 13
    assert "blank.png" not in StyleBank.load(tmp_path / "b.rcb").keys


def test_a_failed_image_gives_exit_code_3_and_a_bank_of_the_rest(with_broken: Path, tmp_path: Path) -> None:
    (with_broken / "broken.png").rename(with_broken / "bro\nken.png")
    answer = run_here("bank", "build", with_broken, "-o", tmp_path / "b.rcb")
    assert answer.code == 3
    assert answer.out.startswith("4 styles, ")
    assert re.fullmatch(r"recolorist: .*bro\\nken\.png.*\n", answer.err)
    assert len(StyleBank.load(tmp_path / "b.rcb")) == 4


@pytest.mark.parametrize("name", ["b.rcb", "b.json"])
@pytest.mark.parametrize("command", ["build", "merge", "share"])
def test_a_bank_that_exists_is_replaced_only_by_force(data: Path, bank: Path, tmp_path: Path, command: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"of last week")
    choices: dict[str, list[object]] = {"build": [data], "merge": [bank, bank], "share": [bank, "--at-least", "1"]}
    words = choices[command]
    assert "exists; pass --force" in refused("bank", command, *words, "-o", path)
    assert path.read_bytes() == b"of last week"
    assert run_here("bank", command, *words, "-o", path, "--force").code == 0
    assert len(StyleBank.open(path)) >= 1
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_a_folder_that_is_not_there_is_refused_with_a_sentence(bank: Path, tmp_path: Path) -> None:
    for name in ("b.rcb", "b.json"):
        assert "none" in refused("bank", "merge", bank, bank, "-o", tmp_path / "none" / name)
    assert list(tmp_path.iterdir()) == []


def test_banks_that_do_not_go_together_are_refused(bank: Path, tmp_path: Path) -> None:
    grey = np.stack([picture(i, channels=1) for i in range(3)])
    StyleBank.build(list(grey), split="train").save(tmp_path / "grey.rcb")
    assert "channel" in refused("bank", "merge", bank, tmp_path / "grey.rcb", "-o", tmp_path / "both.rcb")
    assert not (tmp_path / "both.rcb").exists()


def test_a_file_that_is_no_bank_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.rcb").write_bytes(b"nothing")
    for command in (["info"], ["plot", "-o", tmp_path / "p.svg"], ["share", "-o", tmp_path / "s.rcb"]):
        assert "b.rcb" in refused("bank", command[0], tmp_path / "b.rcb", *command[1:])
    assert [path.name for path in tmp_path.iterdir()] == ["b.rcb"]


def test_info_lists_domains_labels_and_outliers(bank: Path) -> None:
    opened = StyleBank.load(bank)
    summary = run_here("bank", "info", bank, "--json").json
    assert summary == json.loads(json.dumps(opened.summary())) | {"outlier_keys": [opened.keys[row] for row in opened.outliers()]}
    answer = run_here("bank", "info", bank)
    assert re.search(r"hospital_b\s+10\s+[\d.]+ +[\d.]+ +[\d.]+", answer.out)
    assert "labels: benign 10, malignant 10" in answer.out
    assert f"outliers: {len(summary['outlier_keys'])}" in answer.out


def test_plot_is_svg_and_nothing_else(bank: Path, tmp_path: Path) -> None:
    assert ".svg" in refused("bank", "plot", bank, "-o", tmp_path / "p.png")
    answer = run_here("bank", "plot", bank, "-o", tmp_path / "p.svg", "--json")
    assert answer.json == {"picture": str(tmp_path / "p.svg")}
    before = (tmp_path / "p.svg").read_bytes()
    assert before.startswith(b"<svg")
    assert "exists" in refused("bank", "plot", bank, "-o", tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_bytes() == before


def test_share_reports_what_it_left_out(bank: Path, tmp_path: Path) -> None:
    answer = run_here("bank", "share", bank, "-o", tmp_path / "s.rcb", "--json", "--step", "64", "--no-domains")
    shared = StyleBank.load(tmp_path / "s.rcb")
    assert (answer.code, answer.json["styles"]) == (0, len(shared))
    assert answer.json["alone_after"] <= answer.json["alone_before"]
    assert not (set(shared.keys) & set(StyleBank.load(bank).keys))
    assert len(shared.domains) == 0


@pytest.mark.parametrize("words", [["--step", "-1"], ["--step", "65"], ["--at-least", "0"], ["--at-least", "1000"]])
def test_share_refuses_what_cannot_be_done(bank: Path, tmp_path: Path, words: list[str]) -> None:
    assert words[0].strip("-").replace("-", "_").partition("_")[0] in refused("bank", "share", bank, "-o", tmp_path / "s", *words)
    assert list(tmp_path.iterdir()) == []
