"""Corruptions follow their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist_lab.augmentations.corruptions import CORRUPTIONS, comet
from recolorist_lab.augmentations.severities import SETS, Strength
from tests.lab.augmentations.corrupted import corrupted, flat
from tests.lab.augmentations.parts import picture


@pytest.mark.parametrize("name", SETS)
def test_every_corruption_of_every_set_runs_at_every_level_and_size(name: str) -> None:
    for which, levels in SETS[name].items():
        for level in levels:
            for image in (picture(32), np.ascontiguousarray(picture(48)[:30])):
                before = image.copy()
                result = CORRUPTIONS[which](image, level, np.random.default_rng(1), max(image.shape) / 224)
                assert result.dtype == np.uint8
                assert result.shape == image.shape
                assert np.array_equal(image, before)


@pytest.mark.parametrize("name", [name for name in CORRUPTIONS if name not in ("black_corner", "characters", "zoom_blur")])
def test_the_last_level_changes_more_than_the_first(name: str) -> None:
    levels = next(entries[name] for entries in SETS.values() if name in entries)
    image = picture(224)

    def change(level: Strength) -> float:
        results = [CORRUPTIONS[name](image, level, np.random.default_rng(seed), 1.0) for seed in range(8)]
        return float(np.mean([np.abs(result.astype(int) - image).mean() for result in results]))

    assert change(levels[-1]) > change(levels[0]) > 0


def test_noise_has_the_deviation_that_it_says() -> None:
    grey = flat(128)
    assert np.std(corrupted("gaussian_noise", 0.1, image=grey).astype(float)) == pytest.approx(25.5, rel=0.02)
    assert np.std(corrupted("speckle_noise", 0.1, image=grey).astype(float)) == pytest.approx(12.8, rel=0.02)
    assert np.std(corrupted("shot_noise", 60, image=grey).astype(float)) == pytest.approx(255 * (128 / 255 / 60) ** 0.5, rel=0.02)
    speckled = corrupted("impulse_noise", 0.1, image=grey)
    assert np.mean(speckled == 255) == pytest.approx(0.05, rel=0.05)
    assert np.mean(speckled == 0) == pytest.approx(0.05, rel=0.05)


def test_noise_is_new_in_every_image() -> None:
    a, b = (corrupted("impulse_noise", 0.1, image=flat(128), seed=seed) for seed in (1, 2))
    assert np.mean((a == 255) & (b == 255)) < 0.01


def test_light_and_colour_follow_their_formulas() -> None:
    assert corrupted("brightness_up", 1.2, image=flat(100))[0, 0, 0] == 120
    assert corrupted("gamma_corr_up", 2.0, image=flat(128))[0, 0, 0] == round(255 * (128 / 255) ** 2)
    low = corrupted("contrast_down", 0.5)
    assert np.std(low.astype(float)) == pytest.approx(np.std(picture(64).astype(float)) / 2, rel=0.1)
    pale = np.full((8, 8, 3), (200, 180, 180), np.uint8)
    assert corrupted("saturate", 0.2, image=pale)[0, 0].tolist() == pytest.approx([200, 140, 140], abs=1)


def test_blurs_keep_the_mean_and_take_the_detail() -> None:
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    for name, strength in (("gaussian_blur", (9.0,)), ("defocus_blur", (4.0, 0.1)), ("motion_blur", (9.0, 5.0))):
        soft = corrupted(name, *strength, image=image)
        assert abs(float(soft.mean()) - float(image.mean())) < 1.5
        assert np.std(soft) < np.std(image) / 2


def test_motion_has_one_direction() -> None:
    point = np.zeros((41, 41, 3), np.uint8)
    point[20, 20] = 255
    lit = np.argwhere(corrupted("motion_blur", 6, 4, image=point)[..., 0] > 0) - 20
    assert lit[:, 1].min() < -4  # the tail
    assert lit[:, 1].max() == 0
    kernel = comet(6, 4.0, 0.0)
    assert kernel.sum() == pytest.approx(1.0)
    assert np.count_nonzero(kernel.sum(axis=1)) == 1


def test_pixels_become_blocks() -> None:
    blocks = corrupted("pixelate", 0.25)
    assert (blocks.reshape(16, 4, 16, 4, 3) == blocks[::4, ::4].reshape(16, 1, 16, 1, 3)).all()


def test_zooming_leaves_the_centre_and_smears_the_edge() -> None:
    result = corrupted("zoom_blur", 1.3, 0.03, image=picture(65))
    error = np.abs(result.astype(int) - picture(65))[..., :2]
    assert error[30:35, 30:35].mean() < 3 < error[:, :5].mean() / 2
