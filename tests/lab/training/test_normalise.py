"""Images are normalised with the training split's mean and deviation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import recolorist as rc
from recolorist_lab.training.normalise import Normalise

IMAGES = np.random.default_rng(5).integers(0, 256, (6, 4, 4, 3), dtype=np.uint8)


def test_training_pixels_get_mean_zero_and_deviation_one() -> None:
    normalise = Normalise.of(rc.StyleBank.build(IMAGES, split="train"))
    seen = normalise(normalise.unit(torch.from_numpy(IMAGES.transpose(0, 3, 1, 2).copy()))).double()
    assert seen.mean((0, 2, 3)).abs().max() < 1e-6
    assert seen.std((0, 2, 3), correction=0).tolist() == pytest.approx([1, 1, 1], abs=1e-6)


def test_a_channel_without_variation_is_not_blown_up() -> None:
    flat = np.full((3, 4, 4, 3), 128, np.uint8)
    normalise = Normalise.of(rc.StyleBank.build(flat, split="train", with_blank=True))
    assert min(normalise.std) == pytest.approx(1e-3)
    assert normalise(normalise.unit(torch.full((1, 3, 2, 2), 128, dtype=torch.uint8))).abs().max() < 1e-3
