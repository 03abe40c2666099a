"""Audits of collections: exact clipping, flags, floats and declared bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist import collections as batch
from recolorist.collections import Where
from recolorist.collections.auditing import AuditWork, panel_of
from recolorist.collections.items import Item
from recolorist.collections.options import AuditOptions, Limits
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
