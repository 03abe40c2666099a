"""The demonstration's files: complete, true to what was computed, and never half-written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist.core.plan import Plan
from recolorist.demo import run as demo
from recolorist.demo.pairs import SIDE, Pair
from recolorist.errors import RecoloristError
from tests.demo.pictures import inside, read

KEYS = ("faded", "palette", "stain", "fundus")
PICTURES = ("content", "style", "output", "clipped")


class TestFiles:
    def test_exactly_the_promised_files(self, result: demo.DemoResult) -> None:
        expected = {f"{key}_{name}.png" for key in KEYS for name in PICTURES} | {f"{key}_plan.json" for key in KEYS}
        expected |= {f"{key}_channels.svg" for key in KEYS} | {"hospitals.svg", "index.html"}
        assert {path.name for path in result.folder.iterdir()} == expected
        assert {path.name for path in result.files} == expected

    def test_pictures_have_the_computed_size(self, result: demo.DemoResult, pair: Pair) -> None:
        for name in ("content", "style", "output", "clipped"):
            with Image.open(result.folder / f"{pair.case.key}_{name}.png") as picture:
                assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (SIDE, SIDE))

    def test_a_second_run_writes_the_same_bytes(self, result: demo.DemoResult, tmp_path: Path) -> None:
        for path in demo.run(tmp_path).files:
            assert path.read_bytes() == (result.folder / path.name).read_bytes(), path.name

    def test_files_can_be_read_by_others_as_usual(self, result: demo.DemoResult) -> None:
        usual = result.folder / "usual"
        usual.touch()
        mode = stat.S_IMODE(usual.stat().st_mode)
        usual.unlink()
        assert {stat.S_IMODE(path.stat().st_mode) for path in result.files} == {mode}


class TestContents:
    """What the files show is recomputed here from the files alone."""

    def test_output_is_the_formula(self, result: demo.DemoResult, pair: Pair) -> None:
        content, style, output = (read(result.folder / f"{pair.case.key}_{n}.png") for n in ("content", "style", "output"))
        used = style.reshape(-1, 3) if pair.case.style_mask is None else style[pair.case.style_mask]
        x, s = content[inside(pair)].astype(np.float64), used.astype(np.float64)
        wanted = (x - x.mean(0)) * (s.std(0) / x.std(0)) + s.mean(0)
        # The reference takes another order of operations: a value on the very edge of rounding may differ by one level.
        gap = np.abs(np.clip(np.rint(wanted), 0, 255) - output[inside(pair)])
        assert gap.max() <= 1
        assert (gap != 0).mean() < 1e-4
        assert np.array_equal(output[~inside(pair)], content[~inside(pair)])

    def test_plan_file_makes_the_output_again(self, result: demo.DemoResult, pair: Pair) -> None:
        plan = Plan.from_json((result.folder / f"{pair.case.key}_plan.json").read_text("utf-8"))
        content = read(result.folder / f"{pair.case.key}_content.png")
        assert np.array_equal(rc.apply(content, plan, mask=pair.case.mask), read(result.folder / f"{pair.case.key}_output.png"))

    def test_marked_pixels_are_the_clipped_ones(self, result: demo.DemoResult, pair: Pair) -> None:
        values = np.rint(pair.case.content * pair.plan.gain + pair.plan.offset)
        above, below = ((values > 255).any(2) & inside(pair), (values < 0).any(2) & inside(pair))
        picture = read(result.folder / f"{pair.case.key}_clipped.png")
        magenta, blue = ((picture == np.array(colour)).all(2) for colour in ((216, 27, 140), (0, 114, 178)))
        assert np.array_equal(magenta, above)
        assert np.array_equal(blue, below & ~above)
        assert pair.clipped == (above | below)[inside(pair)].mean()
        assert (picture[~inside(pair)] == 255).all()  # white: took no part
        rest = picture[inside(pair) & ~above & ~below]
        assert (rest == rest[:, :1]).all()  # grey, and never as dark as a mark nor as light as paper
        assert 150 <= rest.min() < rest.max() <= 252

    def test_json_holds_the_same_numbers(self, result: demo.DemoResult) -> None:
        table = json.loads(result.to_json())
        for row, pair in zip(table["pairs"], result.pairs, strict=True):
            assert row["pair"] == pair.case.key
            assert row["gain"] == pair.plan.gain.tolist()
            assert row["offset"] == pair.plan.offset.tolist()
            assert row["clipped_pixels"] == pair.clipped
            assert row["milliseconds"] > 0


class TestHardships:
    @pytest.fixture
    def one_pair(self, result: demo.DemoResult, monkeypatch: pytest.MonkeyPatch) -> Pair:
        monkeypatch.setattr(demo, "cases", lambda: [result.pairs[0].case])
        return result.pairs[0]

    @pytest.mark.usefixtures("one_pair")
    def test_files_of_others_stay_and_own_are_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("mine", "utf-8")
        (tmp_path / "index.html").write_bytes(b"old")
        demo.run(tmp_path)
        assert (tmp_path / "notes.txt").read_text("utf-8") == "mine"
        assert (tmp_path / "index.html").read_text("utf-8").startswith("<!doctype html>")

    @pytest.mark.usefixtures("one_pair")
    def test_a_link_is_replaced_and_never_followed(self, tmp_path: Path) -> None:
        precious = tmp_path / "precious.png"
        precious.write_bytes(b"precious")
        out = tmp_path / "out"
        out.mkdir()
        (out / "index.html").symlink_to(precious)
        demo.run(out)
        assert precious.read_bytes() == b"precious"
        assert not (out / "index.html").is_symlink()

    @pytest.mark.usefixtures("one_pair")
    def test_a_folder_that_is_a_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "taken").write_text("x", "utf-8")
        with pytest.raises(RecoloristError, match=r"could not write into .*taken .*--out"):
            demo.run(tmp_path / "taken")

    @pytest.mark.usefixtures("one_pair")
    def test_a_failed_move_keeps_the_old_file_and_leaves_no_litter(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "faded_content.png").write_bytes(b"old")

        def full(source: str, target: str, **_: Any) -> None:
            raise OSError(28, os.strerror(28), source, None, target)

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(RecoloristError, match="No space left"):
            demo.run(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["faded_content.png"]
        assert (tmp_path / "faded_content.png").read_bytes() == b"old"
