"""The properties study: figures that can be worked out by hand, what the limits promise, and the tables made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.data.pairs import draw_pairs
from recolorist_lab.studies.properties import cell
from recolorist_lab.studies.properties import figure as properties_figure
from recolorist_lab.studies.properties.cell import NO_CAP, Properties, properties_of
from tests.commands import picture
from tests.lab.studies.properties.kit import Row


def ramp(low: int, high: int) -> NDArray[np.uint8]:
    """Every level from low to high, the same in all channels."""
    levels = np.arange(low, high + 1, dtype=np.uint8)
    return np.repeat(levels[None, :, None], 3, axis=2)


class TestOnePair:
    def test_a_match_that_clips_nothing_keeps_the_correlation(self) -> None:
        found = properties_of(ramp(50, 200), ramp(90, 140), Properties())
        for instance in found.instances:
            assert instance.before == instance.after == pytest.approx(1.0, abs=1e-14)
            assert instance.clipped == 0
        assert found.clipped_pixels == 0
        assert found.pooled_after == pytest.approx(1.0, abs=1e-12)

    def test_what_is_clipped_is_counted(self) -> None:
        """A ramp stretched to twice its deviation around the middle: its outer levels leave the range."""
        content, style = ramp(64, 191), np.zeros((1, 2, 3), np.uint8)
        style[0, 1] = 255
        found = properties_of(content, style, Properties(max_gain=NO_CAP))
        gain = 127.5 / content.std()
        unclipped = (127.5 + gain * (np.arange(64, 192) - 127.5)) / 255
        share = np.mean((unclipped < 0) | (unclipped > 1))
        assert 0.1 < share < 0.5
        assert found.instances[1].gain == pytest.approx(gain)
        assert found.instances[1].clipped == pytest.approx(share, abs=1e-12)
        assert found.clipped_pixels == pytest.approx(share, abs=1e-12)
        expected = np.corrcoef(np.arange(64, 192), np.clip(unclipped, 0, 1))[0, 1]
        assert found.instances[1].after == pytest.approx(expected, abs=1e-12)
        assert found.instances[1].before == pytest.approx(1.0, abs=1e-14)

    def test_8_bits_are_those_that_match_writes(self) -> None:
        content, style = picture(1), picture(2)
        found = properties_of(content, style, Properties())
        out = rc.match(content, style)
        expected = [np.corrcoef(content[..., c].ravel(), out[..., c].ravel())[0, 1] for c in range(3)]
        assert [instance.written for instance in found.instances] == pytest.approx(expected, abs=1e-12)
        audited = rc.audit(content, out)
        assert [instance.written for instance in found.instances] == pytest.approx(audited.pearson.tolist(), abs=1e-12)

    def test_clipping_in_8_bits_is_the_audit_s(self) -> None:
        content, style = ramp(0, 255), ramp(1, 255)  # every level moves down by a little, and half a level is none
        found = properties_of(content, style, Properties(max_gain=NO_CAP))
        plan = rc.plan(rc.measure(content), rc.measure(style), max_gain=NO_CAP)
        assert found.instances[0].clipped_levels == rc.audit(content, plan).clipped[0]
        wide = properties_of(picture(1), ramp(0, 255), Properties(max_gain=NO_CAP))
        plan = rc.plan(rc.measure(picture(1)), rc.measure(ramp(0, 255)), max_gain=NO_CAP)
        audited = rc.audit(picture(1), plan).clipped.tolist()
        assert [instance.clipped_levels for instance in wide.instances] == pytest.approx(audited, abs=1e-15)
        assert all(instance.clipped >= instance.clipped_levels > 0 for instance in wide.instances)

    def test_pooling_sees_that_channels_get_maps_of_their_own(self) -> None:
        found = properties_of(picture(1), picture(2), Properties())
        assert found.pooled_before < 0.999
        assert all(instance.before > 1 - 1e-12 for instance in found.instances)

    def test_a_flat_channel_has_no_correlation(self) -> None:
        content = picture(1)
        content[..., 2] = 7
        found = properties_of(content, picture(2), Properties())
        assert math.isnan(found.instances[2].after)
        assert "flat" in found.flags
        assert math.isfinite(found.instances[0].after)

    def test_pairs_that_share_images_widen_an_interval_and_others_do_not(self) -> None:
        """Values that follow from the images, 400 pairs of 81: the factor is that of repeated draws of the images."""
        rng = np.random.default_rng(0)
        drawn = draw_pairs(81, 0, 400)
        means = []
        for _ in range(300):
            of_content, of_style = rng.standard_normal((2, 81))
            means.append((of_content[drawn.content] + of_style[drawn.style]).mean())
        values = of_content[drawn.content] + of_style[drawn.style]
        real = np.std(means) / (values.std() / 20)
        assert cell.widening(values, drawn.content, drawn.style) == pytest.approx(real, rel=0.25)
        apart = draw_pairs(4000, 0, 400)
        noise = rng.standard_normal(400)
        assert cell.widening(noise, apart.content, apart.style) == pytest.approx(1.0, abs=0.15)

    def test_of_flat_images_alone_nothing_can_be_said(self) -> None:
        flat = np.full((8, 8, 3), 90, np.uint8)
        pair = properties_of(flat, flat, Properties())
        with pytest.raises(RecoloristError, match="every channel of all 2 pairs is flat"):
            cell._summary([pair, pair], draw_pairs(4, 0, 2))

    def test_only_in_rgb_is_every_channel_an_affine_map_of_itself(self) -> None:
        rgb, other = (properties_of(picture(1), picture(2), Properties(space=space)) for space in ("rgb", "ycbcr"))
        assert min(instance.before for instance in rgb.instances) == pytest.approx(1.0, abs=1e-12)
        assert min(instance.before for instance in other.instances) < 0.9999


class TestLimits:
    @pytest.mark.parametrize("limit", [0.0, 0.01, 0.1])
    def test_max_clip_holds_in_8_bits(self, limit: float) -> None:
        style = np.zeros((8, 8, 3), np.uint8)
        style[::2] = 255
        content = picture(3)
        free, held = (properties_of(content, style, Properties(max_clip=clip)) for clip in (1.0, limit))
        assert np.mean([instance.clipped for instance in free.instances]) > 0.1
        assert np.mean([instance.clipped_levels for instance in held.instances]) <= limit
        assert np.mean([instance.clipped_levels for instance in held.instances]) == pytest.approx(limit, abs=0.004)
        assert held.strength < free.strength == 1.0

    def test_max_gain_is_the_largest_gain(self) -> None:
        content, style = ramp(120, 130), ramp(0, 255)
        found = properties_of(content, style, Properties(max_gain=2.0))
        assert [instance.gain for instance in found.instances] == [2.0, 2.0, 2.0]
        assert "gain_capped" in found.flags

    def test_a_mask_leaves_the_rest_out_of_everything(self) -> None:
        content = picture(4)
        content[:, :20] = (0, 0, 0)
        whole, inside = (properties_of(content, picture(5), Properties(mask=mask)) for mask in ("none", "fundus"))
        cut = properties_of(content[:, 20:], picture(5), Properties())
        assert inside.instances[0].gain == pytest.approx(cut.instances[0].gain)
        assert inside.clipped_pixels == pytest.approx(cut.clipped_pixels)
        assert whole.instances[0].gain != pytest.approx(cut.instances[0].gain)

    @pytest.mark.parametrize("wrong", [{"space": "rbg"}, {"mask": "tisue"}, {"max_clip": 2.0}, {"pairs": 1}, {"max_gain": -1.0}])
    def test_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(OptionError):
            Properties(**wrong)


class TestQuickStudy:
    def test_every_figure_is_there_and_possible(self, rows: tuple[list[Row], dict[str, bytes]]) -> None:
        for row in rows[0]:
            assert row["result.pairs"] == 24
            assert row["result.instances"] == 72
            assert 0 <= row["result.clipped_values"] <= row["result.clipped_pixels"] <= 1
            low, high = row["result.pearson_after_interval"]
            assert low <= row["result.pearson_after_mean"] <= high
            if row["space"] == "rgb":
                assert row["result.pearson_before_min"] == pytest.approx(1.0, abs=1e-12)

    def test_the_kept_file_gives_the_summary(self, rows: tuple[list[Row], dict[str, bytes]]) -> None:
        for row, kept in zip(rows[0], rows[1].values(), strict=True):
            columns = properties_figure.instances(kept)
            assert np.nanmean(columns["after"]) == pytest.approx(row["result.pearson_after_mean"], abs=1e-12)
            assert (columns["clipped"] == 0).mean() == pytest.approx(row["result.unclipped_instances"], abs=1e-12)
