"""The heuristics against torchvision itself, and against what the study says of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from recolorist._torchvision_ops import declare_missing_ops
from recolorist.augment.streams import stream
from recolorist.errors import OptionError
from recolorist_lab.augmentations import build
from recolorist_lab.augmentations.base import PURPOSE
from recolorist_lab.augmentations.heuristics import TRANSFORMS, torch_seeded
from recolorist_lab.augmentations.table import AUGMENTATIONS
from tests.lab.augmentations.parts import always, built, images, picture

declare_missing_ops()

from torchvision.transforms import v2  # noqa: E402 - its operators are declared first

# As the study defines them; torchvision's own defaults where it says nothing else.
EXPECTED = {
    "augmix": v2.AugMix,
    "autoaugment": v2.AutoAugment,
    "color_jitter": lambda: v2.ColorJitter(0.2, 0.2, 0.2, 0.2),
    "gray_scale": lambda: v2.Grayscale(3),
    "randaugment": v2.RandAugment,
    "random_erasing": v2.RandomErasing,
    "random_flip": lambda: v2.Compose([v2.RandomHorizontalFlip(0.5), v2.RandomVerticalFlip(0.5)]),
    "random_resized_crop": lambda: v2.RandomResizedCrop((32, 32)),
    "trivialaugment": v2.TrivialAugmentWide,
}


def test_all_of_torchvisions_are_compared() -> None:
    assert set(EXPECTED) == set(TRANSFORMS) == {name for name, entry in AUGMENTATIONS.items() if entry.family == "torchvision"}


@pytest.mark.parametrize("name", EXPECTED)
def test_it_is_torchvisions_with_the_settings_of_the_study(name: str) -> None:
    transform, image = EXPECTED[name](), picture()
    for index in range(40):
        rng = stream(7, 2, index, PURPOSE)
        rng.random()
        seed = int(rng.integers(2**32))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            wanted = transform(torch.from_numpy(image).permute(2, 0, 1).contiguous()).permute(1, 2, 0).numpy()
        assert np.array_equal(built(name)(image, index=index, epoch=2), wanted)


def test_the_drawn_operations_are_those_of_the_sheet() -> None:
    shapes: dict[str, Any] = {
        "severity": v2.AugMix().severity,
        "mixture_width": v2.AugMix().mixture_width,
        "chain_depth": v2.AugMix().chain_depth,
        "alpha": v2.AugMix().alpha,
        "all_ops": v2.AugMix().all_ops,
    }
    assert shapes == dict(AUGMENTATIONS["augmix"].options)
    assert len(v2.AutoAugment()._policies) == 25
    assert len(v2.RandAugment()._AUGMENTATION_SPACE) == len(v2.TrivialAugmentWide()._AUGMENTATION_SPACE) == 14
    assert len(v2.AugMix()._AUGMENTATION_SPACE) == 13


def test_grey_has_three_equal_channels() -> None:
    grey = built("gray_scale")(picture(), index=0, epoch=0)
    assert (grey == grey[..., :1]).all()
    assert len(np.unique(grey)) > 100


def test_flips_come_out_in_quarters() -> None:
    image = picture()
    outcomes = {
        image.tobytes(): "neither",
        image[:, ::-1].tobytes(): "sideways",
        image[::-1].tobytes(): "over",
        image[::-1, ::-1].tobytes(): "both",
    }
    counts = Counter(outcomes[built("random_flip")(image, index=index, epoch=0).tobytes()] for index in range(4000))
    assert all(abs(count / 4000 - 0.25) < 0.03 for count in counts.values())
    assert len(counts) == 4


def test_erasing_changes_half_of_the_images_and_a_part_of_each() -> None:
    white = np.full((64, 64, 3), 255, np.uint8)
    areas = []
    for index in range(2000):
        result = built("random_erasing")(white, index=index, epoch=0)
        black = (result == 0).all(axis=-1)
        assert np.array_equal(result[..., 0], np.where(black, 0, 255))
        areas.append(black.mean())
    erased = [area for area in areas if area]
    assert abs(len(erased) / 2000 - 0.5) < 0.04
    assert min(erased) > 0.015  # whole pixels: a little less than 2 %
    assert max(erased) < 0.34
    assert np.ptp(erased) > 0.25


def test_crops_keep_the_size_and_some_are_small() -> None:
    image = picture(64)
    spans = [np.ptp(built("random_resized_crop")(image, index=index, epoch=0)[..., 0].astype(int)) for index in range(300)]
    assert min(spans) < 110  # a narrow part of the ramp from black to white
    assert max(spans) > 220


def test_jitter_stays_within_its_range() -> None:
    grey = np.full((16, 16, 3), 100, np.uint8)
    values = [int(built("color_jitter")(grey, index=index, epoch=0)[0, 0, 0]) for index in range(400)]
    assert 77 <= min(values) < 84  # each step rounds down
    assert 116 < max(values) <= 121


def test_p_is_the_share_of_images_it_is_offered() -> None:
    half = build("gray_scale", images(), seed=3, p=0.5)
    image = picture()
    changed = sum(half(image, index=index, epoch=0) is not image for index in range(2000))
    assert abs(changed / 2000 - 0.5) < 0.04
    assert all(always("gray_scale")(image, index=index, epoch=0) is not image for index in range(50))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("autoaugment", {"policy": "imagnet"}),
        ("color_jitter", {"hue": 0.9}),
        ("random_erasing", {"chance": 1.5}),
        ("random_flip", {"horizontal": 2.0}),
    ],
)
def test_wrong_options_are_refused_at_once(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=name):
        build(name, images(), seed=0, options=options)


def test_the_state_of_torch_comes_back_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), torch_seeded(3):
        torch.rand(4).reshape(3)
    assert torch.equal(before, torch.get_rng_state())
