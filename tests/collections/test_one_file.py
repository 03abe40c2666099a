"""One file to another's colours: the pixels of `match`, written whole, or a refusal and no file."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

import recolorist as rc
from recolorist.bank.making import PreprocessingWarning
from recolorist.collections.one_file import match_file, open_style
from recolorist.collections.options import Masks, OutputOptions
from recolorist.core.options import MatchOptions
from recolorist.errors import ImageError, OptionError, RecoloristError, StatisticsError
from recolorist.io.images import Reading, read_image
from tests.commands import picture

IN_STRIPS = Reading(max_pixels=300)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two pictures, of which the first can also be read by rows, and a bank of two domains."""
    folder = tmp_path / "in"
    folder.mkdir()
    Image.fromarray(picture(0)).save(folder / "a.png")
    tifffile.imwrite(folder / "a.tif", picture(0), photometric="rgb", tile=(16, 16))
    tifffile.imwrite(folder / "b.tif", picture(1), photometric="rgb", tile=(16, 16))
    images = [picture(i) for i in range(4)]
    rc.StyleBank.build(images, split="train", domains=["x", "x", "y", "y"]).save(folder / "bank.rcb")
    return folder


class TestMatchFile:
    def test_the_output_plan_and_audit_are_those_of_the_library(self, files: Path, tmp_path: Path) -> None:
        done = match_file(files / "a.png", files / "b.tif", tmp_path / "o.png")
        plan = rc.plan(rc.measure(picture(0)), rc.measure(picture(1)))
        assert (done.plan, done.size) == (plan, (37, 53))
        assert done.audit is not None
        assert done.audit.to_json() == rc.audit(picture(0), plan).to_json()
        assert np.array_equal(read_image(tmp_path / "o.png"), rc.match(picture(0), picture(1)))

    def test_a_plan_is_applied_as_it_is(self, files: Path, tmp_path: Path) -> None:
        plan = rc.plan(rc.measure(picture(5)), rc.measure(picture(6)), "ycbcr")
        for name, reading in (("a.png", Reading()), ("a.tif", IN_STRIPS)):
            done = match_file(files / name, plan, tmp_path / "o.tif", output=OutputOptions(force=True), reading=reading)
            assert done.plan == plan
            assert np.array_equal(read_image(tmp_path / "o.tif"), rc.apply(picture(0), plan))

    def test_strips_give_the_same_pixels_and_no_audit(self, files: Path, tmp_path: Path) -> None:
        done = match_file(files / "a.tif", files / "b.tif", tmp_path / "o.tif", reading=IN_STRIPS)
        assert (done.audit, done.content, done.output, done.size) == (None, None, None, (37, 53))
        assert np.array_equal(read_image(tmp_path / "o.tif"), rc.match(picture(0), picture(1)))

    @pytest.mark.parametrize("reading", [Reading(), IN_STRIPS], ids=["whole", "strips"])
    def test_a_mask_file_limits_what_is_measured_and_changed(self, files: Path, tmp_path: Path, reading: Reading) -> None:
        mask = np.zeros((37, 53), np.uint8)
        mask[5:30, 9:40] = 255
        tifffile.imwrite(files / "m.tif", mask, tile=(16, 16))
        masks = Masks(str(files / "m.tif"), str(files / "m.tif"))
        options = MatchOptions(apply_to="mask")
        match_file(files / "a.tif", files / "b.tif", tmp_path / "o.tif", options, masks=masks, reading=reading)
        expected = rc.match(picture(0), picture(1), mask=mask, style_mask=mask, apply_to="mask")
        assert np.array_equal(read_image(tmp_path / "o.tif"), expected)

    def test_a_profile_is_kept_only_if_asked(self, files: Path, tmp_path: Path) -> None:
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        Image.fromarray(picture(0)).save(files / "p.png", icc_profile=profile)
        for keep, expected in ((False, None), (True, profile)):
            match_file(files / "p.png", files / "b.tif", tmp_path / f"{keep}.png", output=OutputOptions(keep_icc=keep))
            with Image.open(io.BytesIO((tmp_path / f"{keep}.png").read_bytes())) as written:
                assert written.info.get("icc_profile") == expected

    def test_an_output_that_exists_is_replaced_only_by_force(self, files: Path, tmp_path: Path) -> None:
        path = tmp_path / "o.png"
        path.write_bytes(b"of last week")
        with pytest.raises(OptionError, match=r"o\.png exists; pass force"):
            match_file(files / "a.png", files / "b.tif", path)
        assert path.read_bytes() == b"of last week"
        match_file(files / "a.png", files / "b.tif", path, output=OutputOptions(force=True))
        assert np.array_equal(read_image(path), rc.match(picture(0), picture(1)))
        assert sorted(found.name for found in tmp_path.iterdir()) == ["in", "o.png"]

    @pytest.mark.parametrize(
        ("style", "options", "reading", "error"),
        [
            ("none.png", {}, Reading(), ImageError),
            ("bank.rcb:z", {}, Reading(), RecoloristError),
            ("bank.rcb", {"method": "histogram"}, Reading(), StatisticsError),
            ("b.tif", {"method": "histogram"}, IN_STRIPS, OptionError),
        ],
    )
    def test_what_cannot_be_matched_is_refused_and_nothing_is_written(
        self, files: Path, tmp_path: Path, style: str, options: dict[str, Any], reading: Reading, error: type[Exception]
    ) -> None:
        with pytest.raises(error):
            match_file(files / "a.tif", str(files / style), tmp_path / "o.tif", MatchOptions(**options), reading=reading)
        assert [found.name for found in tmp_path.iterdir()] == ["in"]

    def test_a_mask_in_colour_is_refused(self, files: Path, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="3 channels; a mask is grey"):
            match_file(files / "a.png", files / "b.tif", tmp_path / "o.png", masks=Masks(str(files / "a.png")))

    def test_an_unknown_suffix_is_refused_before_reading(self, files: Path, tmp_path: Path) -> None:
        with pytest.raises(RecoloristError, match=r"\.xyz"):
            match_file(files / "none.png", files / "b.tif", tmp_path / "o.xyz")


class TestStyleImages:
    @pytest.mark.parametrize("reading", [Reading(), IN_STRIPS], ids=["whole", "strips"])
    def test_an_image_gives_its_moments_whole_or_in_strips(self, files: Path, reading: Reading) -> None:
        assert open_style(files / "b.tif", reading, "ycbcr") == rc.measure(picture(1))

    def test_a_space_that_is_not_linear_is_measured_itself(self, files: Path) -> None:
        style = open_style(files / "b.tif", Reading(), "lab")
        assert isinstance(style, rc.Moments)
        assert style.space == "lab"

    @pytest.mark.skipif(os.name == "nt", reason="no file can be named so there")
    def test_a_file_with_a_colon_in_its_name_is_a_file(self, files: Path) -> None:
        (files / "c:d.png").write_bytes((files / "a.png").read_bytes())
        assert open_style(files / "c:d.png", Reading(), "rgb") == rc.measure(picture(0))


def test_ties_by_position_reach_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    content, style = rng.integers(90, 99, (12, 11, 3), np.uint8), rng.integers(0, 255, (12, 11, 3), np.uint8)
    for name, image in (("content", content), ("style", style)):
        Image.fromarray(image).save(tmp_path / f"{name}.png")
    options = MatchOptions("exact_histogram", ties="position")
    match_file(tmp_path / "content.png", tmp_path / "style.png", tmp_path / "out.png", options)
    out = np.asarray(Image.open(tmp_path / "out.png"))
    assert np.array_equal(out, rc.match(content, style, "exact_histogram", ties="position"))
    assert not np.array_equal(out, rc.match(content, style, "exact_histogram"))


class TestOpenStyle:
    def test_a_bank_stays_a_bank_and_a_domain_is_a_part_of_it(self, files: Path) -> None:
        whole = open_style(files / "bank.rcb", Reading(), "rgb")
        assert isinstance(whole, rc.StyleBank)
        assert len(whole) == 4
        part = open_style(f"{files / 'bank.rcb'}:y", Reading(), "rgb")
        assert isinstance(part, rc.StyleBank)
        assert part.keys == ("2", "3")

    def test_an_image_gives_its_moments(self, files: Path) -> None:
        assert open_style(files / "a.png", Reading(), "rgb") == rc.measure(picture(0))

    def test_a_domain_that_is_not_there_is_named(self, files: Path) -> None:
        with pytest.raises(OptionError, match="no style has domain 'z'; the bank has 'x', 'y'"):
            open_style(f"{files / 'bank.rcb'}:z", Reading(), "rgb")


@pytest.mark.parametrize("rule", ["tissue", "fundus"])
@pytest.mark.parametrize("reading", [Reading(), IN_STRIPS], ids=["whole", "strips"])
def test_a_rule_that_finds_nothing_is_warned_of_and_all_pixels_are_measured(
    tmp_path: Path, files: Path, rule: str, reading: Reading
) -> None:
    level = 250 if rule == "tissue" else 3
    blank = np.full((37, 53, 3), level, np.uint8)
    blank[::2] -= 2
    tifffile.imwrite(tmp_path / "blank.tif", blank, photometric="rgb", tile=(16, 16))
    with pytest.warns(PreprocessingWarning, match=f"mask '{rule}' finds no foreground, so all pixels are measured"):
        match_file(tmp_path / "blank.tif", files / "a.tif", tmp_path / "o.tif", masks=Masks(rule), reading=reading)
    assert np.array_equal(read_image(tmp_path / "o.tif"), rc.match(blank, picture(0)))


@pytest.mark.parametrize("domain", ["x", "y"])
def test_a_domain_of_a_bank_is_matched_by_its_average(files: Path, tmp_path: Path, domain: str) -> None:
    match_file(files / "a.png", f"{files / 'bank.rcb'}:{domain}", tmp_path / "o.png")
    goal = rc.StyleBank.open(files / "bank.rcb").average(domain)
    assert np.array_equal(read_image(tmp_path / "o.png"), rc.match(picture(0), goal))


def test_a_huge_style_is_measured_in_strips_and_not_shown(files: Path, tmp_path: Path) -> None:
    large = np.tile(picture(1), (3, 2, 1))
    tifffile.imwrite(files / "large.tif", large, photometric="rgb", tile=(16, 16))
    reading = Reading(max_pixels=large.shape[0] * large.shape[1] // 2)
    result = match_file(files / "a.png", files / "large.tif", tmp_path / "o.png", reading=reading)
    assert result.style is None
    assert result.content is not None
    assert np.array_equal(read_image(tmp_path / "o.png"), rc.match(picture(0), large))
