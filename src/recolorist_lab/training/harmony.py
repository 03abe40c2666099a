"""Harmonising at test time: every image gets the colours of the training split before the network sees it."""

from __future__ import annotations

import warnings

import numpy as np

import recolorist as rc
from recolorist.augment.harmoniser import Gate
from recolorist.bank.drift import SmallBankWarning
from recolorist.bank.style_bank import StyleBank
from recolorist.core.moments import Moments
from recolorist.errors import StatisticsError
from recolorist_lab.augmentations.base import inside
from recolorist_lab.data.loader import Sample
from recolorist_lab.data.pixels import Bytes

__all__ = ["Harmony", "harmonies", "pool"]


def pool(bank: StyleBank) -> Moments:
    """Pool the statistics of all images of a bank as if they were one image.

    Args:
        bank: The bank.

    Returns:
        The moments.

    Example:
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
    """Harmonise samples with the bank of the training images, as `recolorist harmonise` does.

    Args:
        bank: Styles of the training images.
        gate: ``"off"`` matches every image to the average style; ``"centre"`` those outside the bank only.
    """

    def __init__(self, bank: StyleBank, gate: Gate = "off") -> None:
        self.harmoniser = rc.Harmoniser(bank, gate)

    def __call__(self, sample: Sample) -> Bytes:
        """Return the sample's image, harmonised; a border stays black."""
        return inside(sample.image, sample.box, self.harmoniser)


def harmonies(bank: StyleBank) -> dict[str, Harmony]:
    """Return the ways of harmonising that are measured, by the name of the test set they make.

    A bank that is too small for a gate has no gated one.

    Args:
        bank: Styles of the training images.

    Returns:
        The ways by name of the test set.
    """
    ways = {"test_harmonised": Harmony(bank)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallBankWarning)  # scores show what the gate of a small bank is worth
            return {**ways, "test_gated": Harmony(bank, "centre")}
    except StatisticsError:
        return ways
