"""Every command as people run it, on a small collection."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist import collections as batch
from recolorist.io.images import read_image
from tests.commands import collection, contents, done, picture, recolorist, shared_data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return collection(tmp_path_factory.mktemp("data"), 24)


@pytest.fixture(scope="module")
def bank(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bank") / "train.rcb"
    batch.build_bank(data, split="train", domain_from=0).bank.save(path)
    return path


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pair")
    for i in (0, 1):
        Image.fromarray(picture(i)).save(folder / f"{i}.png")
    return folder / "0.png", folder / "1.png"


class TestMatch:
    def test_everything_at_once(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        files = {name: tmp_path / name for name in ("plan.json", "audit.json", "three.png")}
        words = ["--save-plan", files["plan.json"], "--audit", files["audit.json"], "--triptych", files["three.png"]]
        told = done("match", *pair, "-o", tmp_path / "o.png", *words)
        assert np.array_equal(read_image(tmp_path / "o.png"), rc.match(picture(0), picture(1)))
        plan = rc.plan(rc.measure(picture(0)), rc.measure(picture(1)))
        assert rc.Plan.from_json(files["plan.json"].read_text("utf-8")) == plan
        assert told["plan"] == json.loads(plan.to_json())
        assert (
            json.loads(files["audit.json"].read_text("utf-8"))
            == told["audit"]
            == json.loads(rc.audit(picture(0), plan).to_json())
        )
        assert read_image(files["three.png"]).shape == (37 + 42, 3 * 53 + 4 * 12, 3)

    def test_a_saved_plan(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        plan = rc.plan(rc.measure(picture(3)), rc.measure(picture(1)), "ycbcr")
        (tmp_path / "plan.json").write_text(plan.to_json(), "utf-8")
        done("match", pair[0], "--plan", tmp_path / "plan.json", "-o", tmp_path / "o.png")
        assert np.array_equal(read_image(tmp_path / "o.png"), rc.apply(picture(0), plan))

    def test_a_bank_and_one_of_its_domains(self, pair: tuple[Path, Path], bank: Path, tmp_path: Path) -> None:
        opened = rc.StyleBank.load(bank)
        for i, (name, domain) in enumerate(((str(bank), None), (f"{bank}:hospital_b", "hospital_b"))):
            done("match", pair[0], name, "-o", tmp_path / f"{i}.png")
            expected = rc.match(picture(0), batch.reference(opened, domain))
            assert np.array_equal(read_image(tmp_path / f"{i}.png"), expected)

    @pytest.mark.parametrize(
        ("words", "options"),
        [
            (["--method", "covariance", "--strength", "0.5"], {"method": "covariance", "strength": 0.5}),
            (["--method", "histogram"], {"method": "histogram"}),
            (["--space", "lab", "--max-gain", "1.1"], {"space": "lab", "max_gain": 1.1}),
        ],
    )
    def test_options(self, pair: tuple[Path, Path], tmp_path: Path, words: list[str], options: dict[str, Any]) -> None:
        done("match", *pair, "-o", tmp_path / "o.png", *words)
        assert np.array_equal(read_image(tmp_path / "o.png"), rc.match(picture(0), picture(1), **options))

    def test_masks(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        mask = np.zeros((37, 53), np.uint8)
        mask[5:30, 9:40] = 255
        Image.fromarray(mask).save(tmp_path / "m.png")
        masks = ["--mask", tmp_path / "m.png", "--style-mask", tmp_path / "m.png", "--apply-to", "mask"]
        done("match", *pair, "-o", tmp_path / "o.png", *masks)
        expected = rc.match(picture(0), picture(1), mask=mask, style_mask=mask, apply_to="mask")
        assert np.array_equal(read_image(tmp_path / "o.png"), expected)

    def test_words_for_people(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        result = recolorist("match", *pair, "-o", tmp_path / "o.png")
        assert (result.returncode, result.stderr) == (0, "")
        assert re.search(r"^R' = [\d.]+·R [+-] [\d.]+$", result.stdout, re.MULTILINE)
        assert "53 x 37 pixels in" in result.stdout

    @pytest.mark.parametrize(
        ("words", "code"),
        [([], 2), (["--plan", "none.json"], 1), (["none.png"], 1), (["{style}", "--space", "cmyk"], 1),
         (["{style}", "--strength", "2"], 1),
         (["{style}", "--apply-to", "some"], 1), (["{style}", "--plan", "x.json"], 2), (["{style}", "--bits", "99"], 2)],
    )  # fmt: skip
    def test_wrong_usage(self, pair: tuple[Path, Path], tmp_path: Path, words: list[str], code: int) -> None:
        filled = [word.format(style=pair[1]) for word in words]
        result = recolorist("match", pair[0], *filled, "-o", tmp_path / "o.png", cwd=tmp_path)
        assert (result.returncode, result.stdout) == (code, "")
        assert "Traceback" not in result.stderr
        assert code == 2 or re.fullmatch(r"recolorist: .+\n", result.stderr)
        assert list(tmp_path.iterdir()) == []


class TestBank:
    def test_build_info_merge_plot(self, data: Path, bank: Path, tmp_path: Path) -> None:
        told = done("bank", "build", data, "-o", tmp_path / "a.rcb", "--domain-from", "0", "--split", "train", "-j", "2")
        assert (told["styles"], told["failures"]) == (24, [])
        assert rc.StyleBank.load(tmp_path / "a.rcb").fingerprint == rc.StyleBank.load(bank).fingerprint == told["fingerprint"]
        info = done("bank", "info", tmp_path / "a.rcb")
        assert (info["labels"], list(info["domains"])) == ({"benign": 12, "malignant": 12}, ["hospital_a", "hospital_b"])
        merged = done("bank", "merge", tmp_path / "a.rcb", bank, "-o", tmp_path / "b.rcb")
        assert merged["styles"] == 48
        done("bank", "plot", bank, "-o", tmp_path / "p.svg")
        chart = (tmp_path / "p.svg").read_text("utf-8")
        assert chart.count('r="3.2"') == 48  # 24 styles in each of two panels
        assert "hospital_b" in chart
        assert "<script" not in chart

    def test_json_bank_for_the_page(self, data: Path, bank: Path, tmp_path: Path) -> None:
        done("bank", "build", data, "-o", tmp_path / "a.json", "--split", "train")
        told = json.loads((tmp_path / "a.json").read_text("utf-8"))
        assert (told["format"], told["count"]) == ("recolorist.bank/1", 24)
        assert batch.open_bank(tmp_path / "a.json").keys == rc.StyleBank.load(bank).keys

    def test_swatches_for_people(self, bank: Path) -> None:
        result = recolorist("bank", "info", bank)
        assert (result.returncode, result.stderr) == (0, "")
        assert re.search(r"hospital_a\s+12\s+[\d.]+ +[\d.]+ +[\d.]+", result.stdout)

    def test_failures_are_named_and_the_exit_code_says_so(self, tmp_path: Path) -> None:
        folder = collection(tmp_path / "d", 4)
        (folder / "bro\nken.png").write_bytes(b"nothing")
        result = recolorist("bank", "build", folder, "-o", tmp_path / "a.rcb")
        assert result.returncode == 3
        assert result.stdout.startswith("4 styles")
        assert result.stderr.count("\n") == 1
        assert "bro\\nken.png" in result.stderr
        assert len(rc.StyleBank.load(tmp_path / "a.rcb")) == 4


class TestCollections:
    def test_augment_and_resume(self, data: Path, bank: Path, tmp_path: Path) -> None:
        words = ["augment", data, tmp_path / "o", "--bank", bank, "--copies", "2", "--cross-domain", "--domain-from", "0"]
        told = done(*words, "-j", "2")
        assert (told["written"], told["kept"], told["failed"]) == (48, 0, 0)
        before = contents(tmp_path / "o")
        again = recolorist(*words)
        assert again.returncode == 1
        assert "49 of the outputs exist" in again.stderr
        next((tmp_path / "o").rglob("*_2.png")).unlink()
        told = done(*words, "--resume", "-j", "1")
        assert (told["written"], told["kept"]) == (2, 46)
        assert contents(tmp_path / "o") == before

    def test_harmonise(self, data: Path, bank: Path, tmp_path: Path) -> None:
        told = done("harmonise", data, tmp_path / "o", "--to", f"{bank}:hospital_a")
        assert told["written"] == 24
        style = batch.reference(rc.StyleBank.load(bank), "hospital_a")
        source = next(data.rglob("*.png"))
        assert np.array_equal(read_image(tmp_path / "o" / source.relative_to(data)), rc.match(read_image(source), style))

    def test_audit(self, data: Path, bank: Path, tmp_path: Path) -> None:
        folder = tmp_path / "d"
        folder.mkdir()
        Image.new("RGB", (30, 20), (200, 30, 40)).save(folder / "<b>flat.png")
        (folder / "broken & bad.jpg").write_bytes(b"\xff\xd8\xff nothing")
        for source in list(data.rglob("*.png"))[:5]:
            (folder / source.name).write_bytes(source.read_bytes())
        told = done("audit", folder, "--bank", bank, "--html", tmp_path / "r.html", "--lines", tmp_path / "l.jsonl", code=3)
        assert (told["images"], told["failed"], told["flags"]["flat"]) == (6, 1, 1)
        lines = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text("utf-8").splitlines()]
        assert [line["source"] for line in lines if "near_blank" in line["flags"]] == ["<b>flat.png"]
        page = (tmp_path / "r.html").read_text("utf-8")
        assert "&lt;b&gt;flat.png" in page
        assert "<b>flat" not in page
        assert "broken &amp; bad.jpg" in page
        assert page.count("data:image/jpeg;base64,") >= 2
        assert not re.search(r"<script|https?://(?!www\.w3\.org/2000/svg)", page)
        result = recolorist("audit", folder, "--bank", bank)
        assert result.returncode == 3
        assert re.search(r"near_blank\s+1", result.stdout)

    def test_drift(self, data: Path, bank: Path, tmp_path: Path) -> None:
        same = done(
            "drift", data, "--bank", bank, "--plot", tmp_path / "p.svg", "--lines", tmp_path / "l.jsonl", "--fail-over", "0.3"
        )
        assert (same["overall"]["drifted"], same["over"], same["threshold_rule"]) == (False, False, "F")
        assert len((tmp_path / "l.jsonl").read_text("utf-8").splitlines()) == 24
        assert (tmp_path / "p.svg").read_text("utf-8").count("<svg") == 1
        moved = tmp_path / "moved"
        moved.mkdir()
        for i in range(12):
            Image.fromarray(picture(i) // 4).save(moved / f"{i}.png")
        result = recolorist("drift", moved, "--bank", bank, "--fail-over", "0.3")
        assert result.returncode == 4
        assert "drifted" in result.stdout
        assert "darker" in result.stdout
        assert done("drift", moved, "--bank", bank)["overall"]["drifted"]

    def test_doctor(self) -> None:
        told = done("doctor")
        assert told["self_test"]["passed"]
        assert told["max_pixels"] == 89_478_485
        result = recolorist("doctor")
        assert (result.returncode, result.stderr) == (0, "")
        assert "self-test" in result.stdout

    def test_help_names_every_command(self) -> None:
        result = recolorist("--help")
        for name in ("match", "bank", "augment", "harmonise", "audit", "drift", "doctor", "demo"):
            assert re.search(rf"\b{name}\b", result.stdout)


class TestRealImages:
    def test_another_microscope_is_drift(self, tmp_path: Path) -> None:
        blood = shared_data("blood")
        done("bank", "build", blood / "acevedo20", "--split", "train", "-o", tmp_path / "a.rcb")
        told = done("drift", blood, "--bank", tmp_path / "a.rcb", "--fail-over", "0.5", code=4)
        verdicts = {group["group"]: group["drifted"] for group in told["groups"]}
        assert verdicts == {"acevedo20": False, "zheng18_tecom": True}

    def test_medmnist(self, tmp_path: Path) -> None:
        archive = shared_data("medmnist") / "pathmnist_test718_28.npz"
        with np.load(archive) as arrays:
            split = next(name.removesuffix("_images") for name in arrays.files if name.endswith("_images"))
        told = done("bank", "build", archive, "--split", split, "-o", tmp_path / "p.rcb")
        assert told["styles"] == 718


def test_a_chart_that_is_not_named_svg_is_refused(tmp_path: Path) -> None:
    bank = tmp_path / "b.bank"
    rc.StyleBank.build(np.arange(96, dtype=np.uint8).reshape(2, 4, 4, 3), split="train").save(bank)
    refused = recolorist("bank", "plot", bank, "-o", tmp_path / "plot.png")
    assert refused.returncode != 0
    assert "SVG" in refused.stderr
    assert not (tmp_path / "plot.png").exists()


@pytest.mark.parametrize(
    "words", [["--method", "histogram"], ["--method", "mean_sdt"], ["--apply-to", "maks"], ["--strength", "7"], ["--mask", "x"]]
)
def test_harmonise_refuses_wrong_options(data: Path, pair: tuple[Path, Path], tmp_path: Path, words: list[str]) -> None:
    refused = recolorist("harmonise", data, tmp_path / "o", "--to", pair[1], *words)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert re.fullmatch(r"recolorist: .*(method|apply_to|strength|mask)=.+\n", refused.stderr)
    assert not (tmp_path / "o").exists()
