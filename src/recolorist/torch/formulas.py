"""Measure, plan and apply in torch operations, for batches on any device, compiled and with gradients.

Nothing here asks the device for a value, so nothing waits for it. For uint8 the sums are exact 64-bit integers and the rest is
float64, in the order of the core; see :class:`recolorist.torch.ColorMatch` for what follows from that.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import torch

from recolorist.core.blank import BAND, SHARE
from recolorist.core.spaces import Mixing
from recolorist.core.style_change import LEAST_MEAN, MOST_MEAN
from recolorist.errors import ImageError
from recolorist.torch.exact import is_exporting
from recolorist.torch.parameters import Parameters

__all__ = ["MOST_PIXELS", "BatchMoments", "apply", "are_blank", "change_styles", "decide", "measure", "mixing_tensors"]

MOST_PIXELS: Final = 11_000_000  # pixels² · 255² must stay below 2^63
_NOISE: Final = 1e-13  # as in recolorist.plan: below this share, a mixed channel is flat but for rounding


class BatchMoments(NamedTuple):
    """Mean (B, C) and covariance (B, C, C) of each image, float64; only the diagonal is filled where no more is needed."""

    mean: torch.Tensor
    cov: torch.Tensor

    def rows(self, index: torch.Tensor) -> BatchMoments:
        """Return the moments of the images at ``index``."""
        return BatchMoments(self.mean[index], self.cov[index])

    def scale(self, ratio: float) -> BatchMoments:
        """Return the moments of the same images in other units."""
        return BatchMoments(self.mean * ratio, self.cov * (ratio * ratio))


def measure(batch: torch.Tensor, *, cross: bool) -> BatchMoments:
    """Measure each image of (B, C, H, W).

    Args:
        batch: uint8, or floating point.
        cross: Compute the whole covariance, not only its diagonal.

    Raises:
        ImageError: The images are too large for exact sums.

    Example:
        >>> measure(torch.tensor([[[[0, 10, 20, 30]]]], dtype=torch.uint8), cross=False).cov
        tensor([[[125.]]], dtype=torch.float64)
    """
    flat = batch.flatten(2)
    return _measure_levels(flat, cross=cross) if batch.dtype == torch.uint8 else _measure_floats(flat, cross=cross)


def _measure_levels(flat: torch.Tensor, *, cross: bool) -> BatchMoments:
    count = flat.shape[-1]
    if not is_exporting() and count > MOST_PIXELS:
        raise ImageError(f"images of {count} pixels are too large for exact sums in a batch; use recolorist.match for each")
    sums = flat.sum(-1, dtype=torch.int64)
    levels = flat.to(torch.int32)
    if cross:
        products = torch.stack([(levels * levels[:, i : i + 1]).sum(-1, dtype=torch.int64) for i in range(flat.shape[1])], -1)
        scatter = count * products - sums[:, :, None] * sums[:, None, :]
    else:
        scatter = torch.diag_embed(count * levels.square().sum(-1, dtype=torch.int64) - sums.square())
    return BatchMoments(sums.double() / count, scatter.double() / (count * count))


def _measure_floats(flat: torch.Tensor, *, cross: bool) -> BatchMoments:
    values, count = flat.double(), flat.shape[-1]
    low, high = values.amin(-1), values.amax(-1)
    flat_channel = low == high  # rounding of the mean must not look like variance
    mean = torch.where(flat_channel, low, values.mean(-1))
    deviations = values - mean[..., None]
    squares = deviations @ deviations.transpose(1, 2) if cross else torch.diag_embed(deviations.square().sum(-1))
    varies = ~flat_channel
    return BatchMoments(mean, squares / count * (varies[:, :, None] & varies[:, None, :]))


def are_blank(batch: torch.Tensor, measured: BatchMoments, data_range: float, inside: torch.Tensor | None = None) -> torch.Tensor:
    """Say which images of (B, C, H, W) are blank, by the rule of :mod:`recolorist.core.blank`.

    Args:
        batch: The images.
        measured: Their moments, or those of their foreground.
        data_range: The largest value of the images.
        inside: The foreground (B, 1, H, W); an image without any is blank.

    Returns:
        Booleans (B,).

    Example:
        >>> batch = torch.tensor([240, 241, 242, 60], dtype=torch.uint8).reshape(2, 1, 1, 2)
        >>> are_blank(batch, measure(batch, cross=False), 255.0)
        tensor([ True, False])
    """
    band = BAND * data_range
    low = measured.cov.diagonal(dim1=1, dim2=2) < band * band
    values = batch.detach().flatten(2)
    values = values if values.dtype == torch.float64 else values.float()
    near = (values - measured.mean.detach().to(values.dtype)[..., None]).abs() <= band
    if inside is None:
        share = near.float().mean(-1)
    else:
        chosen = inside.flatten(2)
        share = (near & chosen).float().sum(-1) / chosen.float().sum(-1).clamp(min=1.0)
        share = torch.where(chosen.any(-1), share, 1.0)
        low = low | ~chosen.any(-1)
    return (low & (share >= SHARE)).all(1)


def change_styles(content: BatchMoments, step: torch.Tensor, gains: torch.Tensor, data_range: float = 1.0) -> BatchMoments:
    """Change the style of each image by the rule of :class:`recolorist.core.style_change.StyleChange`, in its order.

    Args:
        content: Moments of the images.
        step: (B, C), added to the means, in a range from 0 to 1.
        gains: (B, C), factors on the deviations.
        data_range: The largest value of the images.

    Returns:
        The styles to match the images to.

    Example:
        >>> grey = BatchMoments(torch.tensor([[0.5]]), torch.tensor([[[0.04]]]))
        >>> [part.tolist() for part in change_styles(grey, torch.tensor([[0.25]]), torch.tensor([[0.5]]))]
        [[[0.75]], [[[0.009999999776482582]]]]
    """
    own = content.mean
    low, high = LEAST_MEAN * data_range, MOST_MEAN * data_range
    mean = (own + step * data_range).maximum(own.clamp(max=low)).minimum(own.clamp(min=high))
    cov = content.cov * (gains[:, :, None] * gains[:, None, :])
    variance = cov.diagonal(dim1=1, dim2=2)
    most = (mean * (data_range - mean)).clamp(min=0.0)
    share = torch.where(variance > most, most / variance.clamp(min=torch.finfo(variance.dtype).tiny), 1.0).amin(1)
    return BatchMoments(mean, cov * share[:, None, None])


def decide(
    content: BatchMoments,
    style: BatchMoments,
    strength: torch.Tensor,
    max_gain: float,
    basis: tuple[torch.Tensor, torch.Tensor] | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Plan the map of each image by the rules of :func:`recolorist.plan` for mean and deviation.

    Args:
        content: Moments of the images.
        style: Moments of their styles.
        strength: (B,), 0 to 1.
        max_gain: Largest factor on a channel.
        basis: The two matrices of a linear space, None for RGB.

    Returns:
        Gain (B, C) or matrix (B, 3, 3), and offset (B, C).
    """
    if basis is not None:
        return _decide_mixed(content, style, strength, max_gain, *basis)
    gain = _gain(content.cov.diagonal(dim1=1, dim2=2), style.cov.diagonal(dim1=1, dim2=2), max_gain)
    offset = style.mean - gain * content.mean
    share = strength[:, None]
    part = share < 1  # full strength is left untouched by the rounding of the blend
    return torch.where(part, 1.0 + share * (gain - 1.0), gain), torch.where(part, share * offset, offset)


def _decide_mixed(
    content: BatchMoments,
    style: BatchMoments,
    strength: torch.Tensor,
    max_gain: float,
    rows: torch.Tensor,
    inverse: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    gain = _gain(_mixed_variances(content.cov, rows), _mixed_variances(style.cov, rows), max_gain)
    change = strength[:, None] * (gain - 1.0)
    matrix = torch.eye(3, dtype=torch.float64, device=gain.device) + (inverse * change[:, None, :]) @ rows
    share = strength[:, None]
    goal = torch.where(share < 1, content.mean + share * (style.mean - content.mean), style.mean)
    return matrix, goal - (matrix @ content.mean[..., None])[..., 0]


def _mixed_variances(cov: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    mixed = (rows @ cov * rows).sum(-1)
    scale = _root(cov.diagonal(dim1=1, dim2=2)) @ rows.abs().T
    return torch.where(mixed > _NOISE * scale.square(), mixed, 0.0)


def _gain(content: torch.Tensor, style: torch.Tensor, max_gain: float) -> torch.Tensor:
    """Return the ratio of deviations, at most ``max_gain``; zero where either image is flat."""
    varies = (content > 0) & (style > 0)
    deviation, wanted = _root(torch.where(varies, content, 1.0)), _root(torch.where(varies, style, 1.0))
    gain = torch.where(wanted > max_gain * deviation, max_gain, wanted / deviation)
    return torch.where(varies, gain, 0.0)


def _root(variance: torch.Tensor) -> torch.Tensor:
    """Return the square root; its gradient at zero is zero instead of infinite."""
    positive = variance > 0
    return torch.where(positive, torch.where(positive, variance, 1.0).sqrt(), 0.0)


def apply(batch: torch.Tensor, parameters: Parameters, data_range: float) -> torch.Tensor:
    """Apply the maps of a batch; images that are not chosen stay as they are, bit for bit."""
    offset = parameters.offset * (data_range / parameters.data_range)[:, None]
    if batch.dtype == torch.uint8 and parameters.gain.ndim == 2:
        changed = _look_up(batch, parameters.gain, offset)
    else:
        changed = _map_values(batch, parameters.gain, offset).clamp(0.0, data_range)
        changed = (changed.round() if batch.dtype == torch.uint8 else changed).to(batch.dtype).view_as(batch)
    return torch.where(parameters.applied[:, None, None, None], changed, batch)


def _look_up(batch: torch.Tensor, gain: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
    """Map bytes by a table of 256 levels for each image and channel."""
    levels = torch.arange(256, dtype=torch.float64, device=batch.device)
    tables = (gain[..., None] * levels + offset[..., None]).clamp(0.0, 255.0).round().to(torch.uint8)
    return tables.gather(2, batch.flatten(2).long()).view_as(batch)


def _map_values(batch: torch.Tensor, gain: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
    values = batch.flatten(2).double()
    if gain.ndim == 2:
        return gain[..., None] * values + offset[..., None]
    total = gain[:, :, 0:1] * values[:, 0:1]  # in channel order, offset last, as the core adds
    for k in range(1, batch.shape[1]):
        total = total + gain[:, :, k : k + 1] * values[:, k : k + 1]
    return total + offset[..., None]


def mixing_tensors(basis: Mixing) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the two matrices of a linear space."""
    return torch.from_numpy(basis.rows.copy()), torch.from_numpy(basis.inverse.copy())
