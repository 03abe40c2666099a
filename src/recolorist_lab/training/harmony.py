"""Harmonising at test time: every image gets the colours of the training split before the network sees it."""

from __future__ import annotations

import numpy as np

import recolorist as rc
from recolorist.bank.style_bank import StyleBank
from recolorist.core.moments import Moments
from recolorist_lab.augmentations.base import inside
from recolorist_lab.data.loader import Sample
from recolorist_lab.data.pixels import Bytes

__all__ = ["Harmony", "pool"]


def pool(bank: StyleBank) -> Moments:
    """All images of a bank as if they were one.

    >>> images = np.random.default_rng(0).integers(0, 256, (3, 8, 9, 3), dtype=np.uint8)
    >>> together = pool(StyleBank.build(images, split="train"))
    >>> bool(np.allclose(together.std, images.reshape(-1, 3).std(axis=0) / 255))
    True
    """
    share = bank.pixels / bank.pixels.sum()
    mean = share @ bank.mean
    away = bank.mean - mean
    cov = np.einsum("n,nij->ij", share, bank.cov + away[:, :, None] * away[:, None, :])
    return Moments(int(bank.pixels.sum()), mean, cov, 1.0, bank.space)


class Harmony:
    """Match to the typical image of a bank: its mean colour, and the mean deviation within one image.

    The deviation of all pixels together would be too large a target, since it holds the differences between images as well.
    """

    def __init__(self, bank: StyleBank) -> None:
        spread = bank.std.mean(axis=0)
        self.style = Moments(int(bank.pixels.sum()), bank.mean.mean(axis=0), np.diag(spread**2), 1.0, bank.space)

    def __call__(self, sample: Sample) -> Bytes:
        """The sample's image, matched; a border stays black."""
        return inside(sample.image, sample.box, self._matched)

    def _matched(self, picture: Bytes) -> Bytes:
        matched: Bytes = rc.match(picture, self.style)
        return matched
