"""Pictures to measure, as files hold them and as the metrics take them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tests.commands import picture

Image = NDArray[np.uint8]


def scene(seed: int = 0, size: tuple[int, int] = (37, 53)) -> Image:
    """A smooth random picture; not square, so that swapped sides cannot hide."""
    return picture(seed, size)


def noisy(image: Image, deviation: float, seed: int = 0) -> Image:
    noise = np.random.default_rng(seed).normal(0, deviation, image.shape)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


def unit(*images: Image) -> torch.Tensor:
    """(N, 3, H, W) in [0, 1], float64."""
    return torch.from_numpy(np.stack(images).transpose(0, 3, 1, 2).copy()).double() / 255


def whole(*images: Image) -> torch.Tensor:
    """(N, 3, H, W), uint8."""
    return torch.from_numpy(np.stack(images).transpose(0, 3, 1, 2).copy())
