"""Limits on clipping and on lost detail: kept on every route, at the least cost to the style's mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist.augment.colorist import Draw
from recolorist.augment.samplers import Style
from recolorist.collections import api
from recolorist.collections.options import Masks
from recolorist.core.image import open_image
from recolorist.core.limits import measure_loss, reduce_contrast
from recolorist.core.match import match_opened
from recolorist.core.options import MatchOptions
from recolorist.io.images import Reading
from recolorist.io.write import encode
from tests.commands import run_here

RNG = np.random.default_rng(11)
DARK = rc.Moments(9, [60.0, 40.0, 90.0], np.diag([2500.0, 2500.0, 2500.0]), 255.0)
CURVED = [name for name, space in rc.SPACES.items() if not space.is_linear]


def tissue(size: tuple[int, int] = (96, 80)) -> Any:
    """Stained tissue on the left, glass on the right."""
    image = RNG.normal((150, 90, 150), (30, 25, 20), (*size, 3))
    image[:, size[1] // 2 :] = RNG.normal(242, 2, (size[0], size[1] - size[1] // 2, 3))
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def bank_of(*styles: rc.Moments) -> rc.StyleBank:
    pixels = [RNG.normal(style.mean, np.sqrt(style.cov.diagonal()), (320, 160, 3)) for style in styles]
    return rc.StyleBank.build(np.clip(np.rint(pixels), 0, 255).astype(np.uint8), split="train")


def limited(image: Any, style: rc.Moments, mask: Any = None, **options: Any) -> tuple[rc.Audit, Any]:
    opened = open_image(image)
    done = match_opened(opened, mask, style, np.empty_like(opened.array), MatchOptions(**options))
    assert done is not None
    return rc.audit(image, done.plan(), mask=done.mask), done


class TestKept:
    @pytest.mark.parametrize("limit", [0.0, 0.01, 0.05])
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
    @pytest.mark.parametrize("name", ["max_clip", "max_loss"])
    def test_limits_hold(self, name: str, dtype: str, limit: float) -> None:
        image: Any = tissue()
        if dtype != "uint8":
            image = (image.astype(float) / 255 * (65535 if dtype == "uint16" else 1)).astype(dtype)
        figure = {"max_clip": "clipped_overall", "max_loss": "loss_share"}[name]
        free, _ = limited(image, DARK)
        held, done = limited(image, DARK, **{name: limit})
        assert getattr(free, figure) > limit  # or there would be nothing to hold
        assert getattr(held, figure) <= limit
        assert done.contrast < 1

    @pytest.mark.parametrize("apply_to", ["all", "mask"])
    def test_pixels_outside_the_mask_count_if_they_are_changed(self, apply_to: str) -> None:
        """Glass is not measured with a tissue mask, but it is mapped, and must not be clipped unseen."""
        image = tissue()
        mask = np.zeros(image.shape[:2], bool)
        mask[:, :40] = True
        bright = rc.Moments(9, [190.0, 150.0, 190.0], np.diag([900.0, 900.0, 600.0]), 255.0)
        free, _ = limited(image, bright, mask)
        held, done = limited(image, bright, mask, max_clip=0.02, apply_to=apply_to)
        assert free.clipped_overall > 0.3
        assert held.clipped_overall <= 0.02
        assert (done.mask is None) == (apply_to == "all")

    @pytest.mark.parametrize("space", CURVED)
    def test_non_linear_spaces_are_limited(self, space: str) -> None:
        image = tissue((40, 32))
        style = rc.measure(np.clip(RNG.normal((230, 170, 200), 60, (40, 40, 3)), 0, 255).astype(np.uint8), space=space)
        free, _ = limited(image, style, space=space)
        held, done = limited(image, style, space=space, max_clip=0.02)
        assert free.clipped_overall > 0.025
        assert held.clipped_overall <= 0.02
        assert done.contrast < 1

    @pytest.mark.parametrize("options", [{"method": "covariance"}, {"space": "yiq"}])
    def test_matrices_are_limited(self, options: dict[str, str]) -> None:
        held, _ = limited(tissue(), DARK, max_clip=0.01, max_loss=0.01, **options)
        assert held.clipped_overall <= 0.01
        assert held.loss_share <= 0.01

    def test_pixels_that_are_not_finite_do_not_dilute_the_share(self) -> None:
        image = tissue().astype(np.float32) / 255
        image[:30] = np.nan
        opened = open_image(image)
        options = MatchOptions(max_clip=0.01, on_nonfinite="mask")
        done = match_opened(opened, None, DARK, np.empty_like(image), options)
        assert done is not None
        assert rc.audit(image[30:], done.plan()).clipped_overall <= 0.01


class TestOrder:
    def test_contrast_goes_first_and_the_mean_stays(self) -> None:
        image = tissue()[:, :40]
        style = rc.Moments(9, [120.0, 100.0, 130.0], np.diag([3600.0, 3600.0, 3600.0]), 255.0)
        _, done = limited(image, style, max_clip=0.002)
        assert done.strength == 1.0
        assert 0.5 < done.contrast < 1.0
        result = rc.apply(image, done.plan())
        assert np.abs(result.mean(axis=(0, 1)) - style.mean).max() < 1.0

    def test_then_the_strength(self) -> None:
        _, done = limited(tissue(), rc.Moments(9, [250.0] * 3, np.eye(3) * 900.0, 255.0), max_clip=0.0)
        assert done.contrast == 0.5
        assert 0 < done.strength < 1

    def test_nothing_is_given_up_within_the_limits(self) -> None:
        image, style = tissue(), rc.Moments(9, [128.0] * 3, np.eye(3) * 400.0, 255.0)
        held, done = limited(image, style, max_clip=0.01, max_loss=0.01)
        assert (done.strength, done.contrast) == (1.0, 1.0)
        assert done.to_json() == limited(image, style)[1].to_json()
        assert held.loss_share <= 0.01

    def test_other_styles_are_tried_first(self) -> None:
        image, mild = tissue(), rc.Moments(9, [128.0] * 3, np.eye(3) * 400.0, 255.0)
        opened = open_image(image)
        done = match_opened(opened, None, DARK, np.empty_like(image), MatchOptions(max_loss=0.01), [DARK, mild])
        assert done is not None
        assert (done.chosen, done.contrast) == (2, 1.0)

    def test_less_contrast_is_a_smaller_deviation(self) -> None:
        less = reduce_contrast(DARK, 0.5)
        assert isinstance(less, rc.Moments)
        assert less.mean.tolist() == DARK.mean.tolist()
        assert less.std.tolist() == (DARK.std / 2).tolist()


class TestRoutes:
    """A slide of tissue and glass by every way that takes limits; each must keep them, and all must agree."""

    OPTIONS: dict[str, Any] = {"max_clip": 0.02, "max_loss": 0.02, "mask": "tissue"}  # noqa: RUF012

    @pytest.fixture
    def image(self) -> Any:
        return tissue((320, 160))

    @pytest.fixture
    def folder(self, image: Any, tmp_path: Path) -> Path:
        (tmp_path / "in").mkdir()
        (tmp_path / "in/a.tif").write_bytes(encode(image, ".tif"))
        return tmp_path

    @staticmethod
    def kept(image: Any, plan: Any) -> None:
        audit = rc.audit(image, rc.Plan.from_json(json.dumps(plan)))
        assert audit.clipped_overall <= 0.02
        assert audit.loss_share <= 0.02

    @pytest.mark.parametrize("max_pixels", [10**9, 20_000], ids=["whole", "strips"])
    def test_augment_and_harmonise(self, image: Any, folder: Path, max_pixels: int) -> None:
        reading, bank = Reading(max_pixels), bank_of(DARK)
        drawn = api.augment(folder / "in", folder / "a", bank, reading=reading, **self.OPTIONS)
        even = api.harmonise(folder / "in", folder / "h", bank.moments(0), reading=reading, **self.OPTIONS)
        for record in (*drawn.records, *even.records):
            assert 0.5 < record["contrast"] < 1
            assert record["strength"] == 1
            assert record["audit"]["clipped_overall"] <= 0.02
            self.kept(image, record["plan"])
        assert drawn.records[0]["plan"] == even.records[0]["plan"]
        colorist = rc.Colorist(bank, p=1.0, **self.OPTIONS)
        decision = colorist.decide(image, Draw(Style("0", 0, bank.moments(0)), 1.0), colorist.mask_of(image))
        assert decision.plan is not None
        if max_pixels > image.size:
            assert json.loads(decision.plan.to_json()) == drawn.records[0]["plan"]

    @pytest.mark.parametrize("words", [(), ("--max-pixels", "20000")], ids=["whole", "strips"])
    def test_match_command(self, image: Any, folder: Path, words: tuple[str, ...]) -> None:
        style = np.clip(np.rint(RNG.normal(DARK.mean, 50, (60, 50, 3))), 0, 255).astype(np.uint8)
        (folder / "s.png").write_bytes(encode(style, ".png"))
        limits = ("--max-clip", "0.02", "--max-loss", "0.02", "--mask", "tissue", "--json")
        answer = run_here("match", folder / "in/a.tif", folder / "s.png", "-o", folder / "o.tif", *limits, *words)
        self.kept(image, json.loads(answer.out)["plan"])
        assert 0.5 < json.loads(answer.out)["contrast"] < 1

    def test_a_mask_file_in_strips(self, image: Any, folder: Path) -> None:
        from recolorist.collections.one_file import match_file

        mask = np.zeros(image.shape[:2], np.uint8)
        mask[:, :80] = 255
        (folder / "m.tif").write_bytes(encode(mask, ".tif"))
        (folder / "s.png").write_bytes(encode(image[:99] // 2, ".png"))
        options, masks = MatchOptions(max_clip=0.01, max_loss=0.01, apply_to="mask"), Masks(str(folder / "m.tif"))
        plans = [
            match_file(folder / "in/a.tif", folder / "s.png", folder / name, options, masks=masks, reading=reading)
            for name, reading in (("w.tif", Reading()), ("s.tif", Reading(20_000)))
        ]
        assert plans[0].plan == plans[1].plan


@pytest.mark.parametrize(("options", "words"), [
    ({"max_loss": 2}, "max_loss=2"),
    ({"max_clip": -1}, "max_clip=-1"),
    ({"max_loss": 0.1, "method": "histogram"}, "has no gain to reduce"),
])  # fmt: skip
def test_refusals(options: dict[str, Any], words: str) -> None:
    with pytest.raises(rc.RecoloristError, match=words):
        MatchOptions(**options)


def test_pooled_images_have_no_limits_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(rc.RecoloristError, match="leave out pool"):
        api.harmonise(tmp_path, tmp_path / "o", DARK, pool=True, max_loss=0.1)


@pytest.mark.parametrize("channels", [1, 3, 4, 5])
def test_the_loss_does_not_depend_on_how_pixels_lie_in_memory(channels: int) -> None:
    """Contiguous 8-bit images are compared in one call, others by copies of the compared pixels."""
    image = RNG.integers(0, 256, (150, 97, channels), dtype=np.uint8)
    planned = rc.plan(rc.measure(image), rc.measure(image[:40] // 2 + image[:40] // 3))
    contiguous, strided = (measure_loss(open_image(pixels), planned, None) for pixels in (image, np.asfortranarray(image)))
    assert contiguous.figures() == strided.figures()
    assert np.array_equal(contiguous.patches, strided.patches, equal_nan=True)
    assert contiguous.by_channel.tolist() == strided.by_channel.tolist()
    assert contiguous.worst > 0
