"""The demonstration: the files are there, they show what they say, and nothing half-written is ever left."""

from __future__ import annotations

import importlib.util
import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import recolorist as rc
from recolorist.core.plan import Plan
from recolorist.demo import figure as demo_figure
from recolorist.demo import pairs as demo_pairs
from recolorist.demo import run as demo
from recolorist.demo.pairs import SIDE, Pair
from recolorist.errors import RecoloristError

KEYS = ("faded", "palette", "stain", "fundus")
PICTURES = ("content", "style", "output", "clipped", "channels")


def read(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def inside(pair: Pair) -> NDArray[np.bool_]:
    return np.ones((SIDE, SIDE), bool) if pair.case.mask is None else pair.case.mask


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> demo.DemoResult:
    return demo.run(tmp_path_factory.mktemp("demo") / "deep" / "er")


@pytest.fixture(scope="module", params=KEYS)
def pair(request: pytest.FixtureRequest, result: demo.DemoResult) -> Pair:
    return next(pair for pair in result.pairs if pair.case.key == request.param)


class TestFiles:
    def test_exactly_the_promised_files(self, result: demo.DemoResult) -> None:
        expected = {f"{key}_{name}.png" for key in KEYS for name in PICTURES} | {f"{key}_plan.json" for key in KEYS}
        expected |= {"contact_sheet.png"}
        assert {path.name for path in result.folder.iterdir()} == expected
        assert {path.name for path in result.files} == expected

    def test_pictures_have_the_computed_size(self, result: demo.DemoResult, pair: Pair) -> None:
        for name in ("content", "style", "output", "clipped"):
            with Image.open(result.folder / f"{pair.case.key}_{name}.png") as picture:
                assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (SIDE, SIDE))

    def test_sheet_is_wide_enough_and_not_empty(self, result: demo.DemoResult) -> None:
        sheet = read(result.sheet)
        assert sheet.shape[1] == demo_figure.WIDTH
        assert 0.8 < sheet.shape[0] / sheet.shape[1] < 1.2
        assert 0.2 < (sheet != 255).any(axis=2).mean() < 0.6  # pictures, but also white space

    def test_a_second_run_writes_the_same_bytes(self, result: demo.DemoResult, tmp_path: Path) -> None:
        for path in demo.run(tmp_path).files:
            assert path.read_bytes() == (result.folder / path.name).read_bytes(), path.name

    def test_files_can_be_read_by_others_as_usual(self, result: demo.DemoResult) -> None:
        usual = result.folder / "usual"
        usual.touch()
        mode = stat.S_IMODE(usual.stat().st_mode)
        usual.unlink()
        assert {stat.S_IMODE(path.stat().st_mode) for path in result.files} == {mode}


class TestTruth:
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

    def test_output_is_what_match_gives(self, pair: Pair) -> None:
        case = pair.case
        again = rc.match(
            case.content,
            case.style,
            mask=case.mask,
            style_mask=case.style_mask,
            apply_to="mask" if case.mask is not None else "all",
        )
        assert np.array_equal(again, pair.output)

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

    def test_marks_agree_with_the_audit(self, pair: Pair) -> None:
        values = np.rint(pair.case.content * pair.plan.gain + pair.plan.offset)
        assert np.array_equal(((values < 0) | (values > 255))[inside(pair)].mean(0), pair.audit.clipped)
        assert pair.audit.clipped.max() <= pair.clipped <= pair.audit.clipped.sum()

    def test_something_is_clipped_somewhere_and_shown(self, result: demo.DemoResult) -> None:
        shares = {pair.case.key: pair.clipped for pair in result.pairs}
        assert shares["palette"] > 0.02
        assert shares["fundus"] == 0.0

    def test_output_comes_nearer_to_the_true_scan(self, pair: Pair) -> None:
        if pair.case.truth is None:
            assert pair.case.key == "stain"
            assert pair.error is None
            return
        truth, error = pair.case.truth[inside(pair)].astype(np.float64), pair.error
        assert error is not None
        assert error[0] == pytest.approx(np.abs(pair.case.content[inside(pair)] - truth).mean())
        assert error[1] == pytest.approx(np.abs(pair.output[inside(pair)] - truth).mean())
        assert error[1] < 0.4 * error[0]

    def test_the_mask_leaves_the_black_surround_out(self, result: demo.DemoResult) -> None:
        fundus = result.pairs[-1]
        assert fundus.case.mask is not None
        assert 0.6 < fundus.case.mask.mean() < 0.9
        assert fundus.case.content[~fundus.case.mask].mean() < 15
        assert fundus.plan.content_mean[0] == pytest.approx(fundus.case.content[fundus.case.mask][:, 0].mean())

    def test_json_holds_the_same_numbers(self, result: demo.DemoResult) -> None:
        table = json.loads(result.to_json())
        for row, pair in zip(table["pairs"], result.pairs, strict=True):
            assert row["pair"] == pair.case.key
            assert row["gain"] == pair.plan.gain.tolist()
            assert row["offset"] == pair.plan.offset.tolist()
            assert row["clipped_pixels"] == pair.clipped
            assert row["milliseconds"] > 0


class TestDrawing:
    @pytest.mark.parametrize(
        ("offset", "wanted"), [(-40.06, "R' = 1.25 R − 40.1"), (7.0, "R' = 1.25 R + 7.0"), (-0.04, "R' = 1.25 R + 0.0")]
    )
    def test_equation_reads_as_one_would_write_it(self, result: demo.DemoResult, offset: float, wanted: str) -> None:
        values = json.loads(result.pairs[0].plan.to_json())
        values["gain"][0], values["matrix"][0][0], values["offset"][0] = 1.25, 1.25, offset
        assert demo_figure._equation(Plan.from_json(json.dumps(values)), 0) == wanted

    def test_curves_are_shares_of_the_masked_pixels(self, pair: Pair) -> None:
        curves = demo_figure._curves(pair.case.content, pair.case.mask)
        levels = np.arange(256)
        assert curves.shape == (3, 256)
        assert (curves.sum(1) <= 1 + 1e-9).all()
        assert (curves.sum(1) > 0.95).all()
        assert np.abs(curves @ levels / curves.sum(1) - pair.plan.content_mean).max() < 3.0

    def test_after_looks_more_like_the_style_than_before(self, pair: Pair) -> None:
        case = pair.case
        style = demo_figure._curves(case.style, case.style_mask)
        before, after = (np.abs(demo_figure._curves(i, case.mask) - style).sum() for i in (case.content, pair.output))
        assert after < before

    def test_no_text_leaves_its_column(self, pair: Pair) -> None:
        pen, column = demo_figure._Pen(ImageDraw.Draw(Image.new("RGB", (8, 8)))), (demo_figure.BLOCK - 2 * 26) // 3
        for channel in range(3):
            assert pen.text((0, 0), demo_figure._equation(pair.plan, channel), 22) <= column
        for label in (pair.case.content_label, pair.case.style_label, "error 100.0 → 100.0 levels"):
            assert pen.text((0, 0), label, 21) <= SIDE
        title = pen.text((demo_figure.MARGIN, 0), pair.case.title, 31) + 20
        assert pen.text((title, 0), pair.case.note, 24) <= demo_figure.WIDTH - demo_figure.MARGIN

    def test_every_letter_drawn_is_in_the_font(self, result: demo.DemoResult, monkeypatch: pytest.MonkeyPatch) -> None:
        drawn: list[str] = []
        plain = ImageDraw.ImageDraw.text

        def spy(self: ImageDraw.ImageDraw, xy: tuple[float, float], text: str, *rest: object, **named: object) -> None:
            drawn.append(text)
            plain(self, xy, text, *rest, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(ImageDraw.ImageDraw, "text", spy)
        demo_figure.contact_sheet(result.pairs)
        font = ImageFont.load_default(size=40)
        missing = bytes(font.getmask("\uffff"))
        letters = set("".join(drawn)) - {" "}
        assert len(letters) > 40
        assert not {letter for letter in letters if bytes(font.getmask(letter)) == missing}

    def test_right_and_left_text_have_the_same_width(self) -> None:
        pen = demo_figure._Pen(ImageDraw.Draw(Image.new("RGB", (300, 40))))
        assert pen.text((0, 20), "a → b − c", 20) == pytest.approx(pen.text((200, 20), "a → b − c", 20) - 200)

    def test_signs_leave_ink(self) -> None:
        for sign in demo_figure._SIGNS:
            sheet = Image.new("RGB", (60, 40), "white")
            demo_figure._Pen(ImageDraw.Draw(sheet)).text((10, 30), sign, 30, "#000000")
            assert (np.asarray(sheet) < 128).sum() > 30


class TestHardships:
    @pytest.fixture
    def one_pair(self, result: demo.DemoResult, monkeypatch: pytest.MonkeyPatch) -> Pair:
        monkeypatch.setattr(demo, "cases", lambda: [result.pairs[0].case])
        return result.pairs[0]

    @pytest.mark.usefixtures("one_pair")
    def test_files_of_others_stay_and_own_are_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("mine", "utf-8")
        (tmp_path / "contact_sheet.png").write_bytes(b"old")
        demo.run(tmp_path)
        assert (tmp_path / "notes.txt").read_text("utf-8") == "mine"
        assert (tmp_path / "contact_sheet.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.usefixtures("one_pair")
    def test_a_link_is_replaced_and_never_followed(self, tmp_path: Path) -> None:
        precious = tmp_path / "precious.png"
        precious.write_bytes(b"precious")
        out = tmp_path / "out"
        out.mkdir()
        (out / "contact_sheet.png").symlink_to(precious)
        demo.run(out)
        assert precious.read_bytes() == b"precious"
        assert not (out / "contact_sheet.png").is_symlink()

    @pytest.mark.usefixtures("one_pair")
    def test_a_folder_that_is_a_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "taken").write_text("x", "utf-8")
        with pytest.raises(RecoloristError, match=r"could not write into .*taken .*--out"):
            demo.run(tmp_path / "taken")

    @pytest.mark.usefixtures("one_pair")
    def test_a_failed_move_keeps_the_old_file_and_leaves_no_litter(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "faded_content.png").write_bytes(b"old")

        def full(self: Path, target: Path) -> Path:
            raise OSError(28, os.strerror(28), str(self), None, str(target))

        monkeypatch.setattr(Path, "replace", full)
        with pytest.raises(RecoloristError, match="No space left"):
            demo.run(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["faded_content.png"]
        assert (tmp_path / "faded_content.png").read_bytes() == b"old"

    def test_a_missing_picture_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
        with pytest.raises(RecoloristError, match=r"ihc\.png, which comes with scikit-image"):
            demo_pairs._bundled("ihc.png")
