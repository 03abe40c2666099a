"""Pad an image for a network: mirror it at the right and lower edge, and crop the result afterwards."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["mirrored", "padded"]


def padded(image: Tensor, least: int, multiple: int) -> Tensor:
    """Pad an image by reflection until each side is long enough and a multiple of a number.

    Args:
        image: `(B, C, H, W)`.
        least: The least side.
        multiple: What each side is a multiple of.

    Returns:
        The padded image; the image itself where nothing is missing.

    Example:
        >>> padded(torch.zeros(1, 3, 5, 16), 9, 8).shape
        torch.Size([1, 3, 16, 16])
    """
    for dim in (-2, -1):
        have = image.shape[dim]
        want = -(-max(have, least) // multiple) * multiple
        if want != have:
            image = image.index_select(dim, mirrored(have, want).to(image.device))
    return image


def mirrored(have: int, want: int) -> Tensor:
    """Return the source of each of ``want`` positions among ``have``, reflected as often as needed, edges not repeated.

    torch's own reflection cannot pad by more than the image is wide, and small images are exactly those that need it.

    Args:
        have: Positions of the image.
        want: Positions after padding.

    Returns:
        Places in the image.

    Example:
        >>> mirrored(3, 8).tolist(), mirrored(1, 3).tolist()
        ([0, 1, 2, 1, 0, 1, 2, 1], [0, 0, 0])
    """
    period = max(1, 2 * (have - 1))
    place = torch.arange(want) % period
    return torch.minimum(place, period - place)
