"""`recolorist augment` and `recolorist harmonise`: outputs, records, exit codes and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist import collections
from recolorist.io.images import read_image
from tests.augment import test_harmoniser as harmonised
from tests.commands import contents, picture, refused, run_here, run_json

Pair = tuple[Path, Path]


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "provenance.jsonl").read_text("utf-8").splitlines()]


class TestFolder:
    """The target is given by place, or by name as in the other commands."""

    @pytest.mark.parametrize("option", ["-o", "--out"])
    def test_by_name_is_the_same_as_by_place(self, data: Path, bank: Path, pair: Pair, tmp_path: Path, option: str) -> None:
        for command, style in (("augment", ("--bank", bank)), ("harmonise", ("--to", pair[0]))):
            by_place, by_name = tmp_path / f"{command} place", tmp_path / f"{command} name"
            assert run_here(command, data, by_place, *style).code == 0
            assert run_here(command, data, option, by_name, *style).code == 0
            assert contents(by_place) == contents(by_name)

    @pytest.mark.parametrize("words", [(), ("one", "-o", "two")])
    def test_never_and_twice_are_refused(self, data: Path, bank: Path, pair: Pair, words: tuple[str, ...]) -> None:
        for command, style in (("augment", ("--bank", bank)), ("harmonise", ("--to", pair[0]))):
            assert "give the folder to write into once" in refused(command, data, *words, *style, code=2)
        assert not Path("one").exists()
        assert not Path("two").exists()


class TestAugment:
    def test_writes_what_the_library_writes(self, data: Path, bank: Path, tmp_path: Path) -> None:
        words = ["--copies", "2", "--seed", "7", "--strength", "0.5-1", "--p", "0.5", "--domain-from", "0"]
        answer = run_here("augment", data, tmp_path / "o", "--bank", bank, *words, "--json")
        assert (answer.code, answer.err) == (0, "")
        assert (answer.json["written"], answer.json["kept"], answer.json["failed"]) == (40, 0, 0)
        opened = rc.StyleBank.load(bank)
        collections.augment(data, tmp_path / "p", opened, copies=2, seed=7, strength=(0.5, 1.0), p=0.5, domain_from=0)
        assert contents(tmp_path / "o") == contents(tmp_path / "p")

    def test_cross_domain_takes_styles_of_other_domains(self, data: Path, bank: Path, tmp_path: Path) -> None:
        words = ["--cross-domain", "--domain-from", "0"]
        assert run_here("augment", data, tmp_path / "o", "--bank", bank, *words).code == 0
        opened = rc.StyleBank.load(bank)
        collections.augment(data, tmp_path / "p", opened, sampler="other_domain", domain_from=0)
        assert contents(tmp_path / "o") == contents(tmp_path / "p")

    def test_a_run_is_resumed_with_other_processes(self, data: Path, bank: Path, tmp_path: Path) -> None:
        words = ["augment", data, tmp_path / "o", "--bank", bank, "--copies", "2", "--cross-domain", "--domain-from", "0"]
        values = run_json(*words, "-j", "2")
        assert (values["written"], values["kept"], values["failed"]) == (40, 0, 0)
        before = contents(tmp_path / "o")
        assert "41 of the outputs exist" in refused(*words)
        next((tmp_path / "o").rglob("*_2.png")).unlink()
        values = run_json(*words, "--resume", "-j", "1")
        assert (values["written"], values["kept"]) == (2, 38)
        assert contents(tmp_path / "o") == before

    def test_people_read_counts_and_clipping(self, data: Path, bank: Path, tmp_path: Path) -> None:
        answer = run_here("augment", data, tmp_path / "o", "--bank", bank)
        assert answer.out.startswith("20 written, 0 failed; provenance.jsonl in ")
        assert "% on average" in answer.out

    @pytest.mark.parametrize(
        ("words", "code", "name"),
        [(["--p", "2"], 1, "--p 2"), (["--sampler", "best"], 1, "--sampler best"), (["--max-clip", "-1"], 1, "--max-clip -1"),
         (["--mask", "liver"], 1, "--mask liver"), (["--strength", "0.9-0.1"], 1, "--strength (0.9, 0.1)"),
         (["--strength", "much"], 2, "neither a number nor a range"), (["--copies", "0"], 1, "--copies 0"),
         (["--seed", "-1"], 1, "--seed -1"), (["--method", "mean_sdt"], 1, "--method mean_sdt")],
    )  # fmt: skip
    def test_wrong_options_are_refused_before_a_folder_is_made(
        self, data: Path, bank: Path, tmp_path: Path, words: list[str], code: int, name: str
    ) -> None:
        assert name in refused("augment", data, tmp_path / "o", "--bank", bank, *words, code=code)
        assert list(tmp_path.iterdir()) == []

    def test_a_bank_of_a_test_split_needs_leave(self, data: Path, tmp_path: Path) -> None:
        collections.build_bank(data, split="test").bank.save(tmp_path / "test.rcb")
        words = ["augment", data, tmp_path / "o", "--bank", tmp_path / "test.rcb"]
        assert "split" in refused(*words)
        assert not (tmp_path / "o").exists()
        assert run_here(*words, "--allow-split").code == 0


class TestHarmonise:
    def test_writes_what_matching_gives_and_records_the_style(self, data: Path, pair: Pair, tmp_path: Path) -> None:
        answer = run_here("harmonise", data, tmp_path / "o", "--to", pair[1], "--strength", "0.5", "--json")
        assert (answer.code, answer.err, answer.json["written"]) == (0, "", 20)
        source = sorted(data.rglob("*.png"))[3]
        expected = rc.match(read_image(source), picture(1), strength=0.5)
        assert np.array_equal(read_image(tmp_path / "o" / source.relative_to(data)), expected)
        assert {record["style"] for record in records(tmp_path / "o")} == {"1.png"}
        clipped = [record["audit"]["clipped_overall"] for record in records(tmp_path / "o")]
        assert answer.json["clipped_worst"] == max(clipped)

    def test_a_domain_of_a_bank_is_a_style(self, data: Path, bank: Path, tmp_path: Path) -> None:
        assert run_json("harmonise", data, tmp_path / "o", "--to", f"{bank}:hospital_a", "--gate", "off")["written"] == 20
        style = rc.StyleBank.load(bank).average("hospital_a")
        source = next(data.rglob("*.png"))
        assert np.array_equal(read_image(tmp_path / "o" / source.relative_to(data)), rc.match(read_image(source), style))

    @pytest.mark.parametrize(
        "words",
        [["--method", "histogram"], ["--method", "mean_sdt"], ["--apply-to", "maks"], ["--strength", "7"], ["--mask", "x"]],
    )
    def test_wrong_options_are_refused_before_a_folder_is_made(
        self, data: Path, pair: Pair, tmp_path: Path, words: list[str]
    ) -> None:
        assert " ".join(words) in refused("harmonise", data, tmp_path / "o", "--to", pair[1], *words)
        assert not (tmp_path / "o").exists()

    def test_a_failed_image_is_exit_code_3_and_the_rest_is_whole(self, with_broken: Path, pair: Pair, tmp_path: Path) -> None:
        answer = run_here("harmonise", with_broken, tmp_path / "o", "--to", pair[1], "--json")
        assert (answer.code, answer.json["written"], answer.json["failed"]) == (3, 4, 1)
        assert [failure["source"] for failure in answer.json["failures"]] == ["broken.png"]
        assert "broken.png" in answer.err
        written = [path for path in contents(tmp_path / "o") if path.endswith(".png")]
        assert len(written) == 4
        assert not [path for path in (tmp_path / "o").rglob("*") if path.name.endswith(".part")]

    def test_outputs_that_exist_are_kept_resumed_or_replaced(self, data: Path, pair: Pair, tmp_path: Path) -> None:
        words = ["harmonise", data, tmp_path / "o", "--to", pair[1]]
        assert run_here(*words).code == 0
        before = contents(tmp_path / "o")
        assert "exist" in refused(*words)
        resumed = run_here(*words, "--resume")
        assert resumed.out.startswith("0 written, 20 kept from before, 0 failed")
        assert contents(tmp_path / "o") == before
        assert run_here(*words, "--force", "--json").json["written"] == 20
        assert contents(tmp_path / "o") == before

    @pytest.mark.parametrize("name", ["none.png", "{bank}:nowhere"])
    def test_a_style_that_is_not_there_is_refused(self, data: Path, bank: Path, tmp_path: Path, name: str) -> None:
        refused("harmonise", data, tmp_path / "o", "--to", name.format(bank=bank))
        assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def incoming(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("incoming")
    for i, image in enumerate([*harmonised.LIKE[:3], *harmonised.OTHER[:3]]):
        Image.fromarray(image).save(folder / f"{i}.png")
    return folder


class TestGate:
    """The command gives the bytes of the object, and leaves what lies inside the bank."""

    @pytest.mark.parametrize("gate", [None, "centre", "edge", "off"])
    def test_gives_the_bytes_of_the_object(self, incoming: Path, tmp_path: Path, gate: Any) -> None:
        harmonised.BANK.save(tmp_path / "ours.rcb")
        words = [] if gate is None else ["--gate", gate]
        answer = run_here("harmonise", incoming, tmp_path / "o", "--to", tmp_path / "ours.rcb", "--jobs", "1", *words, "--json")
        assert answer.code == 0
        harmoniser = rc.Harmoniser(tmp_path / "ours.rcb", gate)
        for line in records(tmp_path / "o"):
            image, record = harmoniser.harmonise(read_image(incoming / line["source"]))
            assert np.array_equal(read_image(tmp_path / "o" / line["output"]), image)
            values = record.to_dict()
            assert line["gate"] == {name: values[name] for name in ("reason", "distance", "edge", "distance_after")}
            assert (line["plan"], line["strength"]) == (values["plan"], values["strength"])
        counts = {"inside": 3, "outside": 3, "still_outside": 0}
        assert answer.json.get("gate") == (None if gate == "off" else counts)

    def test_says_how_many_were_left(self, incoming: Path, tmp_path: Path) -> None:
        harmonised.BANK.save(tmp_path / "ours.rcb")
        answer = run_here("harmonise", incoming, tmp_path / "o", "--to", tmp_path / "ours.rcb", "--jobs", "1")
        assert "3 inside the bank and left as they are, 3 outside and moved" in answer.out

    def test_says_what_it_could_not_bring_inside(self, tmp_path: Path) -> None:
        """Channels that vary against each other: no factor on a channel changes that."""
        harmonised.BANK.save(tmp_path / "ours.rcb")
        (tmp_path / "in").mkdir()
        odd = harmonised.LIKE[0].copy()
        odd[..., 1] = 255 - odd[..., 1]
        Image.fromarray(odd).save(tmp_path / "in" / "odd.png")
        words = ["harmonise", tmp_path / "in", "--to", tmp_path / "ours.rcb", "--jobs", "1"]
        assert "1 of them are still outside" in run_here(*words[:2], tmp_path / "o", *words[2:]).out
        answer = run_json(*words[:2], tmp_path / "c", *words[2:], "--method", "covariance")
        assert answer["gate"] == {"outside": 1, "still_outside": 0}

    def test_a_folder_is_judged_together(self, incoming: Path, tmp_path: Path) -> None:
        harmonised.BANK.save(tmp_path / "ours.rcb")
        run_here("harmonise", incoming, tmp_path / "o", "--to", tmp_path / "ours.rcb", "--jobs", "1", "--pool")
        assert len({(line["gate"]["distance"], line["strength"]) for line in records(tmp_path / "o")}) == 1

    def test_a_small_bank_names_the_remedy(self, incoming: Path, tmp_path: Path) -> None:
        harmonised.BANK.subset(rows=range(5)).save(tmp_path / "few.rcb")
        words = ["harmonise", incoming, tmp_path / "o", "--to", tmp_path / "few.rcb", "--jobs", "1"]
        assert "--gate off" in refused(*words)
        assert run_here(*words, "--gate", "off").code == 0

    def test_warns_of_a_bank_that_knows_its_edge_poorly(self, incoming: Path, tmp_path: Path) -> None:
        harmonised.BANK.subset(rows=range(30)).save(tmp_path / "few.rcb")
        words = ["harmonise", incoming, "--to", tmp_path / "few.rcb", "--jobs", "1"]
        answer = run_here(*words[:2], tmp_path / "o", *words[2:])
        assert answer.code == 0
        assert "warning: the bank has 30 styles; with fewer than 60" in answer.err
        assert "move every image, with --gate off." in answer.err
        assert "warning" not in run_here(*words[:2], tmp_path / "all", *words[2:], "--gate", "off").err


def test_blank_images_are_counted_apart_from_the_gate(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        Image.fromarray(picture(i)).save(folder / f"{i}.png")
    Image.new("RGB", (30, 20), (243, 243, 243)).save(folder / "glass.png")
    run_here("bank", "build", folder, "-o", tmp_path / "b.rcb", "--split", "train")
    gate = ("--to", tmp_path / "b.rcb", "--gate", "off")
    answer = run_here("harmonise", folder, tmp_path / "out", *gate)
    assert "1 are blank and stay as they are" in answer.out
    assert "inside the bank" not in answer.out
    assert run_json("harmonise", folder, tmp_path / "all", *gate, "--blank", "match")["blank"] == 0


def test_images_that_lost_detail_are_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cell, style = rng.normal(190, 12, (128, 128, 3)), rng.normal(150, 95, (128, 128, 3))
    cell[40:72, 40:72] = rng.normal(40, 14, (32, 32, 3))  # a nucleus
    (tmp_path / "in").mkdir()
    for name, pixels in (("in/cell.png", cell), ("in/other.png", style), ("style.png", style)):
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(tmp_path / name)
    words = ("harmonise", tmp_path / "in", "--to", tmp_path / "style.png", "--jobs", "1")
    line = "1 lost detail in more than 2 % of the patches, flagged 'detail_lost'; --max-loss 0.01 limits it"
    assert line in run_here(*words, tmp_path / "a").out.splitlines()
    assert "lost detail" not in run_here(*words, tmp_path / "b", "--max-loss", "0.01").out
    assert run_json(*words, tmp_path / "c")["detail_lost"] == 1  # an image, although three channels are flagged
