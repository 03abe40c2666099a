"""Parts that the two vision transformers share: patch embedding, position table, and patches as products of two halves."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist.errors import OptionError

__all__ = ["PATCH", "Normalisation", "PatchEmbedding", "places", "resized", "start_linear", "synthesise"]

PATCH = 16  #: pixels a side


class PatchEmbedding(nn.Module):
    """Make one token for each patch; the weights start as those of a linear layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, PATCH, stride=PATCH)
        nn.init.xavier_uniform_(self.proj.weight.view(width, -1))

    def forward(self, image: Tensor) -> Tensor:
        """Map (B, 3, H, W) to (B, patches, width), row by row."""
        tokens: Tensor = self.proj(image)
        return tokens.flatten(2).transpose(1, 2)


class Normalisation(nn.Module):
    """Mean and deviation of the training images, per channel: given, or taken from the first batch that training sees."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.known = bool(mean or std)
        if self.known and (len(mean) != 3 or len(std) != 3 or min(std) <= 0):
            raise OptionError(
                f"mean={tuple(mean)}, std={tuple(std)}; accepted are three numbers each, deviations above 0, or neither"
            )
        self.register_buffer("mean", torch.tensor(mean or (0.5, 0.5, 0.5)))
        self.register_buffer("std", torch.tensor(std or (0.25, 0.25, 0.25)))

    def learn(self, images: Tensor) -> None:
        """Measure mean and deviation of these images, unless they were given."""
        if not self.known:
            self.mean.copy_(images.mean((0, 2, 3)))
            self.std.copy_(images.std((0, 2, 3)).clamp(min=1e-3))

    def forward(self, image: Tensor) -> Tensor:
        """Normalise to mean 0 and deviation 1."""
        return (image - self.mean[:, None, None]) / self.std[:, None, None]

    def undo(self, image: Tensor) -> Tensor:
        """Undo the normalisation."""
        return image * self.std[:, None, None] + self.mean[:, None, None]


def places(side: int, width: int) -> Tensor:
    """Compute the positional code: sines and cosines of a patch's column, then of its row. The class token's row is zero.

    Args:
        side: Patches in a row.
        width: Of the code.

    Returns:
        `(1, side² + 1, width)`.

    Example:
        >>> places(14, 768).shape
        torch.Size([1, 197, 768])
    """
    quarter = width // 4
    speeds = 1.0 / 10000 ** (torch.arange(quarter, dtype=torch.float64) / quarter)
    angles = torch.arange(side, dtype=torch.float64)[:, None] * speeds
    waves = torch.cat([angles.sin(), angles.cos()], dim=1)  # (side, width / 2)
    columns, rows = waves.repeat(side, 1), waves.repeat_interleave(side, dim=0)
    table = torch.cat([torch.zeros(1, width, dtype=torch.float64), torch.cat([columns, rows], dim=1)])
    return table.float()[None]


def synthesise(first: Tensor, second: Tensor) -> Tensor:
    """Make images from the two halves of every token; the class token is left out.

    A patch is the product of a 16 × L and an L × 16 matrix for each of three planes. The planes are then read as if they were
    (row, column, channel), which is not how they were made. The published networks were trained with this, so it stays.

    Args:
        first: `(B, 1 + patches, width / 2)`.
        second: Of the same shape.

    Returns:
        `(B, 3, H, W)`.
    """
    batch, tokens, half = first.shape
    inner, side = half // (3 * PATCH), round((tokens - 1) ** 0.5)
    left = first[:, 1:].reshape(batch, -1, 3, PATCH, inner)
    right = second[:, 1:].reshape(batch, -1, 3, inner, PATCH)
    patches = (left @ right).reshape(batch, side, side, PATCH, PATCH, 3)
    return patches.permute(0, 5, 1, 3, 2, 4).reshape(batch, 3, side * PATCH, side * PATCH)


def resized(image: Tensor, size: int | tuple[int, int]) -> Tensor:
    """Resize images with antialiasing.

    Args:
        image: (B, 3, H, W).
        size: One side, or height and width.

    Returns:
        The same tensor where the size is right already.
    """
    target = (size, size) if isinstance(size, int) else size
    if tuple(image.shape[-2:]) == target:
        return image
    return functional.interpolate(image, target, mode="bilinear", antialias=True, align_corners=False)


def start_linear(module: nn.Module) -> None:
    """Initialise a linear layer after Xavier and Glorot, with zero biases.

    Args:
        module: Any module; others are left alone.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)


def refuse_odd(width: int, size: int) -> None:
    """Check that patches can be made as a product of halves.

    Args:
        width: Of the tokens.
        size: Side of the images.

    Raises:
        OptionError: They cannot.
    """
    if width < 1 or width % (6 * PATCH):
        raise OptionError(
            f"width={width}; accepted are multiples of {6 * PATCH}, so that a patch is a product of two halves of a token"
        )
    if size < PATCH or size % PATCH:
        raise OptionError(f"size={size}; accepted are multiples of {PATCH}")
