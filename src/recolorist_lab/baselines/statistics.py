"""Channel statistics of feature maps, and the transforms that replace them."""

from __future__ import annotations

import torch
from torch import Tensor

from recolorist.errors import ImageError

__all__ = ["EPS", "adain", "mean_std", "normalised", "widened"]

EPS = 1e-5  #: added to the variance, inside the root: a constant channel then has a finite gradient


def widened(features: Tensor) -> Tensor:
    """Convert features to float32 unless they are wider.

    Args:
        features: Of any precision.

    Returns:
        The features, in float32 or float64.

    Example:
        >>> widened(torch.zeros(1, dtype=torch.float16)).dtype, widened(torch.zeros(1, dtype=torch.float64)).dtype
        (torch.float32, torch.float64)
    """
    return features if features.dtype == torch.float64 else features.float()


def mean_std(features: Tensor, eps: float = EPS) -> tuple[Tensor, Tensor]:
    """Compute mean and ``sqrt(variance + eps)`` of each channel of each sample; the variance divides by n - 1.

    At least float32, also under autocast: half precision loses the variance of large features.

    Args:
        features: `(N, C, H, W)`.
        eps: Added to the variance.

    Returns:
        Both as `(N, C, 1, 1)`.

    Raises:
        ImageError: There is one position only, and so no variance.

    Example:
        >>> mean, std = mean_std(torch.tensor([[[[1.0, 3.0]]]]), eps=0.0)
        >>> mean.item(), round(std.item(), 4)
        (2.0, 1.4142)
    """
    if features.shape[-2] * features.shape[-1] < 2:
        raise ImageError(
            f"a feature map of shape {tuple(features.shape)} has one position and so no variance; give larger images"
        )
    variance, mean = torch.var_mean(widened(features), dim=(-2, -1), keepdim=True, correction=1)
    return mean, (variance + eps).sqrt()


def normalised(features: Tensor, eps: float = EPS) -> Tensor:
    """Normalise every channel of every sample to mean 0 and standard deviation 1.

    Args:
        features: (B, C, H, W).
        eps: Added to the variance.

    Returns:
        (B, C, H, W).
    """
    mean, std = mean_std(features, eps)
    return (features - mean) / std


def adain(content: Tensor, style: Tensor, eps: float = EPS) -> Tensor:
    """Give content features the channel means and deviations of the style's.

    Args:
        content: `(N, C, H, W)`.
        style: Features of as many samples and channels; positions may differ in number.
        eps: Added to the variance.

    Returns:
        Features of the content's shape.

    Example:
        >>> x = torch.randn(1, 4, 6, 6)
        >>> bool((adain(x, x) - x).abs().max() < 1e-5)
        True
    """
    mean, std = mean_std(style, eps)
    return normalised(content, eps) * std + mean
