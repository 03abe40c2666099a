"""The losses of the AdaIN family; every reduction is a plain mean over all elements.

Feature lists are taps relu1_1, relu2_1, … in this order, as :meth:`recolorist_lab.baselines.vgg.Encoder.taps` gives them.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn.functional import mse_loss

from recolorist.errors import OptionError
from recolorist_lab.baselines.statistics import mean_std, normalised

__all__ = ["content_loss", "feature_loss", "identity_loss", "mean_loss", "moment_loss", "mse", "std_loss", "style_loss"]

Taps = Sequence[Tensor]

mse = mse_loss


def moment_loss(features: Tensor, target: Tensor) -> Tensor:
    """Compute squared differences of channel means and of channel deviations, at one tap.

    Args:
        features: `(B, C, H, W)`.
        target: Features to compare with.

    Returns:
        The loss.

    Example:
        >>> import torch
        >>> x = torch.randn(2, 3, 5, 5)
        >>> round(moment_loss(x, x + 2).item(), 5)
        4.0
    """
    mean, std = mean_std(features)
    wanted_mean, wanted_std = mean_std(target)
    return mse(mean, wanted_mean) + mse(std, wanted_std)


def style_loss(features: Taps, target: Taps) -> Tensor:
    """Sum :func:`moment_loss` over the taps with equal weights.

    Args:
        features: Features of the result, one tensor a tap.
        target: Features to compare with, one tensor a tap.

    Returns:
        The loss.
    """
    return _summed([moment_loss(x, y) for x, y in _pairs(features, target)])


def mean_loss(features: Taps, target: Taps) -> Tensor:
    """Sum squared differences of channel means over the taps.

    Args:
        features: Features of the result, one tensor a tap.
        target: Features to compare with, one tensor a tap.

    Returns:
        The loss.
    """
    return _summed([mse(mean_std(x)[0], mean_std(y)[0]) for x, y in _pairs(features, target)])


def std_loss(features: Taps, target: Taps) -> Tensor:
    """Sum squared differences of channel deviations over the taps.

    Args:
        features: Features of the result, one tensor a tap.
        target: Features to compare with, one tensor a tap.

    Returns:
        The loss.
    """
    return _summed([mse(mean_std(x)[1], mean_std(y)[1]) for x, y in _pairs(features, target)])


def feature_loss(features: Taps, target: Taps) -> Tensor:
    """Sum squared differences over the taps.

    Args:
        features: Features of the result, one tensor a tap.
        target: Features to compare with, one tensor a tap.

    Returns:
        The loss.
    """
    return _summed([mse(x, y) for x, y in _pairs(features, target)])


def content_loss(features: Taps, target: Taps) -> Tensor:
    """Sum squared differences of channel-normalised features over the taps (SANet and others: relu4_1 and relu5_1).

    Args:
        features: Features of the result, one tensor a tap.
        target: Features to compare with, one tensor a tap.

    Returns:
        The loss.
    """
    return _summed([mse(normalised(x), normalised(y)) for x, y in _pairs(features, target)])


def identity_loss(images: tuple[Tensor, Tensor], features: tuple[Taps, Taps]) -> tuple[Tensor, Tensor]:
    """Compute the loss between an image and its stylisation by itself.

    Each pair is (what came out, what went in); pixels are not clamped.

    Args:
        images: A pair of images.
        features: The features of the pair at every tap.

    Returns:
        The loss in pixels, and in features summed over the taps.
    """
    return mse(*images), feature_loss(*features)


def _pairs(features: Taps, target: Taps) -> list[tuple[Tensor, Tensor]]:
    if len(features) != len(target) or not features:
        raise OptionError(
            f"{len(features)} taps were given with {len(target)} targets; give the same number of each, at least one"
        )
    return list(zip(features, target, strict=True))


def _summed(terms: list[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
