"""Lost detail: found where it happens, absent where nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist.core.detail import compare_patches, lay_patches, sample_mask, sample_pixels
from recolorist.core.image import open_image
from tests.commands import shared_data

RNG = np.random.default_rng(4)
GAIN_OF_TWO = [2.0, 2.0, 2.0]


def texture(level: float, shape: tuple[int, int] = (160, 128), deviation: float = 8.0) -> Any:
    return np.clip(np.rint(RNG.normal(level, deviation, (*shape, 3))), 0, 255).astype(np.uint8)


def plan_of(gain: float, offset: float, channels: int = 3) -> rc.Plan:
    content = rc.Moments(9, [100.0] * channels, np.eye(channels) * 16.0, 255.0)
    style = rc.Moments(9, [100.0 * gain + offset] * channels, np.eye(channels) * 16.0 * gain * gain, 255.0)
    return rc.plan(content, style)


@pytest.mark.parametrize("size", [(1, 1), (5, 7), (8, 8), (28, 28), (128, 160), (363, 360), (60, 3000), (4000, 9)])
def test_patches_cover_the_image(size: tuple[int, int]) -> None:
    patches = lay_patches(*size)
    boxes = [patches.box(i) for i in range(patches.rows * patches.columns)]
    covered = np.zeros(size, int)
    for left, top, right, bottom in boxes:
        covered[top:bottom, left:right] += 1
    assert (covered == 1).all()
    for i, (left, top, right, bottom) in enumerate(boxes[:: max(1, len(boxes) // 7)]):
        place = i * max(1, len(boxes) // 7)
        inside = (patches.lines[:, place] >= top) & (patches.lines[:, place] < bottom)
        assert (inside & (patches.places[:, place] >= left) & (patches.places[:, place] < right)).all()


class TestLoss:
    def test_no_limit_no_loss(self) -> None:
        audit = rc.audit(texture(120), plan_of(1.5, -40.0))
        assert audit.clipped_overall == 0
        assert audit.loss_share == 0
        assert np.nanmax(audit.loss) < 0.03  # rounding
        assert not audit.flags

    def test_a_small_part_that_is_clipped_is_found(self) -> None:
        image = texture(180)
        image[40:64, 80:104] = texture(30, (24, 24))  # 2.8 % of the image
        audit = rc.audit(image, plan_of(1.5, -100.0))
        assert audit.clipped_overall < 0.03
        assert audit.pearson_pooled > 0.95
        assert audit.loss_worst > 0.9
        assert audit.loss_worst_box is not None
        left, top, right, bottom = audit.loss_worst_box
        assert 80 <= left < right <= 104
        assert 40 <= top < bottom <= 64
        rows, columns = np.nonzero(audit.loss > 0.5)
        assert {(r, c) for r, c in zip(rows.tolist(), columns.tolist(), strict=True)} == {
            (r, c) for r in (5, 6, 7) for c in (10, 11, 12)
        }
        assert audit.loss_share == 9 / 320
        assert audit.flags == (("detail_lost",),) * 3

    def test_noise_that_is_clipped_is_no_detail(self) -> None:
        image = texture(180)
        image[:80] = texture(250, (80, 128), 1.0)  # glass
        audit = rc.audit(image, plan_of(1.2, 0.0))
        assert audit.clipped_overall > 0.4
        assert np.isnan(audit.loss[:8]).all()
        assert audit.loss_share < 0.01

    def test_a_weak_channel_does_not_count(self) -> None:
        """The blue of a retina's rim: what it loses is seen in red."""
        image = texture(120, deviation=20.0)
        for deviation, lost in ((6.0, 0.0), (14.0, 1.0)):
            image[..., 2] = np.clip(RNG.normal(40, deviation, image.shape[:2]), 0, 255)
            plan = rc.Plan.from_json(plan_of(1.0, 0.0).to_json())
            plan.offset[2] = -120.0
            assert abs(rc.audit(image, plan).loss_share - lost) < 0.05

    def test_half_of_the_values_clipped_is_half_of_the_contrast(self) -> None:
        audit = rc.audit(texture(128, deviation=6.0), plan_of(1.0, -128.0))
        assert np.nanmedian(audit.loss) == pytest.approx(0.5, abs=0.1)

    def test_a_flat_style_takes_everything(self) -> None:
        image = texture(120)
        audit = rc.audit(image, rc.plan(rc.measure(image), rc.Moments(9, [90.0] * 3, np.zeros((3, 3)), 255.0)))
        assert (audit.loss_worst, audit.loss_share) == (1.0, 1.0)
        assert audit.flags == (("collapsed",),) * 3

    def test_coarse_levels_are_a_loss(self) -> None:
        fine, coarse = (rc.audit(texture(128), plan_of(gain, 0.0)).loss_worst for gain in (0.5, 0.005))
        assert fine < 0.05
        assert coarse > 0.5

    @pytest.mark.parametrize("dtype", ["uint16", "float32", "float64"])
    def test_other_types_agree_with_8_bits(self, dtype: str) -> None:
        image = texture(60)
        high = 65535 if dtype == "uint16" else 1.0
        same = (image.astype(np.float64) / 255.0 * high).round(0 if dtype == "uint16" else 15).astype(dtype)
        losses = [rc.audit(each, plan_of(2.0, -120.0)).loss for each in (image, same)]
        assert np.nanmax(np.abs(losses[0] - losses[1])) < 0.02

    def test_only_the_mask_counts(self) -> None:
        image, mask = texture(180), np.ones((160, 128), bool)
        image[:80] = texture(20, (80, 128))
        mask[:80] = False
        plan = plan_of(1.5, -60.0)
        assert rc.audit(image, plan).loss_share > 0.4
        held = rc.audit(image, plan, mask=mask)
        assert held.loss_share == 0
        assert np.isnan(held.loss[:10]).all()

    def test_without_a_plan_the_correlation_counts(self) -> None:
        image = texture(120)
        assert rc.audit(image, 255 - image // 2).loss_worst < 0.02  # contrast may change its size and sign
        gone = image.copy()
        gone[:80] = 40
        assert rc.audit(image, gone).loss_share == 0.5

    def test_memory_order_does_not_matter(self) -> None:
        image = texture(40)
        patches = lay_patches(160, 128)
        views = [image, np.asfortranarray(image), np.dstack([image, image[..., :1]])[..., :3]]
        losses = [
            compare_patches(sample := sample_pixels(open_image(view), patches), sample.array // 2, None, patches, GAIN_OF_TWO)
            for view in views
        ]
        assert all(np.array_equal(loss.patches, losses[0].patches) for loss in losses)
        assert sample_mask(None, patches) is None


@pytest.mark.parametrize("space", ["rgb", "ycbcr", "lab", "luv", "lch"])
def test_a_real_nucleus(space: str) -> None:
    """The pair that global figures called harmless: 97 % of the nucleus has no green left."""
    from PIL import Image

    shared_images = shared_data("blood")
    content = np.asarray(Image.open(shared_images / "acevedo20/basophil/BA_100102.jpg"))
    style = np.asarray(Image.open(shared_images / "zheng18_tecom/neutrophil/002.png").convert("RGB"))
    measured = "rgb" if rc.SPACES[space].is_linear else space
    audit = rc.audit(content, rc.plan(rc.measure(content, space=measured), rc.measure(style, space=measured), space=space))
    assert audit.clipped_overall < 0.07
    assert audit.loss_worst > 0.98
    assert audit.loss_share > 0.04
    assert audit.loss_worst_box is not None
    left, top, _, _ = audit.loss_worst_box
    assert 130 < left < 230  # in the nucleus, which lies in the middle
    assert 150 < top < 240
    assert "detail_lost" in audit.flags
