"""The distance of colours: the Wasserstein distance of each channel's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist_lab.metrics.images import levels, pair

__all__ = ["wasserstein", "wasserstein_levels"]


def wasserstein(a: Any, b: Any) -> torch.Tensor:
    """Compute the earth mover's distance of each pair, as the mean over the three channels, in float64.

    It is exact: the mean distance of the sorted values. Where pixels lie does not matter.

    Args:
        a: Float images (N, 3, H, W) in [0, 1].
        b: As many images of the same size.

    Returns:
        A tensor (N,); 0 is equal, and no value is above 1.

    Raises:
        RangeError: Shape, type or range of the images is not accepted.

    Example:
        >>> wasserstein(torch.full((1, 3, 2, 2), 0.25), torch.full((1, 3, 2, 2), 0.75))
        tensor([0.5000], dtype=torch.float64)
    """
    first, second = pair(a, b)
    u, v = (channels.double().flatten(2).sort(dim=2).values for channels in (first, second))
    return (u - v).abs().mean(dim=2).mean(dim=1)


def wasserstein_levels(a: Any, b: Any) -> float:
    """Compute the same distance of one pair of 8-bit images from their 256-bin histograms.

    Args:
        a: An image (H, W, 3) of uint8.
        b: Another one, which may differ in size.

    Returns:
        The distance in [0, 1].

    Raises:
        RangeError: An image is not 8-bit colour.

    Example:
        >>> wasserstein_levels(np.zeros((2, 2, 3), np.uint8), np.full((1, 4, 3), 255, np.uint8))
        1.0
    """
    first, second = _counts(levels(a, "a")), _counts(levels(b, "b"))
    n, m = int(first[0].sum()), int(second[0].sum())
    apart = np.abs(np.cumsum(first * m - second * n, axis=1)).sum(axis=1)  # whole numbers, so that only one division rounds
    return sum(map(int, apart)) / (3 * 255 * n * m)


def _counts(image: NDArray[np.uint8]) -> NDArray[np.int64]:
    counts = np.zeros((3, 256), np.uint64)
    kernels.loops.histogram(image, 1, 3, counts)
    return counts.astype(np.int64)
