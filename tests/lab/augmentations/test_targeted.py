"""The corruptions, one by one, and how they are drawn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from recolorist.augment.streams import stream
from recolorist.errors import OptionError
from recolorist_lab.augmentations import build
from recolorist_lab.augmentations.corruptions import CORRUPTIONS, comet
from recolorist_lab.augmentations.severities import SET_OF, SETS, Strength
from recolorist_lab.augmentations.table import settled
from recolorist_lab.augmentations.targeted import IDENTITY, Targeted, set_of
from recolorist_lab.data.pixels import Bytes
from recolorist_lab.data.registry import CARDS
from tests.lab.augmentations.parts import images, picture

COUNTS = {
    "pathmnist": 11,
    "bloodmnist": 11,
    "dermamnist": 15,
    "retinamnist": 8,
    "tissuemnist": 8,
    "octmnist": 6,
    "breastmnist": 7,
    **dict.fromkeys(("chestmnist", "pneumoniamnist", "organamnist", "organcmnist", "organsmnist"), 13),
}


def corrupted(name: str, *strength: float, image: Bytes | None = None, seed: int = 0, scale: float = 1.0) -> Bytes:
    return CORRUPTIONS[name](picture(64) if image is None else image, strength, np.random.default_rng(seed), scale)


def flat(level: int, side: int = 224) -> Bytes:
    return np.full((side, side, 3), level, np.uint8)


def test_every_set_has_its_corruptions() -> None:
    assert {name: len(entries) for name, entries in SETS.items()} == COUNTS
    assert {name for entries in SETS.values() for name in entries} == set(CORRUPTIONS)


def test_every_dataset_has_a_set() -> None:
    assert set(SET_OF) == {*CARDS, *SETS, "synthetic"}
    assert {"peripheral_blood", "bone_marrow", "retina"} <= set(SET_OF)


@pytest.mark.parametrize("name", SETS)
def test_each_is_drawn_as_often_as_any_other_and_as_nothing(name: str) -> None:
    change = Targeted(settled("targeted", {"corruptions": name}), "anything", 0)
    counts = Counter(change.draw(stream(3, 0, index))[0] for index in range(5000))
    share = 1 / (COUNTS[name] + 1)
    assert set(counts) == {*SETS[name], IDENTITY}
    deviation = (share * (1 - share) / 5000) ** 0.5
    assert all(abs(count / 5000 - share) < 4.5 * deviation for count in counts.values())


@pytest.mark.parametrize("name", SETS)
def test_strengths_lie_between_the_first_and_the_last(name: str) -> None:
    change = Targeted(settled("targeted", {"corruptions": name}), "anything", 0)
    seen: dict[str, list[Strength]] = {}
    for index in range(3000):
        which, strength = change.draw(stream(4, 0, index))
        seen.setdefault(which, []).append(strength)
    for which, levels in SETS[name].items():
        drawn, ends = np.array(seen[which]), np.array([levels[0], levels[-1]])
        low, high = ends.min(axis=0), ends.max(axis=0)
        assert (drawn >= low).all()
        assert (drawn <= high).all()
        middle = (drawn.mean(axis=0) - low) / np.maximum(high - low, 1e-9)
        assert (abs(middle - 0.5) < 0.15).all() or (high == low).any()


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


def test_the_lens_is_round() -> None:
    result = corrupted("black_corner", 1.0, image=flat(255))
    assert result[112, 112, 0] == 255
    assert result[2, 2, 0] == 0
    assert np.mean(result > 0) == pytest.approx(np.pi / 4, rel=0.01)


def test_drops_are_black_and_about_as_large_as_they_should_be() -> None:
    sizes = [np.count_nonzero(corrupted("stain_deposit", 1, image=flat(200), seed=seed)[..., 0] == 0) for seed in range(100)]
    assert 250 < np.mean(sizes) < 450  # of 24 × 24 = 576; the package's ten masks have 276 to 447
    assert set(np.unique(corrupted("stain_deposit", 3, image=flat(200)))) == {0, 200}


def test_bubbles_are_as_white_as_the_packages() -> None:
    assert set(np.unique(corrupted("bubble", 15, 12, image=flat(100)))) == {100, 161, 179}


def test_words_are_small_and_of_one_colour_each() -> None:
    result = corrupted("characters", 1, 6, 0.18, image=flat(200))
    changed = (result != 200).any(axis=-1)
    assert 0 < changed.mean() < 0.02


def test_lengths_shrink_with_the_image_unless_asked_not_to() -> None:
    def softness(reference: int) -> float:
        change = Targeted(settled("targeted", {"corruptions": "bloodmnist", "reference": reference}), "", 0)
        noise = np.random.default_rng(0).integers(0, 256, (56, 56, 3), dtype=np.uint8)
        results = []
        for index in range(600):
            if change.draw(stream(5, 0, index))[0] in ("defocus_blur", "motion_blur"):
                change.seed = 5
                rng = stream(5, 0, index)
                results.append(float(np.std(change.change(noise, rng, 0, None))))
        return float(np.mean(results))

    assert softness(0) < 0.7 * softness(224)


def test_sets_are_named_or_found_and_unknown_ones_refused() -> None:
    assert set_of("ddi") == "dermamnist"
    with pytest.raises(OptionError, match=r"no set of corruptions is known for the dataset 'mine'.*bloodmnist"):
        set_of("mine")
    with pytest.raises(OptionError, match="did you mean 'bloodmnist'"):
        build("targeted(corruptions='bloodminst')", images(), seed=0)
    with pytest.raises(OptionError, match="reference=-1"):
        build("targeted(reference=-1)", images(), seed=0)
