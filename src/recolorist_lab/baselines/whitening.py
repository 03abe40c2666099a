"""Whitening and colouring (WCT): give one set of features the mean and covariance of another.

With the covariances C_c and C_s of content and style (divided by n - 1), f the centred content and I the identity,

    out = (C_s + ridge I)^(1/2) (C_c + ridge I)^(-1/2) f + mean of the style

All statistics and both roots are in float64, per sample. A direction in which a covariance has (next to) no variance is left out
of its root. In the inverse root it would be noise divided by nearly zero. So singular covariances need no special case. The
gradient of a root is written in closed form. It never divides by the difference of two eigenvalues, so these may be equal.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

from recolorist.errors import OptionError

__all__ = ["FLOOR", "moments", "root", "usable_labels", "wct", "wct_regions"]

FLOOR: Final = 1e-5  # smaller variances count as zero
_COLUMNS: Final = 2**16  # so many positions are converted to float64 at a time: 512² × 64 channels would be 134 MB at once
_LEAST_PIXELS: Final = 10  # a label needs more pixels than this in both images …
_MOST_UNEQUAL: Final = 100  # … and in neither this many times as many as in the other


class _Root(torch.autograd.Function):
    """Compute E f(d) Eᵀ of symmetric matrices E d Eᵀ, with f(d) = d^(±1/2), and zero where d is below the floor."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, inverse: bool, floor: float) -> Tensor:
        values, vectors = torch.linalg.eigh(matrix)
        size = matrix.shape[-1]
        least = (values[..., -1:] * (size * torch.finfo(matrix.dtype).eps)).clamp(min=floor)  # rounding grows with the largest
        roots = torch.where(values >= least, values, torch.zeros_like(values)).sqrt()
        mapped = torch.where(roots > 0, 1 / roots, roots) if inverse else roots
        ctx.save_for_backward(roots, mapped, vectors)
        ctx.inverse = inverse
        return (vectors * mapped.unsqueeze(-2)) @ vectors.mT

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """Compute the gradient after Daleckii and Krein: entry (i, j) times the divided difference of f at dᵢ and dⱼ."""
        roots, mapped, vectors = ctx.saved_tensors
        rows, columns = roots.unsqueeze(-1), roots.unsqueeze(-2)
        total = rows + columns
        slope = torch.where(total > 0, 1 / total, total)  # of the square root, from dᵢ - dⱼ = (rᵢ - rⱼ)(rᵢ + rⱼ)
        if ctx.inverse:
            product = mapped.unsqueeze(-1) * mapped.unsqueeze(-2)
            lone = (mapped.unsqueeze(-1) + mapped.unsqueeze(-2)) ** 3  # one of the two was left out: f(dᵢ) / dᵢ
            slope = torch.where(product > 0, -product * slope, lone)
        symmetric = (grads[0] + grads[0].mT) / 2
        return vectors @ ((vectors.mT @ symmetric @ vectors) * slope) @ vectors.mT, None, None


def root(matrix: Tensor, *, inverse: bool = False, floor: float = FLOOR) -> Tensor:
    """Compute the symmetric square root of symmetric matrices, or its pseudo-inverse.

    Args:
        matrix: `(..., C, C)`.
        inverse: Compute the pseudo-inverse of the root.
        floor: Eigenvalues below it count as zero.

    Returns:
        Matrices of the same shape.

    Example:
        >>> root(torch.diag(torch.tensor([4.0, 0.0])), inverse=True)
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    result: Tensor = _Root.apply(matrix, inverse, floor)
    return result


def moments(columns: Tensor) -> tuple[Tensor, Tensor]:
    """Compute mean and covariance of features, in float64.

    Args:
        columns: `(B, C, n)`.

    Returns:
        Mean `(B, C, 1)` and covariance `(B, C, C)`, divided by n - 1.

    Example:
        >>> mean, covariance = moments(torch.tensor([[[1.0, 3.0]]]))
        >>> mean.item(), covariance.item()
        (2.0, 2.0)
    """
    mean = columns.mean(-1, keepdim=True, dtype=torch.float64)
    products = torch.zeros((), dtype=torch.float64, device=columns.device)
    for chunk in columns.split(_COLUMNS, -1):
        centred = chunk.double() - mean
        products = products + centred @ centred.mT
    return mean, products / max(columns.shape[-1] - 1, 1)


def wct(
    content: Tensor, style: Tensor, *, ridge: float = 0.0, floor: float = FLOOR, clamp: bool = False, alpha: float = 1.0
) -> Tensor:
    """Whiten the content's features and colour them with the style's, each sample for itself.

    Args:
        content: Features (B, C, ...) to change.
        style: Features (B, C, ...) to take mean and covariance from; positions may be any number.
        ridge: What is added to both covariances' diagonals: 0 gives the style's covariance exactly, WCT2 adds 1.
        floor: Directions with less variance than this are left out.
        clamp: Keep every value between the smallest and the largest value of the same sample's content features.
        alpha: 1 for the result, 0 for the content, between them a blend.

    Returns:
        Features of the content's shape.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> content, style = torch.randn(2, 1, 4, 9, 9, generator=generator)
        >>> out = wct(content, 3 * style + 1)
        >>> torch.allclose(moments(out.flatten(2))[1], moments(3 * style.flatten(2))[1], atol=1e-5)
        True
    """
    _check(content, style)
    columns = content.flatten(2)
    centre, spread = moments(columns)
    mean, target = moments(style.flatten(2))
    ridged = ridge * torch.eye(content.shape[1], dtype=torch.float64, device=content.device)
    matrix = root(target + ridged, floor=floor) @ root(spread + ridged, inverse=True, floor=floor)
    coloured = matrix.to(content.dtype) @ (columns - centre.to(content.dtype)) + mean.to(content.dtype)
    if clamp:
        coloured = torch.maximum(torch.minimum(coloured, columns.amax((1, 2), keepdim=True)), columns.amin((1, 2), keepdim=True))
    return (coloured if alpha == 1 else alpha * coloured + (1 - alpha) * columns).reshape(content.shape)


def wct_regions(content: Tensor, style: Tensor, content_labels: Tensor, style_labels: Tensor, **options: Any) -> Tensor:
    """Apply WCT label by label: each region takes the statistics of the style's region with the same label.

    Args:
        content: Features (B, C, H, W).
        style: Features (B, C, h, w).
        content_labels: Integer labels (B, ·, ·) of any size; they are brought to the features' size by nearest neighbour.
        style_labels: The same for the style.
        **options: As for :func:`wct`.

    Returns:
        The new features; where a label cannot be used (see :func:`usable_labels`), the content's own.
    """
    _check(content, style)
    out = content.flatten(2).clone()
    for sample in range(len(content)):
        content_map, style_map = _labels_at(content_labels[sample], content), _labels_at(style_labels[sample], style)
        for label in usable_labels(content_labels[sample], style_labels[sample]):
            chosen, reference = content_map == label, style_map == label
            if chosen.sum() > 1 and reference.sum() > 1:  # a small region may be gone at a coarse level
                source, target = (part[sample : sample + 1].flatten(2) for part in (content, style))
                out[sample, :, chosen] = wct(source[..., chosen], target[..., reference], **options)[0]
    return out.reshape(content.shape)


def usable_labels(content_labels: Tensor, style_labels: Tensor) -> tuple[int, ...]:
    """Choose labels with more than 10 pixels in both maps, and in neither 100 times as many as in the other.

    Args:
        content_labels: The content's map of regions.
        style_labels: The style's map of regions.

    Returns:
        The labels.

    Example:
        >>> usable_labels(torch.zeros(4, 4), torch.zeros(5, 5)), usable_labels(torch.zeros(3, 3), torch.zeros(5, 5))
        ((0,), ())
    """
    labels = sorted({int(label) for label in content_labels.unique()} & {int(label) for label in style_labels.unique()})
    counts = [(int((content_labels == label).sum()), int((style_labels == label).sum())) for label in labels]
    enough = [min(pair) > _LEAST_PIXELS and max(pair) < _MOST_UNEQUAL * min(pair) for pair in counts]
    return tuple(label for label, good in zip(labels, enough, strict=True) if good)


def _labels_at(labels: Tensor, features: Tensor) -> Tensor:
    """Sample one map of labels at the centres of the features' cells, as Pillow's nearest neighbour does; flat."""
    size = (features.shape[2], features.shape[3])
    small = torch.nn.functional.interpolate(labels[None, None].double(), size, mode="nearest-exact")
    return small.round().long().flatten()


def _check(content: Tensor, style: Tensor) -> None:
    if content.shape[:2] != style.shape[:2] or content.ndim < 3 or style.ndim < 3:
        raise OptionError(
            f"features of shapes {tuple(content.shape)} and {tuple(style.shape)}; accepted are (B, C, ...) with the same B and "
            "C; give each content its own style"
        )
