"""Normalise images by mean and deviation of the training split."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from recolorist.bank.style_bank import StyleBank
from recolorist_lab.training.harmony import pool

__all__ = ["Normalise"]

_FLAT = 1e-3  # of the range: a channel without variation is shifted, not amplified


class Normalise(NamedTuple):
    """Mean and deviation per channel of values in [0, 1], without letterbox borders."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, bank: StyleBank) -> Normalise:
        """Measure the normalisation from the styles of all training images.

        Args:
            bank: The styles.

        Returns:
            The normalisation.
        """
        pooled = pool(bank)
        return cls(tuple(map(float, pooled.mean)), tuple(float(value) for value in np.maximum(pooled.std, _FLAT)))

    def unit(self, images: Tensor) -> Tensor:
        """Convert bytes to the range from 0 to 1.

        Args:
            images: (B, 3, H, W), uint8.

        Returns:
            Floats.
        """
        return images.to(torch.float32) / 255.0

    def __call__(self, images: Tensor) -> Tensor:
        """Normalise values in [0, 1] to mean 0 and deviation 1 over the training split.

        >>> half = Normalise((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))
        >>> float(half(torch.full((1, 3, 1, 1), 0.75)).max())
        1.0
        """
        return (images - _channels(self.mean, images)) / _channels(self.std, images)


def _channels(values: tuple[float, ...], like: Tensor) -> Any:
    return torch.tensor(values, dtype=like.dtype, device=like.device)[:, None, None]
