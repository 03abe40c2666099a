"""Padding by mirroring."""

from __future__ import annotations

import torch
from torch import nn

from recolorist_lab.baselines.padding import mirrored, padded
from tests.lab.baselines import kit


class TestPadding:
    def test_mirrors_as_often_as_it_takes(self) -> None:
        assert mirrored(4, 12).tolist() == [0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1]
        image = kit.tiles(1, (9, 13))
        there = padded(image, 1, 8)
        assert there.shape[-2:] == (16, 16)
        assert torch.equal(there, nn.functional.pad(image, (0, 3, 0, 7), mode="reflect"))

    def test_what_fits_is_not_copied(self) -> None:
        image = kit.tiles(1, 16)
        assert padded(image, 16, 8) is image
