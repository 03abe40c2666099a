"""The draw for one image as one affine map: the numbers of `match`, or None where there is no such map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import recolorist as rc
from recolorist.augment.streams import stream
from recolorist.torch.draws import Affine, affine_map, is_plain, measure_levels, plain_map

TILES = np.random.default_rng(4).integers(20, 230, (6, 9, 7, 3), dtype=np.uint8)
BANK = rc.StyleBank.build(TILES, split="train")


def apply_map(pixels: Any, move: Affine) -> Any:
    gain = np.array(move.gain)
    matrix = np.diag(gain) if len(gain) == 3 else gain.reshape(3, 3)
    values = pixels.astype(np.float64) @ matrix.T + move.offset
    return np.rint(np.clip(values, 0, move.data_range)).astype(pixels.dtype)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strength": 0.5},
        {"space": "ycbcr"},
        {"method": "covariance"},
        {"max_clip": 0.01},
        {"mask": "tissue"},
        {"sampler": "own_style"},
        {"sampler": "own_style", "method": "covariance"},
    ],
)
def test_the_map_does_what_the_augmentation_does(options: dict[str, Any]) -> None:
    colorist = rc.Colorist(BANK, seed=0, **options)
    draw = colorist.draw_from(stream(3))
    move = affine_map(colorist, TILES[0], draw)
    assert move is not None
    changed = colorist.recolour(TILES[0], draw)
    assert np.abs(apply_map(TILES[0], move).astype(int) - changed).max() <= (0 if len(move.gain) == 3 else 1)
    assert (changed != TILES[0]).any()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_the_plain_case_has_the_same_numbers_as_a_plan(dtype: type) -> None:
    image = TILES[1].astype(dtype) * (257 if dtype is np.uint16 else 1)
    colorist = rc.Colorist(BANK, seed=0, strength=(0.2, 0.9))
    draw = colorist.draw_from(stream(1))
    assert is_plain(colorist, image)
    plan = rc.plan(rc.measure(image), draw.style.moments, strength=draw.strength)
    move = plain_map(colorist, image, draw)
    np.testing.assert_allclose(move.gain, plan.matrix.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(move.offset, plan.offset_for(move.data_range), rtol=1e-12)


def test_what_is_not_one_map_of_all_pixels_is_none() -> None:
    inside = np.zeros((9, 7), bool)
    inside[:4] = True
    colorist = rc.Colorist(BANK, seed=0, apply_to="mask")
    assert affine_map(colorist, TILES[0], colorist.draw_from(stream(0)), inside) is None
    lab = rc.Colorist(rc.StyleBank.build(TILES, space="lab"), space="lab", seed=0)
    assert affine_map(lab, TILES[0], lab.draw_from(stream(0))) is None
    by_histogram = rc.Colorist(rc.StyleBank.build(TILES, with_histograms=True), method="histogram", seed=0)
    assert affine_map(by_histogram, TILES[0], by_histogram.draw_from(stream(0))) is None


@pytest.mark.parametrize(
    "image",
    [
        TILES[0].astype(np.float32) / 255,
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 1), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 4, 3), ">u2"),
        TILES,
    ],
)
def test_the_plain_case_is_of_integer_images_alone(image: Any) -> None:
    assert not is_plain(rc.Colorist(BANK, seed=0), image)


@pytest.mark.parametrize("option", [{"space": "yiq"}, {"max_clip": 0.5}, {"mask": "tissue"}, {"data_range": 255.0}])
def test_options_that_are_not_plain(option: dict[str, Any]) -> None:
    assert not is_plain(rc.Colorist(BANK, seed=0, **option), TILES[0])


def test_levels_in_either_memory_order() -> None:
    planes = np.ascontiguousarray(TILES[0].transpose(2, 0, 1)).transpose(1, 2, 0)
    exact = rc.measure(TILES[0])
    for pixels in (TILES[0], planes):
        mean, variance = zip(*measure_levels(pixels), strict=True)
        assert (list(mean), list(variance)) == (exact.mean.tolist(), exact.cov.diagonal().tolist())
