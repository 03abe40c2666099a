"""Collections as functions: same result for any number of processes, and nothing lost, overwritten or done twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

import recolorist as rc
from recolorist import collections as batch
from recolorist.augment.colorist import Colorist
from recolorist.collections import Where
from recolorist.errors import ImageError, OptionError, RecoloristError, StatisticsError
from recolorist.io.images import Reading, read_image
from recolorist.io.write import encode
from tests.commands import collection, contents, picture

TWO = Where(jobs=2)


def mixed_collection(folder: Path) -> Path:
    """JPEG files plain, progressive, with coarse colours, turned, and with a profile; PNG files with alpha and of 16 bits."""
    folder.mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    kinds: list[dict[str, Any]] = [{}, {"progressive": True}, {"subsampling": 2}, {"exif": exif}, {"icc_profile": b"p" * 99}]
    for i, options in enumerate(kinds):
        Image.fromarray(picture(i)).save(folder / f"{i}.jpg", quality=90, **options)
    Image.fromarray(picture(7, channels=4)).save(folder / "alpha.png")
    (folder / "deep.png").write_bytes(encode(picture(8).astype(np.uint16) * 257, ".png"))
    return folder


class TestBank:
    def test_the_same_for_any_number_of_processes(self, tmp_path: Path) -> None:
        folder = collection(tmp_path / "many", 40)
        one, two = (batch.build_bank(folder, where=Where(jobs=jobs)).bank for jobs in (1, 2))
        assert one.fingerprint == two.fingerprint == rc.StyleBank.from_folder(folder).fingerprint
        assert one.keys == two.keys

    def test_bad_files_are_named_and_the_rest_is_measured(self, folder: Path) -> None:
        (folder / "bad.png").write_bytes(b"nothing")
        (folder / "empty.jpg").touch()
        Image.fromarray(picture()[..., 0]).save(folder / "grey.png")
        result = batch.build_bank(folder)
        assert len(result.bank) == 6
        assert [failure.key for failure in result.failures] == ["bad.png", "empty.jpg", "grey.png"]
        assert "1 channel(s), most others have 3" in result.failures[2].message

    def test_all_bad(self, tmp_path: Path) -> None:
        (tmp_path / "bad.png").write_bytes(b"nothing")
        with pytest.raises(ImageError, match=r"none of 1 file\(s\) could be measured"):
            batch.build_bank(tmp_path)

    def test_options_reach_the_pixels(self, folder: Path) -> None:
        tissue = batch.build_bank(folder, mask="tissue", space="lab", with_histograms=True).bank
        assert (tissue.space, tissue.histograms is not None) == ("lab", True)
        assert batch.build_bank(folder, space="yiq").bank.space == "rgb"

    def test_huge_files_go_through_in_strips(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", picture(0, (300, 300)))
        whole = batch.build_bank(tmp_path).bank
        assert batch.build_bank(tmp_path, reading=Reading(max_pixels=1000)).bank.fingerprint == whole.fingerprint


class TestAugment:
    def test_equals_the_augmentation_image_by_image(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        result = batch.augment(folder, tmp_path / "out", bank, copies=2, seed=5, where=TWO)
        aug = Colorist(bank, 1.0, seed=5)
        for record in result.records:
            expected = aug(read_image(folder / record["source"]), key=record["source"], epoch=record["copy"])
            assert np.array_equal(read_image(tmp_path / "out" / record["output"]), expected)
        assert len(result.records) == 12
        assert {record["output"] for record in result.records} >= {
            "hospital_a/benign/tile 000_1.png",
            "hospital_a/benign/tile 000_2.png",
        }

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    @pytest.mark.parametrize("max_pixels", [10**6, 800], ids=["whole", "strips"])
    def test_changes_of_own_styles_are_recorded_as_they_were_made(
        self, tmp_path: Path, bank: rc.StyleBank, method: str, max_pixels: int
    ) -> None:
        """The change becomes a plan with the moments of the image, and that plan is what is written down."""
        tiffs = tmp_path / "tiffs"
        tiffs.mkdir()
        for number in range(3):
            tifffile.imwrite(tiffs / f"{number}.tif", picture(number), photometric="rgb", tile=(16, 16))
        options: dict[str, Any] = {"sampler": "own_style", "method": method, "p": 1.0, "seed": 7}
        result = batch.augment(tiffs, tmp_path / "out", bank, reading=Reading(max_pixels=max_pixels), **options)
        assert not result.failures
        lines = (tmp_path / "out" / "provenance.jsonl").read_text("utf-8").splitlines()
        assert len(lines) == 3
        aug = rc.Colorist(bank, **options)
        for line in lines:
            record = json.loads(line)
            plan = rc.Plan.from_json(json.dumps(record["plan"]))
            source = read_image(tiffs / record["source"])
            assert plan == aug.params(source, key=record["source"], epoch=0).plan
            assert np.array_equal(rc.apply(source, plan), read_image(tmp_path / "out" / record["output"]))
            assert record["style"] == "own_style(1, 0.1, 0.1)"

    def test_provenance_is_enough_to_do_it_again(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        batch.augment(folder, tmp_path / "out", bank)
        lines = (tmp_path / "out" / "provenance.jsonl").read_text("utf-8").splitlines()
        assert len(lines) == 6
        for line in lines:
            record = json.loads(line)
            plan = rc.Plan.from_json(json.dumps(record["plan"]))
            source = read_image(folder / record["source"])
            assert np.array_equal(rc.apply(source, plan), read_image(tmp_path / "out" / record["output"]))
            assert record["audit"]["clipped_overall"] == rc.audit(source, plan).clipped_overall
            assert record["style"] in bank.keys
            assert record["style"] != record["source"]
        assert sorted(contents(tmp_path / "out")) == sorted([*(json.loads(line)["output"] for line in lines), "provenance.jsonl"])

    @pytest.mark.parametrize(
        "options", [{}, {"copies": 2, "p": 0.6, "strength": (0.2, 1.0)}, {"max_clip": 0.001}, {"max_gain": 0.5}], ids=str
    )
    def test_a_full_audit_changes_neither_pixels_nor_plans(
        self, tmp_path: Path, bank: rc.StyleBank, options: dict[str, Any]
    ) -> None:
        mixed = mixed_collection(tmp_path / "mixed")
        short = batch.augment(mixed, tmp_path / "short", bank, **options)
        full = batch.augment(mixed, tmp_path / "full", bank, full_audit=True, **options)
        assert len(short.records) == 7 * options.get("copies", 1)
        for one, other in zip(short.records, full.records, strict=True):
            assert (one["plan"], one["sha256"], one["style"]) == (other["plan"], other["sha256"], other["style"])
            assert one["audit"]["clipped"] == pytest.approx(other["audit"]["clipped"], abs=1e-15)

    def test_jpeg_equals_the_augmentation_image_by_image(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        mixed = mixed_collection(tmp_path / "mixed")
        result = batch.augment(mixed, tmp_path / "out", bank, seed=3, strength=(0.0, 1.0), where=TWO)
        aug = Colorist(bank, 1.0, seed=3, strength=(0.0, 1.0))
        jpegs = [record for record in result.records if record["source"].endswith(".jpg")]
        assert len(jpegs) == 5
        for record in jpegs:
            source = read_image(mixed / record["source"])
            decision = aug.params(source, key=record["source"])
            assert rc.Plan.from_json(json.dumps(record["plan"])) == decision.plan
            assert (tmp_path / "out" / record["output"]).read_bytes() == encode(aug.apply(source, decision), ".jpg")
            assert record["audit"]["clipped"] == rc.audit(source, decision.plan).clipped.tolist()

    def test_the_same_for_any_number_of_processes(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        many = collection(tmp_path / "many", 40)
        for jobs in (1, 2):
            batch.augment(many, tmp_path / str(jobs), bank, where=Where(jobs=jobs))
        assert contents(tmp_path / "1") == contents(tmp_path / "2")

    @pytest.mark.parametrize(
        "options", [{"method": "histogram"}, {"space": "lab"}, {"sampler": "other_domain"}, {"full_audit": True}]
    )
    def test_options(self, tmp_path: Path, folder: Path, options: dict[str, Any]) -> None:
        bank = batch.build_bank(folder, domain_from=0, with_histograms=True, space=options.get("space", "rgb")).bank
        result = batch.augment(folder, tmp_path / "out", bank, domain_from=0, **options)
        assert (len(result.records), result.failures) == (6, [])
        domains = [(record["source"].split("/")[0], str(record["style"]).split("/")[0]) for record in result.records]
        assert options != {"sampler": "other_domain"} or all(own != other for own, other in domains)

    def test_probability(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        result = batch.augment(folder, tmp_path / "out", bank, p=0.0)
        assert all(record["style"] is None for record in result.records)
        for record in result.records:
            assert np.array_equal(read_image(folder / record["source"]), read_image(tmp_path / "out" / record["output"]))

    @pytest.mark.parametrize("options", [{"p": 2}, {"copies": 0}, {"sampler": "best"}, {"method": "magic"}, {"strength": 3}])
    def test_wrong_options_are_refused_before_anything_is_written(
        self, tmp_path: Path, folder: Path, bank: rc.StyleBank, options: dict[str, Any]
    ) -> None:
        with pytest.raises(RecoloristError):
            batch.augment(folder, tmp_path / "out", bank, **options)
        assert not (tmp_path / "out").exists()

    def test_another_split_is_refused(self, tmp_path: Path, folder: Path) -> None:
        held_out = batch.build_bank(folder, split="test").bank
        with pytest.raises(OptionError, match="would leak"):
            batch.augment(folder, tmp_path / "out", held_out)
        assert batch.augment(folder, tmp_path / "out", held_out, allow_split=True).failures == []

    def test_stacks_become_files(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        np.save(tmp_path / "s.npy", np.stack([picture(i) for i in range(3)]))
        batch.augment(tmp_path / "s.npy", tmp_path / "out", bank)
        assert sorted(contents(tmp_path / "out")) == ["000000.png", "000001.png", "000002.png", "provenance.jsonl"]

    def test_huge_images(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        (tmp_path / "big").mkdir()
        np.save(tmp_path / "big" / "a.npy", picture(0, (300, 300)))
        whole = batch.augment(tmp_path / "big", tmp_path / "whole", bank)
        strips = batch.augment(tmp_path / "big", tmp_path / "strips", bank, reading=Reading(max_pixels=1000))
        assert strips.failures == []
        assert whole.records[0]["plan"] == strips.records[0]["plan"]
        assert (tmp_path / "whole" / "a.npy").read_bytes()[-270000:] == (tmp_path / "strips" / "a.npy").read_bytes()[-270000:]


class TestHarmonise:
    def test_every_image_gets_the_style(self, tmp_path: Path, folder: Path) -> None:
        style = rc.measure(picture(9))
        result = batch.harmonise(folder, tmp_path / "out", style, style_name="nine")
        for record in result.records:
            expected = rc.match(read_image(folder / record["source"]), style)
            assert np.array_equal(read_image(tmp_path / "out" / record["output"]), expected)
            assert record["style"] == "nine"

    def test_pooled_tiles_keep_their_differences(self, tmp_path: Path) -> None:
        dark, pale = picture(0) // 2, picture(0) // 2 + 100
        for name, pixels in (("slide/dark.png", dark), ("slide/pale.png", pale)):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / name)
        style = rc.Moments(1, [120.0] * 3, np.eye(3) * 400.0, 255.0)
        batch.harmonise(tmp_path / "slide", tmp_path / "apart", style)
        batch.harmonise(tmp_path / "slide", tmp_path / "pooled", style, pool=True)
        apart, pooled = (
            [float(read_image(tmp_path / way / name).mean()) for name in ("dark.png", "pale.png")] for way in ("apart", "pooled")
        )
        assert abs(apart[1] - apart[0]) < 1
        assert pooled[1] - pooled[0] > 20
        both = np.concatenate([read_image(tmp_path / "pooled" / name) for name in ("dark.png", "pale.png")])
        assert np.abs(both.mean(axis=(0, 1)) - 120).max() < 0.5


class TestResume:
    def test_skips_what_is_done_and_verifies_it(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        whole = contents(out)
        lost, *others = sorted(name for name in whole if name.endswith(".png"))
        (out / lost).unlink()
        before = {name: (out / name).stat().st_mtime_ns for name in others}
        result = batch.augment(folder, out, bank, resume=True)
        assert (result.kept, len(result.records), result.failures) == (5, 6, [])
        assert contents(out) == whole
        assert {name: (out / name).stat().st_mtime_ns for name in others} == before

    def test_a_changed_output_is_named_and_not_touched(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        victim = next(out.rglob("*.png"))
        whole = victim.read_bytes()
        victim.write_bytes(whole[:-1])
        result = batch.augment(folder, out, bank, resume=True)
        assert [failure.key for failure in result.failures] == [victim.relative_to(out).as_posix()]
        assert "differs from what was recorded" in result.failures[0].message
        assert victim.read_bytes() == whole[:-1]
        assert batch.augment(folder, out, bank, resume=True, force=True).failures == []
        assert victim.read_bytes() == whole

    def test_a_changed_source_or_option_is_done_again(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        Image.fromarray(picture(77)).save(folder / "hospital_a" / "benign" / "tile 000.png")
        result = batch.augment(folder, out, bank, resume=True)
        assert [failure.key for failure in result.failures] == ["hospital_a/benign/tile 000.png"]  # it would replace a file
        assert batch.augment(folder, out, bank, resume=True, force=True).kept == 5
        assert batch.augment(folder, out, bank, seed=1, resume=True, force=True).kept == 0

    def test_a_torn_journal_and_half_files_are_swept_up(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        whole = contents(out)
        lines = (out / "provenance.jsonl").read_bytes().splitlines(keepends=True)
        (out / "provenance.jsonl").unlink()
        (out / ".provenance.journal").write_bytes(b"".join(lines[:3]) + lines[3][:20])
        (out / "hospital_a" / ".x.0.recolorist.part").write_bytes(b"half")
        result = batch.augment(folder, out, bank, resume=True)
        assert (result.kept, result.failures) == (3, [])
        assert contents(out) == whole

    def test_nothing_is_overwritten(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        before = contents(out)
        with pytest.raises(OptionError, match=r"7 of the outputs exist.*resume=True.*force=True"):
            batch.augment(folder, out, bank, seed=1)
        assert contents(out) == before
        batch.augment(folder, out, bank, seed=1, force=True)
        assert contents(out) != before


class TestClashes:
    def test_two_sources_one_output(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        (folder / "x.dcm").write_bytes(b"\0" * 128 + b"DICM")
        (folder / "x.png").write_bytes(encode(picture(), ".png"))
        with pytest.raises(OptionError, match=r"x\.dcm and x\.png would both be written as x\.png"):
            batch.augment(folder, tmp_path / "out", bank)

    @pytest.mark.parametrize("inside", [".", "below"])
    def test_a_target_inside_the_source(self, folder: Path, bank: rc.StyleBank, inside: str) -> None:
        with pytest.raises(OptionError, match="lies inside the source"):
            batch.augment(folder, folder / inside, bank)


class TestDrift:
    def test_the_same_images_are_inside_and_others_are_not(self, tmp_path: Path) -> None:
        folder = collection(tmp_path / "data", 60)
        bank = batch.build_bank(folder).bank
        result = batch.drift(bank, folder)
        assert result.overall.share < 0.05
        assert [group.name for group in result.groups] == ["hospital_a", "hospital_b"]
        for path in folder.rglob("*.png"):
            shifted = np.clip(read_image(path).astype(int) + np.array([0, 0, 90]), 0, 255).astype(np.uint8)
            Image.fromarray(shifted).save(path)
        moved = batch.drift(bank, folder)
        assert moved.overall.drifted
        assert moved.overall.to_dict()["words"].startswith("blue")
        assert sum(line["outside"] for line in moved.lines) == moved.overall.outside

    def test_grey_and_colour(self, tmp_path: Path) -> None:
        folder = collection(tmp_path / "data", 60)
        Image.fromarray(picture()[..., 0]).save(tmp_path / "grey.png")
        with pytest.raises(StatisticsError, match="must agree"):
            batch.drift(batch.build_bank(folder).bank, tmp_path / "grey.png")


@pytest.mark.parametrize("limits", [{"max_clip": 0.1}, {"max_loss": 0.1}])
def test_pooled_images_have_no_limits_of_their_own(tmp_path: Path, folder: Path, limits: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="pool maps all images of a folder alike"):
        batch.harmonise(folder, tmp_path / "out", rc.measure(picture()), pool=True, **limits)
    assert not (tmp_path / "out").exists()


def test_a_name_that_the_package_does_not_have() -> None:
    with pytest.raises(AttributeError, match=r"module 'recolorist\.collections' has no attribute 'harmonize'"):
        _ = batch.harmonize
    assert set(dir(batch)) == set(batch.__all__)


class TestPool:
    def test_a_broken_tile_is_one_failure_and_the_others_are_mapped(self, tmp_path: Path, folder: Path) -> None:
        (folder / "hospital_a" / "benign" / "broken.png").write_bytes(b"nothing")
        result = batch.harmonise(folder, tmp_path / "out", rc.measure(picture(3)), pool=True)
        assert [failure.key for failure in result.failures] == ["hospital_a/benign/broken.png"]
        assert len(result.records) == 6
        assert not (tmp_path / "out" / "hospital_a" / "benign" / "broken.png").exists()

    def test_a_broken_tile_does_not_change_its_slide(self, tmp_path: Path, folder: Path) -> None:
        plain = batch.harmonise(folder, tmp_path / "plain", rc.measure(picture(3)), pool=True)
        (folder / "hospital_a" / "benign" / "broken.png").write_bytes(b"nothing")
        beside = batch.harmonise(folder, tmp_path / "beside", rc.measure(picture(3)), pool=True)
        assert plain.lines == beside.lines


class TestSplits:
    def test_a_manifest_of_several_splits_must_say_which_one_a_bank_is_made_of(self, folder: Path) -> None:
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))
        rows = [f"{name},{'train' if place % 2 else 'test'}" for place, name in enumerate(names)]
        (folder / "list.csv").write_text("path,split\n" + "\n".join(rows), "utf-8")
        with pytest.raises(OptionError, match=r"the splits test, train; say which one .*split='train'"):
            batch.build_bank(folder / "list.csv")
        banks = {split: batch.build_bank(folder / "list.csv", split=split).bank for split in ("train", "test")}
        assert [(len(bank), bank.split) for bank in banks.values()] == [(3, "train"), (3, "test")]
        assert not set(banks["train"].keys) & set(banks["test"].keys)
        everything = batch.build_bank(folder / "list.csv", any_split=True).bank
        assert (len(everything), everything.split) == (6, None)


def test_one_group_alone_is_not_listed_beside_all(tmp_path: Path) -> None:
    folder = collection(tmp_path / "data", 60)
    bank = batch.build_bank(folder).bank
    result = batch.drift(bank, folder / "hospital_a", group_from=None)
    assert (result.groups, result.overall.images) == ([], 30)


def test_records_are_the_lines_that_were_written(tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
    result = batch.augment(folder, tmp_path / "out", bank)
    text = (tmp_path / "out" / "provenance.jsonl").read_text("utf-8")
    assert text.splitlines() == result.lines
    assert [json.loads(line) for line in result.lines] == result.records
