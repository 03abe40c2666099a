"""Audits of collections: exact clipping, flags, floats and declared bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import tifffile
from PIL import Image

import recolorist as rc
from recolorist import collections as batch
from recolorist.collections import Where
from recolorist.collections.auditing import AuditWork, Levels, flags_of, mark_outliers, panel_of, summary_of
from recolorist.collections.items import Item
from recolorist.collections.options import AuditOptions, Limits
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import Reading, read_image
from tests.commands import collection, picture


class TestAudit:
    def test_clipping_is_that_of_an_audit(self, folder: Path, bank: rc.StyleBank) -> None:
        result = batch.audit(folder, bank)
        for line in result.lines:
            image = read_image(folder / line["source"])
            shares = [
                rc.audit(image, rc.plan(rc.measure(image), bank.moments(row))).predicted_clipped_overall for row in range(6)
            ]
            assert line["clip_worst"] == max(shares)
            assert line["clip_median"] == pytest.approx(float(np.median(shares)), abs=1e-15)
            assert line["mean"] == pytest.approx((rc.measure(image).mean / 255).tolist(), rel=1e-14)
            assert line["std"] == pytest.approx((rc.measure(image).std / 255).tolist(), rel=1e-14)

    @pytest.mark.parametrize("scale", [1, 257])
    def test_hard_roundings(self, scale: int) -> None:
        """Gains and offsets that land exactly on half a level, for 8 and 16 bits."""
        high = 255 * scale
        levels = np.arange(high + 1).astype(np.uint8 if scale == 1 else np.uint16)[None]
        content = rc.measure(levels)
        for gain, shift in ((1.0, 0.5), (1.0, -0.5), (2.0, -0.5), (0.5, 0.0), (1.5, -0.25), (1.0, high / 2 + 0.5)):
            goal = rc.Moments(1, (content.mean * gain + shift) / high, content.cov * (gain / high) ** 2, 1.0)
            if not 0 <= goal.mean[0] <= 1:
                continue
            bank = rc.StyleBank(goal.mean[None], goal.cov[None], np.array([1]), ["x"])
            work = AuditWork(Reading(), AuditOptions(), panel_of(bank))
            from recolorist.collections.auditing import Levels, _counts
            from recolorist.core.image import open_image

            (line,) = work.finish([Levels(Item("a", "a"), _counts(open_image(levels), None), (1, high + 1), "x")])
            expected = rc.audit(levels, rc.plan(content, bank.moments(0))).predicted_clipped_overall
            assert line["clip_median"] == expected

    def test_flags(self, tmp_path: Path) -> None:
        blank = np.full((20, 20, 3), 240, np.uint8)
        blank[3, 3] = 239
        flat = picture()
        flat[..., 1] = 7
        white = picture()
        white[:10] = 255
        for name, pixels in (("blank", blank), ("flat", flat), ("white", white), *((f"ok{i}", picture(i)) for i in range(8))):
            Image.fromarray(pixels).save(tmp_path / f"{name}.png")
        result = batch.audit(tmp_path)
        flags = {line["source"]: set(line["flags"]) for line in result.lines}
        assert flags["blank.png"] >= {"blank", "outlier"}
        assert "flat" in flags["flat.png"]
        assert "saturated" in flags["white.png"]
        assert result.summary["flags"]["blank"] == 1
        assert not any(flags[f"ok{i}.png"] - {"outlier"} for i in range(8))

    def test_one_channel_at_white_is_a_colour(self, tmp_path: Path) -> None:
        peach, white = picture(), picture()
        peach[:20, :, 0] = 255
        white[:20] = 255
        for name, pixels in (("peach", peach), ("white", white)):
            Image.fromarray(pixels).save(tmp_path / f"{name}.png")
        flags = {line["source"]: line["flags"] for line in batch.audit(tmp_path).lines}
        assert "saturated" not in flags["peach.png"]
        assert "saturated" in flags["white.png"]

    def test_detail_that_the_median_style_takes(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(5)
        image = np.clip(rng.normal(170, 14, (64, 64, 3)), 0, 255).astype(np.uint8)
        image[8:24, 8:24] = np.clip(rng.normal(30, 8, (16, 16, 3)), 0, 255)
        Image.fromarray(image).save(tmp_path / "a.png")
        bank = rc.StyleBank.build(np.clip(2.0 * image[None] - 170, 0, 255).astype(np.uint8), split="train")
        (line,) = batch.audit(tmp_path, bank).lines
        audit = rc.audit(image, rc.plan(rc.measure(image), bank.moments(0)))
        assert line["loss_share"] == audit.loss_share > 0.02
        assert line["loss_worst_box"] == list(audit.loss_worst_box or ())
        assert line["loss_map"][1][1:3] == "99"
        assert "detail_lost" in line["flags"]
        assert "detail_lost" not in batch.audit(tmp_path, bank, limits=Limits(loss=0.5)).lines[0]["flags"]

    def test_floats_and_declared_bits(self, tmp_path: Path) -> None:
        np.save(tmp_path / "f.npy", picture().astype(np.float32) / 255)
        np.save(tmp_path / "w.npy", picture().astype(np.uint16) * 16)
        result = batch.audit(tmp_path, reading=Reading(bits=12))
        first, second = (line["mean"] for line in result.lines)
        assert first == pytest.approx((picture().mean(axis=(0, 1)) / 255).tolist(), abs=1e-5)
        assert second == pytest.approx((picture().mean(axis=(0, 1)) * 16 / 4095).tolist(), rel=1e-12)
        assert len(batch.audit(tmp_path, reading=Reading(bits=10)).failures) == 1  # it holds levels above 1023

    def test_the_same_for_any_number_of_processes(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        folder = collection(tmp_path / "many", 30)
        one, two = (batch.audit(folder, bank, where=Where(jobs=jobs)) for jobs in (1, 2))
        assert one.lines == two.lines


class TestOneImage:
    """What is counted of an image, and what cannot be."""

    def levels(self, path: Path, options: AuditOptions | None = None, reading: Reading | None = None) -> Levels:
        return AuditWork(reading or Reading(), options or AuditOptions())(Item(path.name, str(path)))

    def test_counts_are_those_of_the_levels(self, tmp_path: Path) -> None:
        pixels = picture()
        Image.fromarray(pixels).save(tmp_path / "a.png")
        found = self.levels(tmp_path / "a.png")
        assert (found.size, found.dtype, found.has_foreground) == (pixels.shape[:2], "uint8", True)
        expected = [np.bincount(pixels[..., c].ravel(), minlength=256) for c in range(3)]
        assert np.array_equal(found.counts, expected)

    def test_an_image_in_strips_has_the_same_counts(self, tmp_path: Path) -> None:
        tifffile.imwrite(tmp_path / "a.tif", picture(), photometric="rgb", tile=(16, 16))
        whole = self.levels(tmp_path / "a.tif")
        strips = self.levels(tmp_path / "a.tif", reading=Reading(max_pixels=300))
        assert np.array_equal(whole.counts, strips.counts)
        assert (whole.size, whole.dtype) == (strips.size, strips.dtype)

    def test_an_image_in_strips_takes_no_rule_and_no_floats(self, tmp_path: Path) -> None:
        tifffile.imwrite(tmp_path / "a.tif", picture(), photometric="rgb", tile=(16, 16))
        with pytest.raises(ImageError, match="audited as integers and without a mask"):
            self.levels(tmp_path / "a.tif", AuditOptions(mask="tissue"), Reading(max_pixels=300))
        np.save(tmp_path / "f.npy", picture().astype(np.float32) / 255)
        with pytest.raises(ImageError, match="audited as integers and without a mask"):
            self.levels(tmp_path / "f.npy", reading=Reading(max_pixels=300))

    def test_only_the_foreground_counts(self, tmp_path: Path) -> None:
        pixels = np.full((20, 30, 3), 240, np.uint8)
        pixels[:, :10] = (150, 80, 160)
        Image.fromarray(pixels).save(tmp_path / "a.png")
        counts = self.levels(tmp_path / "a.png", AuditOptions(mask="tissue")).counts
        assert counts.sum(axis=1).tolist() == [200, 200, 200]
        assert counts[0, 150] == counts[1, 80] == counts[2, 160] == 200

    def test_glass_alone_is_counted_whole_and_blank(self, tmp_path: Path) -> None:
        Image.new("RGB", (30, 20), (240, 240, 240)).save(tmp_path / "a.png")
        work = AuditWork(Reading(), AuditOptions(mask="tissue"))
        found = work(Item("a.png", str(tmp_path / "a.png")))
        assert not found.has_foreground
        assert work.finish([found])[0]["blank"] is True

    @pytest.mark.parametrize("value", [-0.1, 1.5, np.nan])
    def test_floats_beyond_their_range_are_refused(self, tmp_path: Path, value: float) -> None:
        pixels = np.full((8, 9, 3), 0.5, np.float32)
        pixels[3, 4, 1] = value
        np.save(tmp_path / "a.npy", pixels)
        with pytest.raises(ImageError, match="outside its declared range 0 to 1; declare data_range"):
            self.levels(tmp_path / "a.npy")

    def test_floats_without_a_range_are_refused(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.full((8, 9, 3), 7.0))
        with pytest.raises(ImageError, match="without a declared range cannot be audited"):
            self.levels(tmp_path / "a.npy", reading=Reading(data_range=float("inf")))

    def test_images_of_several_depths_keep_their_order(self, tmp_path: Path) -> None:
        work = AuditWork(Reading())
        Image.fromarray(picture(0)).save(tmp_path / "0.png")
        np.save(tmp_path / "1.npy", picture(1).astype(np.uint16) * 257)
        Image.fromarray(picture(2)[..., 0]).save(tmp_path / "2.png")
        lines = work.finish([work(Item(name, str(tmp_path / name))) for name in ("0.png", "1.npy", "2.png")])
        assert [line["source"] for line in lines] == ["0.png", "1.npy", "2.png"]
        assert [len(line["mean"]) for line in lines] == [3, 3, 1]
        assert lines[1]["mean"] == pytest.approx((rc.measure(picture(1)).mean / 255).tolist())


class TestPanel:
    def test_a_grey_image_does_not_fit_a_bank_of_colours(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        Image.fromarray(picture()[..., 0]).save(tmp_path / "a.png")
        with pytest.raises(ImageError, match="it has 1 channel"):
            AuditWork(Reading(), panel=panel_of(bank))(Item("a.png", str(tmp_path / "a.png")))

    def test_a_bank_of_another_space_is_refused(self) -> None:
        bank = rc.StyleBank.build([picture(0), picture(1)], space="lab")
        with pytest.raises(OptionError, match="holds moments of 'lab'; an audit needs those of RGB"):
            panel_of(bank)

    @pytest.mark.parametrize("size", [1, 2, 5, 100])
    def test_styles_are_spread_over_the_contrasts(self, size: int) -> None:
        std = np.linspace(0.05, 0.3, 10)
        bank = rc.StyleBank(np.full((10, 1), 0.5), (std**2)[:, None, None], np.full(10, 9), [str(i) for i in range(10)])
        panel = panel_of(bank, size)
        assert len(panel.keys) == min(size, 10)
        contrasts = np.sqrt(panel.variance[:, 0]).tolist()
        assert contrasts == sorted(contrasts)
        assert panel.keys == tuple(str(int((i + 0.5) * 10 / len(panel.keys))) for i in range(len(panel.keys)))


class TestFlags:
    LINE: ClassVar[dict[str, Any]] = {"std": [0.1], "blank": False, "at_white": [0.0], "mean": [0.5], "domain": None}

    @pytest.mark.parametrize(
        ("name", "value", "flag"),
        [
            ("std", [0.1, 0.0], "flat"),
            ("at_white", [0.06, 0.07], "saturated"),
            ("clip_new_median", 0.021, "clips"),
            ("loss_share", 0.021, "detail_lost"),
            ("capped_share", 0.51, "gain_capped"),
        ],
    )
    def test_each_comes_beyond_its_limit(self, name: str, value: Any, flag: str) -> None:
        assert flags_of(self.LINE, Limits()) == []
        assert flags_of(self.LINE | {name: value}, Limits()) == [flag]
        assert flags_of(self.LINE | {name: value, "blank": True}, Limits()) == (["flat"] if flag == "flat" else []) + ["blank"]

    def test_one_channel_at_white_is_a_colour(self) -> None:
        assert flags_of(self.LINE | {"at_white": [0.9, 0.0, 0.0]}, Limits()) == []

    def test_outliers_are_those_of_their_domain(self) -> None:
        lines: list[dict[str, Any]] = [
            self.LINE | {"mean": [mean], "domain": domain, "flags": []}
            for domain, mean in (("a", 0.2), ("b", 0.8))
            for _ in range(5)
        ]
        lines[7]["mean"] = [0.2]
        mark_outliers(lines, Limits())
        assert [i for i, line in enumerate(lines) if line["flags"]] == [7]
        assert lines[0]["outlier_distance"] == 0.0

    def test_the_summary_counts_every_flag(self) -> None:
        lines: list[dict[str, Any]] = [
            {"flags": ["flat"], "clip_median": 0.1},
            {"flags": ["flat", "clips"], "clip_median": 0.3},
            {"flags": []},
        ]
        summary = summary_of(lines, failures=2)
        assert (summary["images"], summary["failed"], summary["unflagged"]) == (3, 2, 1)
        assert {name: count for name, count in summary["flags"].items() if count} == {"flat": 2, "clips": 1}
        assert summary["clip_median"]["median"] == pytest.approx(0.2)
        assert summary["clip_median"]["worst"] == pytest.approx(0.3)
        assert "clip_median" not in summary_of([{"flags": []}], 0)
