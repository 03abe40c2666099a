"""Give the style the content's colours before encoding, so that only textures are transferred."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["coral"]


def coral(style: Tensor, content: Tensor) -> Tensor:
    """Give style images the colour covariance and means of content images.

    A channel that is constant has no deviation to divide by; it is taken as it is, so the result is finite for every image.

    Args:
        style: `(B, 3, H, W)`; its size may differ from the content's.
        content: `(B, 3, H, W)`.

    Returns:
        The style images, recoloured.

    Example:
        >>> x = torch.rand(1, 3, 16, 16)
        >>> bool((coral(x, x) - x).abs().max() < 1e-3)
        True
    """
    moved, _, _ = _standardised(style)
    _, mean, std = _standardised(content)
    pixels = content.shape[-2] * content.shape[-1]
    matrix = _root(_scatter(content, pixels)) @ torch.linalg.inv(_root(_scatter(style, pixels)))
    out = (matrix @ moved) * std + mean
    return out.reshape(style.shape).to(style.dtype)


def _standardised(image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return pixels (B, 3, n) in float64 with mean 0 and deviation 1 per channel, and the former mean and deviation."""
    pixels = image.double().flatten(2)
    std, mean = torch.std_mean(pixels, dim=2, keepdim=True)
    return (pixels - mean) / torch.where(std > 0, std, 1.0), mean, std


def _scatter(image: Tensor, count: int) -> Tensor:
    """Return sums of products, not divided by the number of pixels, plus one on the diagonal, so that they can be inverted.

    The sums are those of ``count`` pixels, whatever the image has: otherwise the larger of two images would come out paler.
    """
    pixels, _, _ = _standardised(image)
    identity = torch.eye(pixels.shape[1], dtype=pixels.dtype, device=pixels.device)
    return pixels @ pixels.mT * (count / pixels.shape[2]) + identity


def _root(matrix: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(matrix)
    return (vectors * values.sqrt()[:, None, :]) @ vectors.mT
