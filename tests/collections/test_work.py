"""What is done with each image: options are checked on every route, masks are kept to, and records say what was done."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist import collections as batch
from recolorist.augment.colorist import Colorist, PreprocessingWarning
from recolorist.collections import Masks, match_file
from recolorist.core.options import MatchOptions
from recolorist.errors import OptionError
from recolorist.io.images import Reading, read_image
from tests.commands import picture

STYLE = rc.measure(picture(9))
STRIPS = Reading(max_pixels=1000)  # every larger NPY or TIFF goes through in strips


def slide_pixels(tissue_rows: int = 150, rows: int = 250, width: int = 300) -> NDArray[np.uint8]:
    """Tissue above, glass of slightly different brightness below."""
    pixels = np.random.default_rng(0).integers(235, 256, (rows, width, 3)).astype(np.uint8)
    pixels[:tissue_rows] = picture(3, (rows, width))[:tissue_rows] // 2 + 40
    return pixels


def saved(folder: Path, pixels: NDArray[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    np.save(folder / "a.npy", pixels)
    return folder


class TestOptionsAreChecked:
    """A wrong option is a sentence before any file is read; it never reaches a record."""

    @pytest.mark.parametrize(
        "options",
        [
            {"method": "mean_sdt"},
            {"space": "cmyk"},
            {"apply_to": "maks"},
            {"strength": 7},
            {"strength": (0.5, 1.0)},
            {"max_gain": -1},
            {"mask": "tisue"},
            {"quality": 0},
        ],
        ids=str,
    )
    def test_harmonise(self, tmp_path: Path, options: dict[str, Any]) -> None:
        with pytest.raises(OptionError, match=next(iter(options))):
            batch.harmonise(tmp_path / "not there", tmp_path / "out", STYLE, **options)
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("method", ["histogram", "exact_histogram"])
    def test_harmonise_refuses_methods_that_need_pixels(self, tmp_path: Path, folder: Path, method: str) -> None:
        with pytest.raises(OptionError, match=r"needs the pixels of the style.*mean_std or covariance"):
            batch.harmonise(folder, tmp_path / "out", STYLE, method=method)
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        "options",
        [
            {"method": "mean_sdt"},
            {"space": "cmyk"},
            {"apply_to": "maks"},
            {"strength": 7},
            {"max_gain": -1},
            {"max_clip": 2},
            {"mask": "tisue"},
            {"p": -1},
            {"quality": 101},
        ],
        ids=str,
    )
    def test_augment(self, tmp_path: Path, bank: rc.StyleBank, options: dict[str, Any]) -> None:
        with pytest.raises(OptionError, match=next(iter(options))):
            batch.augment(tmp_path / "not there", tmp_path / "out", bank, **options)
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("options", [{"space": "cmyk"}, {"mask": "tisue"}], ids=str)
    def test_build_bank(self, tmp_path: Path, options: dict[str, Any]) -> None:
        with pytest.raises(OptionError, match=next(iter(options))):
            batch.build_bank(tmp_path / "not there", **options)

    def test_audit_and_drift(self, tmp_path: Path) -> None:
        bank = rc.StyleBank.build(np.stack([picture(i) for i in range(16)]))
        with pytest.raises(OptionError, match="mask"):
            batch.audit(tmp_path / "not there", mask="tisue")
        with pytest.raises(OptionError, match="mask"):
            batch.drift(bank, tmp_path / "not there", mask="tisue")

    @pytest.mark.parametrize("options", [{"method": "covariance"}, {"space": "lab", "strength": 0.3}, {"max_gain": 1.5}], ids=str)
    def test_recorded_plans_repeat_the_output(self, tmp_path: Path, folder: Path, options: dict[str, Any]) -> None:
        style = rc.measure(picture(9), space=options.get("space", "rgb"))
        for record in batch.harmonise(folder, tmp_path / "out", style, **options).records:
            plan = rc.Plan.from_json(json.dumps(record["plan"]))
            assert {name: getattr(plan, name) for name in options} == options
            source = read_image(folder / record["source"])
            assert np.array_equal(rc.apply(source, plan), read_image(tmp_path / "out" / record["output"]))


class TestApplyToMask:
    """Pixels outside the mask keep their bytes, for whole images and in strips alike."""

    @pytest.mark.parametrize("reading", [Reading(), STRIPS], ids=["whole", "strips"])
    @pytest.mark.parametrize("pool", [False, True], ids=["alone", "pooled"])
    def test_harmonise_keeps_the_glass(self, tmp_path: Path, reading: Reading, pool: bool) -> None:
        pixels = slide_pixels()
        source = saved(tmp_path / "in", pixels)
        options: dict[str, Any] = {"mask": "tissue", "apply_to": "mask", "pool": pool}
        assert batch.harmonise(source, tmp_path / "out", STYLE, reading=reading, **options).failures == []
        after = read_image(tmp_path / "out" / "a.npy")
        assert np.array_equal(after[150:], pixels[150:])
        tissue = pixels.min(axis=-1) < 0.86 * 255
        assert np.array_equal(after, rc.match(pixels, STYLE, mask=tissue, apply_to="mask"))

    @pytest.mark.parametrize("reading", [Reading(), STRIPS], ids=["whole", "strips"])
    def test_augment_keeps_the_glass(self, tmp_path: Path, bank: rc.StyleBank, reading: Reading) -> None:
        pixels = slide_pixels()
        source = saved(tmp_path / "in", pixels)
        batch.augment(source, tmp_path / "out", bank, mask="tissue", apply_to="mask", reading=reading)
        after = read_image(tmp_path / "out" / "a.npy")
        assert np.array_equal(after[150:], pixels[150:])
        with pytest.warns(PreprocessingWarning, match="37 x 53"):
            expected = Colorist(bank, 1.0, seed=0, mask="tissue", apply_to="mask")(pixels, key="a.npy")
        assert np.array_equal(after, expected)

    @pytest.mark.parametrize("pool", [False, True], ids=["alone", "pooled"])
    def test_a_rule_that_finds_nothing_changes_all_pixels_if_blank_images_are_matched(self, tmp_path: Path, pool: bool) -> None:
        pixels = slide_pixels(tissue_rows=1)  # less than a hundredth
        source = saved(tmp_path / "in", pixels)
        options: dict[str, Any] = {"mask": "tissue", "apply_to": "mask", "pool": pool, "blank": "match"}
        for name, reading in (("whole", Reading()), ("strips", STRIPS)):
            batch.harmonise(source, tmp_path / name, STYLE, reading=reading, **options)
        whole, strips = (read_image(tmp_path / name / "a.npy") for name in ("whole", "strips"))
        assert np.array_equal(whole, rc.match(pixels, STYLE))
        assert np.array_equal(whole, strips)

    @pytest.mark.parametrize("tissue_rows", [1, 150])
    def test_match_with_a_saved_plan(self, tmp_path: Path, tissue_rows: int) -> None:
        pixels = slide_pixels(tissue_rows)
        source = saved(tmp_path / "in", pixels) / "a.npy"
        masks, options = Masks("tissue"), MatchOptions(apply_to="mask")
        plan = rc.plan(rc.measure(pixels), STYLE)
        for name, reading in (("whole", Reading()), ("strips", STRIPS)):
            with nullcontext() if tissue_rows == 150 else pytest.warns(PreprocessingWarning, match="finds no foreground"):
                match_file(source, plan, tmp_path / f"{name}.npy", options, masks=masks, reading=reading)
        whole, strips = (read_image(tmp_path / f"{name}.npy") for name in ("whole", "strips"))
        assert np.array_equal(whole, strips)
        assert np.array_equal(whole[150:], pixels[150:]) is (tissue_rows == 150)


class TestRecordedAudit:
    """The audit in a record counts what was written."""

    def half_clipped(self) -> NDArray[np.uint8]:
        """Flat glass that a plan for the tissue would clip, and tissue that it would not."""
        pixels = np.full((20, 30, 3), 250, np.uint8)
        pixels[:10] = np.random.default_rng(1).integers(90, 110, (10, 30, 3))
        return pixels

    @pytest.mark.parametrize("full_audit", [False, True], ids=["short", "full"])
    def test_pixels_outside_the_mask_are_not_counted(self, tmp_path: Path, full_audit: bool) -> None:
        source = saved(tmp_path / "in", self.half_clipped())
        style = rc.Moments(1, [140.0] * 3, np.eye(3) * 400.0, 255.0)
        options: dict[str, Any] = {"mask": "tissue", "full_audit": full_audit}
        kept = batch.harmonise(source, tmp_path / "mask", style, apply_to="mask", **options).records[0]
        changed = batch.harmonise(source, tmp_path / "all", style, **options).records[0]
        assert kept["plan"] == changed["plan"]
        assert kept["audit"]["clipped_overall"] == 0.0
        assert changed["audit"]["clipped_overall"] == 0.5

    @pytest.mark.parametrize("scale", [1, 257], ids=["8 bits", "16 bits"])
    @pytest.mark.parametrize("options", [{}, {"method": "covariance"}, {"space": "yiq"}], ids=str)
    def test_equals_an_audit_of_the_output(self, tmp_path: Path, scale: int, options: dict[str, Any]) -> None:
        pixels = (slide_pixels().astype(np.uint16) * scale).astype(np.uint8 if scale == 1 else np.uint16)
        source = saved(tmp_path / "in", pixels)
        style = rc.Moments(1, [200.0] * 3, np.eye(3) * 4000.0, 255.0)
        for apply_to in ("all", "mask"):
            record = batch.harmonise(source, tmp_path / apply_to, style, mask="tissue", apply_to=apply_to, **options).records[0]
            plan = rc.Plan.from_json(json.dumps(record["plan"]))
            mask = pixels.min(axis=-1) < 0.86 * 255 * scale if apply_to == "mask" else None
            expected = rc.audit(pixels, plan, mask=mask)
            assert expected.clipped_overall > 0.01
            assert record["audit"]["clipped"] == pytest.approx(expected.clipped.tolist(), abs=1e-15)

    def test_augment(self, tmp_path: Path) -> None:
        source = saved(tmp_path / "in", self.half_clipped())
        bank = rc.StyleBank(np.full((1, 3), 0.55), np.eye(3)[None] * 0.006, np.array([9]), ["s"], split="train")
        kept = batch.augment(source, tmp_path / "mask", bank, mask="tissue", apply_to="mask").records[0]
        changed = batch.augment(source, tmp_path / "all", bank, mask="tissue").records[0]
        assert (kept["audit"]["clipped_overall"], changed["audit"]["clipped_overall"]) == (0.0, 0.5)

    def test_match_by_histogram(self, tmp_path: Path) -> None:
        """Without a plan the share is estimated, from the pixels that were changed."""
        np.save(tmp_path / "a.npy", self.half_clipped())
        np.save(tmp_path / "s.npy", picture(9))
        done = match_file(
            tmp_path / "a.npy",
            tmp_path / "s.npy",
            tmp_path / "o.npy",
            MatchOptions("histogram", apply_to="mask"),
            masks=Masks("tissue"),
        )
        inside = self.half_clipped().min(axis=-1) < 0.86 * 255
        expected = rc.audit(self.half_clipped(), read_image(tmp_path / "o.npy"), mask=inside)
        assert done.audit is not None
        assert done.audit.to_json() == expected.to_json()


def test_images_with_declared_bits_are_augmented(tmp_path: Path, bank: rc.StyleBank) -> None:
    """12 bits in 16: the range belongs to the image, not to the check of the options."""
    pixels = picture(8).astype(np.uint16) * 16
    source = saved(tmp_path / "in", pixels)
    result = batch.augment(source, tmp_path / "out", bank, reading=Reading(bits=12))
    assert result.failures == []
    expected = Colorist(bank, 1.0, seed=0, data_range=4095.0)(pixels, key="a.npy")
    assert np.array_equal(read_image(tmp_path / "out" / "a.npy"), expected)


GLASS = np.random.default_rng(0).normal(243, 2, (40, 30, 3)).round().clip(0, 255).astype(np.uint8)


class TestBlank:
    """Images with nothing in them stay as they are and are flagged, whole and in strips."""

    @pytest.mark.parametrize("reading", [Reading(), STRIPS], ids=["whole", "strips"])
    @pytest.mark.parametrize("mask", [None, "tissue"])
    def test_harmonise_leaves_glass_as_it_is(self, tmp_path: Path, reading: Reading, mask: str | None) -> None:
        source = saved(tmp_path / "in", GLASS)
        (record,) = batch.harmonise(source, tmp_path / "out", STYLE, mask=mask, reading=reading).records
        assert np.array_equal(read_image(tmp_path / "out" / "a.npy"), GLASS)
        assert (record["style"], record["strength"], record["plan"]) == (None, 0.0, None)
        assert record["audit"]["flags"] == [["blank"]] * 3

    @pytest.mark.parametrize("reading", [Reading(), STRIPS], ids=["whole", "strips"])
    def test_a_rule_that_finds_nothing_leaves_the_image_as_it_is(self, tmp_path: Path, reading: Reading) -> None:
        pixels = slide_pixels(tissue_rows=1)
        (record,) = batch.harmonise(
            saved(tmp_path / "in", pixels), tmp_path / "out", STYLE, mask="tissue", reading=reading
        ).records
        assert np.array_equal(read_image(tmp_path / "out" / "a.npy"), pixels)
        assert record["audit"]["flags"] == [["blank"]] * 3

    @pytest.mark.parametrize("reading", [Reading(), STRIPS], ids=["whole", "strips"])
    def test_tissue_everywhere_is_not_taken_for_none(self, tmp_path: Path, reading: Reading) -> None:
        pixels = np.random.default_rng(0).integers(40, 180, (60, 50, 3), dtype=np.uint8)
        batch.harmonise(saved(tmp_path / "in", pixels), tmp_path / "out", STYLE, mask="tissue", reading=reading)
        assert np.array_equal(read_image(tmp_path / "out" / "a.npy"), rc.match(pixels, STYLE))

    def test_match_amplifies_it(self, tmp_path: Path) -> None:
        batch.harmonise(saved(tmp_path / "in", GLASS), tmp_path / "out", STYLE, blank="match")
        assert np.array_equal(read_image(tmp_path / "out" / "a.npy"), rc.match(GLASS, STYLE))

    def test_a_tile_of_glass_goes_with_its_slide_if_tiles_are_pooled(self, tmp_path: Path) -> None:
        folder = saved(tmp_path / "in", GLASS)
        np.save(folder / "b.npy", picture(3))
        batch.harmonise(folder, tmp_path / "out", STYLE, pool=True)
        after = read_image(tmp_path / "out" / "a.npy")
        assert not np.array_equal(after, GLASS)
        assert after.std() < 3 * GLASS.std()  # by the gain of the slide, not by ten

    @pytest.mark.parametrize("reading", [Reading(), STRIPS], ids=["whole", "strips"])
    def test_augment_leaves_glass_as_it_is(self, tmp_path: Path, bank: rc.StyleBank, reading: Reading) -> None:
        (record,) = batch.augment(saved(tmp_path / "in", GLASS), tmp_path / "out", bank, reading=reading).records
        assert np.array_equal(read_image(tmp_path / "out" / "a.npy"), GLASS)
        assert (record["style"], record["audit"]["flags"]) == (None, [["blank"]] * 3)

    def test_other_images_draw_the_same_styles_beside_a_blank_one(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        folder = saved(tmp_path / "in", picture(3))
        before = batch.augment(folder, tmp_path / "before", bank).records
        np.save(folder / "_first.npy", GLASS)
        after = batch.augment(folder, tmp_path / "after", bank).records
        assert [record for record in after if record["source"] == "a.npy"][0]["plan"] == before[0]["plan"]  # noqa: RUF015

    @pytest.mark.parametrize("reading", [Reading(), STRIPS], ids=["whole", "strips"])
    def test_a_bank_leaves_glass_out_unless_asked(self, tmp_path: Path, reading: Reading) -> None:
        folder = saved(tmp_path / "in", GLASS)
        np.save(folder / "b.npy", picture(3))
        bank = batch.build_bank(folder, reading=reading).bank
        assert (bank.keys, [gone.key for gone in bank.left_out], bank.blank) == (("b.npy",), ["a.npy"], "left out")
        assert batch.build_bank(folder, reading=reading, with_blank=True).bank.keys == ("a.npy", "b.npy")

    def test_a_slide_of_glass_stays_as_it_is_if_tiles_are_pooled(self, tmp_path: Path) -> None:
        folder = saved(tmp_path / "in", GLASS)
        np.save(folder / "b.npy", GLASS[::-1])
        records = batch.harmonise(folder, tmp_path / "out", STYLE, pool=True).records
        assert [record["gate"]["reason"] for record in records] == ["blank", "blank"]
        assert np.array_equal(read_image(tmp_path / "out" / "b.npy"), GLASS[::-1])


class TestStrips:
    """An image that goes through in strips is treated as one in memory is."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        return saved(tmp_path / "in", picture(3, (60, 50)))

    def test_an_image_that_draws_nothing_is_copied(self, tmp_path: Path, source: Path, bank: rc.StyleBank) -> None:
        (record,) = batch.augment(source, tmp_path / "out", bank, p=0.0, reading=STRIPS).records
        assert (record["style"], record["plan"], record["strength"]) == (None, None, 0.0)
        assert np.array_equal(read_image(tmp_path / "out" / "a.npy"), read_image(source / "a.npy"))

    @pytest.mark.parametrize("options", [{"full_audit": True}, {"max_clip": 0.001}], ids=str)
    def test_the_record_counts_what_was_clipped(self, tmp_path: Path, source: Path, options: dict[str, Any]) -> None:
        style = rc.Moments(1, [200.0] * 3, np.eye(3) * 6000.0, 255.0)
        whole, strips = (
            batch.harmonise(source, tmp_path / name, style, reading=reading, **options).records[0]
            for name, reading in (("whole", Reading()), ("strips", STRIPS))
        )
        assert strips["plan"] == whole["plan"]
        for name in ("clipped_overall", "loss_share", "loss_worst"):
            assert strips["audit"][name] == pytest.approx(whole["audit"][name], abs=1e-12)
        assert strips["audit"]["flags"] == whole["audit"]["flags"]
        assert (strips["audit"]["clipped_overall"] > 0.01) is ("full_audit" in options)

    @pytest.mark.parametrize("depth", [3, 4])
    @pytest.mark.parametrize("options", [{}, {"full_audit": True}, {"full_audit": True, "blank": "match"}], ids=str)
    def test_glass_is_recorded_as_in_the_whole_image(self, tmp_path: Path, depth: int, options: dict[str, Any]) -> None:
        """It is flagged whether or not it is matched, the gate says why it is left, and alpha is no channel of the audit."""
        pixels = np.concatenate([GLASS, np.full((40, 30, depth - 3), 200, np.uint8)], axis=-1)
        source = saved(tmp_path / "in", pixels)
        whole, strips = (
            batch.harmonise(source, tmp_path / name, STYLE, reading=reading, **options).records[0]
            for name, reading in (("whole", Reading()), ("strips", STRIPS))
        )
        assert strips["gate"] == whole["gate"]
        assert whole["gate"]["reason"] == ("ungated" if "blank" in options else "blank")
        for name in ("clipped_overall", "flags"):
            assert strips["audit"][name] == whole["audit"][name]
        assert all("blank" in flags for flags in strips["audit"]["flags"])
        assert np.array_equal(read_image(tmp_path / "whole" / "a.npy"), read_image(tmp_path / "strips" / "a.npy"))

    def test_methods_that_need_its_pixels_are_a_failure_of_this_image(self, tmp_path: Path, source: Path) -> None:
        np.save(source / "small.npy", picture(4, (20, 30)))
        bank = rc.StyleBank.build([picture(i) for i in range(3)], split="train", with_histograms=True)
        result = batch.augment(source, tmp_path / "out", bank, method="histogram", reading=STRIPS)
        assert [record["source"] for record in result.records] == ["small.npy"]
        (failure,) = result.failures
        assert failure.key == "a.npy"
        assert "method='histogram' needs the image in memory; raise max_pixels" in failure.message

    def test_a_bank_with_histograms_leaves_it_out(self, source: Path) -> None:
        np.save(source / "small.npy", picture(4, (20, 30)))
        result = batch.build_bank(source, with_histograms=True, reading=STRIPS)
        assert result.bank.keys == ("small.npy",)
        assert [failure.key for failure in result.failures] == ["a.npy"]
        assert "histograms of images that go through in strips are not kept" in result.failures[0].message


@pytest.mark.filterwarnings("ignore::recolorist.bank.drift.SmallBankWarning")
@pytest.mark.parametrize("pool", [False, True], ids=["alone", "pooled"])
@pytest.mark.parametrize("reading", [Reading(), STRIPS], ids=["whole", "strips"])
def test_an_image_inside_the_bank_is_left_as_it_is(tmp_path: Path, reading: Reading, pool: bool) -> None:
    images = [picture(i, (60, 50)) for i in range(20)]
    bank = rc.StyleBank.build(images, split="train")
    source = saved(tmp_path / "in", images[3])
    (record,) = batch.harmonise(source, tmp_path / "out", bank, pool=pool, reading=reading).records
    assert (record["gate"]["reason"], record["plan"], record["audit"]["clipped_overall"]) == ("inside", None, 0.0)
    assert record["gate"]["distance"] <= record["gate"]["edge"]
    assert np.array_equal(read_image(tmp_path / "out" / "a.npy"), images[3])
    np.save(source / "a.npy", images[3] // 4)
    (record,) = batch.harmonise(source, tmp_path / "out2", bank, pool=pool, reading=reading).records
    assert record["gate"]["reason"] == "outside"
    assert np.array_equal(read_image(tmp_path / "out2" / "a.npy"), rc.match(images[3] // 4, bank.average()))
