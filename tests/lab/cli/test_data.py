"""`recolorist-lab data`: list, info, fetch, unpack, index, check and stats."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recolorist.errors import RecoloristError
from recolorist_lab.assets.fetch import RECORD
from recolorist_lab.cli.main import app
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.named import open_dataset
from recolorist_lab.data.registry import CARDS
from recolorist_lab.progress import bytes_bar
from tests.lab.fakes.all import fake
from tests.lab.fakes.parts import Fake, picture, write_table, zipped
from tests.lab.server import Server

LaidOut = Callable[[str], tuple[Fake, Path]]


def lab(*words: object) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, words)])


def run_text(*words: object) -> str:
    result = lab(*words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def refused(*words: object) -> str:
    """The message when the command refuses: one of our own errors, which `main` prints as a sentence."""
    result = lab(*words)
    assert result.exit_code == 1
    assert isinstance(result.exception, RecoloristError)
    return str(result.exception)


class TestCards:
    def test_list_names_all(self) -> None:
        lines = run_text("list").splitlines()
        assert [line.split()[0] for line in lines[1:]] == list(CARDS)

    def test_info(self) -> None:
        text = run_text("info", "camelyon17")
        assert "302,436" in text
        assert "CC0" in text
        assert "10,658,709,504 bytes" in text

    def test_an_unknown_name(self) -> None:
        assert "'mnist' is not a dataset of the study" in refused("info", "mnist")


class TestFetch:
    def test_by_hand(self, tmp_path: Path) -> None:
        text = run_text("fetch", "ddi", "--root", tmp_path / "ddi")
        assert "Register at Stanford AIMI" in text
        assert "ddi_metadata.csv" in text
        assert f"Then: recolorist-lab data index ddi --root {tmp_path / 'ddi'}" in text

    def test_from_a_mirror(self, server: Server, tmp_path: Path) -> None:
        one = fake("bone_marrow")
        server.serve(one.served)
        words = ("fetch", "bone_marrow", "--root", tmp_path, "--ca", server.ca, "--mirror", server.mirror)
        text = run_text(*words)
        assert text.count("downloaded and verified") == 18
        assert "IBM Aspera" in text
        assert len(list((tmp_path / "MLL23").rglob("*.TIF"))) == 90
        assert run_text(*words).count("present and verified") == 18
        assert len(json.loads((tmp_path / RECORD).read_text())) == 18

    def test_a_fake_is_not_taken_for_the_real_archive(self, server: Server, tmp_path: Path) -> None:
        server.serve(fake("breastmnist").served)
        words = ("fetch", "breastmnist", "--root", tmp_path, "--ca", server.ca, "--mirror", server.mirror)
        assert "should have 30,903,564 bytes; it is not downloaded" in refused(*words)
        assert list(tmp_path.iterdir()) == []


class TestIndex:
    def test_refused_and_then_recorded(self, laid_out: LaidOut, tmp_path: Path) -> None:
        _, root = laid_out("ddi")
        out = tmp_path / "m.parquet"
        assert "--allow-different" in refused("index", "ddi", "--root", root, "--out", out)
        assert not out.exists()
        text = run_text("index", "ddi", "--root", root, "--out", out, "--allow-different")
        assert "Differs from the card, and recorded: train has 11 images instead of 208" in text
        assert not Manifest.read(out).facts.complete

    def test_what_was_left_out_is_said(self, laid_out: LaidOut, tmp_path: Path) -> None:
        _, root = laid_out("bone_marrow")
        text = run_text("index", "bone_marrow", "--root", root, "--out", tmp_path / "m.parquet", "--allow-different")
        assert "Left out: BMC/ART 5 images of ART, which is not part of this benchmark" in text
        assert "MYB_05527.jpg cannot be opened" in text

    def test_a_folder(self, tmp_path: Path) -> None:
        for number, path in enumerate(["n/a/1.png", "n/b/2.png", "s/a/3.png"]):
            picture(tmp_path / "mine" / path, number)
        text = run_text("index", "--folder", tmp_path / "mine", "--domain-from", 0, "--test-domain", "s")
        assert "3 images (train 2, test 1)" in text
        assert Manifest.read(tmp_path / "mine" / "mine.parquet").facts.dataset == "mine"

    @pytest.mark.parametrize("where", [("--out", "sets.parquet"), ("--root", "")])
    def test_a_manifest_above_the_folder_finds_its_images(self, tmp_path: Path, where: tuple[str, str]) -> None:
        picture(tmp_path / "mine" / "a" / "1.png", 1)
        (tmp_path / "mine" / "a" / "2.png").write_bytes(b"damaged")
        run_text("index", "--folder", tmp_path / "mine", where[0], tmp_path / where[1], "--name", "sets")
        dataset = open_dataset("sets", tmp_path)
        assert dataset.samples("train", size=8)[0].image.shape == (8, 8, 3)
        assert [image.path for image in dataset.manifest.facts.excluded] == ["mine/a/2.png"]

    def test_a_manifest_beside_a_link_to_the_images(self, tmp_path: Path) -> None:
        picture(tmp_path / "kept" / "a" / "1.png", 1)
        (tmp_path / "work").mkdir()
        (tmp_path / "work" / "mine").symlink_to(tmp_path / "kept", target_is_directory=True)
        run_text("index", "--folder", tmp_path / "work" / "mine", "--root", tmp_path / "work", "--name", "sets")
        assert open_dataset("sets", tmp_path / "work").samples("train", size=8)[0].image.shape == (8, 8, 3)

    def test_a_manifest_that_is_not_above_its_images_is_refused(self, tmp_path: Path) -> None:
        picture(tmp_path / "mine" / "a" / "1.png", 1)
        text = refused("index", "--folder", tmp_path / "mine", "--out", tmp_path / "other" / "m.parquet")
        assert "paths are relative to the manifest's folder" in text
        assert not (tmp_path / "other").exists()

    def test_a_table(self, tmp_path: Path) -> None:
        picture(tmp_path / "1.png", 1)
        picture(tmp_path / "2.png", 2)
        write_table(tmp_path / "list.csv", ("path", "kind", "site"), [("1.png", "x", "n"), ("2.png", "y", "s")])
        run_text("index", "--csv", tmp_path / "list.csv", "--label-from", "kind", "--domain-from", "site", "--name", "cells")
        manifest = Manifest.read(tmp_path / "cells.parquet")
        assert (manifest.facts.classes, manifest.column("domain")) == (("x", "y"), ["n", "s"])

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            ((), "give exactly one of"),
            (("ddi", "--folder", "x"), "give exactly one of"),
            (("ddi",), "--root is missing"),
            (("retina", "--root", "x", "--option", "idrid"), "write it as name=value"),
            (("ddi", "--root", "x", "--option", "a=b"), "has no option a; it has none"),
            (("--folder", "x", "--label-from", "none"), "every image needs a label"),
        ],
    )
    def test_refusals(self, words: tuple[str, ...], why: str) -> None:
        assert why in refused("index", *words)


class TestCheckAndStats:
    def test_check(self, tmp_path: Path) -> None:
        run_text("synthetic", "--out", tmp_path, "--hospitals", 3, "--tiles", 4, "--size", 16, "--png")
        path = tmp_path / "synthetic.parquet"
        assert "12 images, all as indexed" in run_text("check", path, "--root", tmp_path)
        next(tmp_path.rglob("*.png")).unlink()
        result = lab("check", path, "--root", tmp_path)
        assert result.exit_code == 3
        assert "was not found" in result.stderr

    def test_check_by_name_holds_it_against_the_card(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = laid_out("ddi")
        for path in root.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        run_text("index", "ddi", "--root", tmp_path, "--allow-different")
        result = lab("check", "ddi", "--root", tmp_path)
        assert result.exit_code == 3
        assert "train has 11 images instead of 208 (recorded when indexed)" in result.stderr
        assert one.card.key == "ddi"

    def test_stats_of_a_folder_of_manifests(self, laid_out: LaidOut, tmp_path: Path) -> None:
        for key in ("ddi", "retina", "chestmnist"):
            run_text("index", key, "--root", laid_out(key)[1], "--out", tmp_path / f"{key}.parquet", "--allow-different")
        run_text("synthetic", "--out", tmp_path, "--tiles", 4, "--size", 8)
        lines = run_text("stats", tmp_path).splitlines()
        assert len(lines) == 5
        by_name = {line.split("  ")[0]: line for line in lines[1:]}
        assert "208 / 241 / 207" in by_name["DDI"]
        assert "3.24" in by_name["DDI"]
        assert by_name["DDI"].endswith("differs")
        assert by_name["Synthetic hospitals"].endswith("not in the paper")

    def test_stats_as_json(self, tmp_path: Path) -> None:
        run_text("synthetic", "--out", tmp_path, "--tiles", 8, "--size", 8)
        rows = json.loads(run_text("stats", tmp_path / "synthetic.parquet", "--json"))
        assert rows[0]["sizes"] == [24, 8, 8]
        assert rows[0]["agrees"] is None

    def test_no_manifest(self, tmp_path: Path) -> None:
        assert "contains no manifest" in refused("stats", tmp_path)


class TestUnpack:
    def test_good_and_bad(self, tmp_path: Path) -> None:
        (tmp_path / "a.zip").write_bytes(zipped({"x.txt": b"1", "y/z.txt": b"2"}))
        assert "2 files in" in run_text("unpack", tmp_path / "a.zip", tmp_path / "out")
        (tmp_path / "b.zip").write_bytes(zipped({"x.txt": b"1", "/y.txt": b"2"}))
        assert "nothing of it was written" in refused("unpack", tmp_path / "b.zip", tmp_path / "out2")
        assert not (tmp_path / "out2").exists()


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with bytes_bar() as tick:
        tick("a.zip", 10, 100)
        tick("a.zip", 100, 100)
        tick("b.zip", 5, None)
    assert capsys.readouterr().out == ""
