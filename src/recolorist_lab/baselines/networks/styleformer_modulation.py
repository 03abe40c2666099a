"""Styleformer's modulation network: make a bank of transforms from the style, arrange it like the content, and apply it.

Names of tensors are those of the released files. The 256 channels are treated in 16 groups of 16. A transform of a group has
16 × 17 coefficients: for each channel that comes out, a weight for each that goes in, and a bias.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist.errors import OptionError

__all__ = ["APPLY_MODES", "Bank", "Modulation", "applied", "composed", "grouped", "sliced"]

CHANNELS: Final = 256
GROUPS: Final = 16
GROUP: Final = CHANNELS // GROUPS
LUMA: Final = 4  # bins of the grid along the guide
COEFFICIENTS: Final = GROUP * (GROUP + 1)
_ENTRIES: Final = COEFFICIENTS * LUMA
_AT_ONCE: Final = 1 << 24  # numbers of sliced coefficients held at once when nothing has to be kept for gradients

#: What is made of the coefficients at a position, and how many of them it reads.
APPLY_MODES: Final = MappingProxyType({"affine": COEFFICIENTS, "released": 2 * GROUP})


class Bank(NamedTuple):
    """The style as the network uses it: transforms (S, 16, numbers, positions) and their keys (S, 16, 16, positions).

    A transform has as many numbers as are read of it: 1,088 for ``affine``, 128 for ``released``.
    """

    values: Tensor
    keys: Tensor


class Modulation(nn.Module):
    """Compute the result's relu3_1 features from those of content and style."""

    def __init__(self, apply_mode: str = "released") -> None:
        super().__init__()
        if apply_mode not in APPLY_MODES:
            raise OptionError(f"apply_mode={apply_mode!r}; accepted are {', '.join(APPLY_MODES)}")
        self.apply_mode = apply_mode
        self.coeffs = Coefficients()
        self.att = GridAttention()
        self.guide = Guide()
        self.fcc = nn.Conv2d(CHANNELS, CHANNELS, 1)
        self.fcs = nn.Conv2d(CHANNELS, CHANNELS, 1)

    def bank_of(self, style: Tensor) -> Bank:
        """Compute the part that depends on the style only, so that it can be kept."""
        grid = self.coeffs(style)
        values = self.att.values(grid.flatten(1, 2), APPLY_MODES[self.apply_mode] * LUMA).flatten(2)
        keys = self.att.keys(grouped(self.fcs(style))).flatten(2)
        return Bank(values.unflatten(0, (-1, GROUPS)), keys.unflatten(0, (-1, GROUPS)))

    def forward(self, content: Tensor, bank: Bank) -> Tensor:
        """Modulate content features with a bank of as many styles, or of one for all."""
        features = grouped(self.fcc(content))
        queries = self.att.queries(features)
        flat_queries = queries.flatten(2).unflatten(0, (-1, GROUPS))
        grid = composed(flat_queries, bank).flatten(0, 1).unflatten(2, tuple(queries.shape[-2:]))
        out = self._modulated(features, grid.unflatten(1, (-1, LUMA)))
        return out.reshape(content.shape)

    def _modulated(self, features: Tensor, grid: Tensor) -> Tensor:
        """Slice and apply; in strips of rows where no gradient is needed."""
        grid = grid[:, : APPLY_MODES[self.apply_mode]]
        guide = self.guide(features)[:, 0]
        places = _places(guide)
        height, width = guide.shape[-2:]
        rows = height if torch.is_grad_enabled() else max(1, _AT_ONCE // (grid.shape[0] * grid.shape[1] * width))
        strips = [
            applied(sampled(grid, rows_at), part, self.apply_mode)
            for rows_at, part in zip(places.split(rows, 1), features.split(rows, 2), strict=True)
        ]
        return torch.cat(strips, 2)


class Block(nn.Module):
    """A convolution with mirrored borders."""

    def __init__(self, width: int, wider: int, kernel: int = 3, stride: int = 1, *, bias: bool = True) -> None:
        super().__init__()
        self.edge = kernel // 2
        self.conv = nn.Conv2d(width, wider, kernel, stride, bias=bias)

    def forward(self, maps: Tensor) -> Tensor:
        """Convolve, without an activation."""
        out: Tensor = self.conv(functional.pad(maps, [self.edge] * 4, mode="reflect") if self.edge else maps)
        return out


class Coefficients(nn.Module):
    """Compute the bank from the style's features: (S, 256, h, w) to (16 S, 272, 4, h / 4, w / 4)."""

    def __init__(self) -> None:
        super().__init__()
        half = CHANNELS // 2
        self.splat_features = nn.ModuleList([Block(CHANNELS, CHANNELS, stride=2) for _ in range(2)])
        self.local_features = nn.ModuleList([Block(CHANNELS, half), Block(half, half, bias=False)])
        self.conv_out = Block(half, GROUPS * _ENTRIES, 1)

    def forward(self, style: Tensor) -> Tensor:
        """Compute the coefficients; channels of the last layer are numbered by group, then coefficient, then luma."""
        for layer in (*self.splat_features, *self.local_features):
            style = functional.relu(layer(style))
        out: Tensor = self.conv_out(style)
        return out.unflatten(1, (GROUPS, COEFFICIENTS, LUMA)).flatten(0, 1)


class GridAttention(nn.Module):
    """Queries from the content, keys from the style, values from the bank; one head for each group."""

    def __init__(self) -> None:
        super().__init__()
        self.convc1, self.convc2 = Block(GROUP, GROUP, stride=2), Block(GROUP, GROUP, stride=2)
        self.convs1, self.convs2 = Block(GROUP, GROUP, stride=2), Block(GROUP, GROUP, stride=2)
        self.convsr = Block(_ENTRIES, _ENTRIES)

    def values(self, grid: Tensor, count: int) -> Tensor:
        """Return the first ``count`` outputs of the bank's convolution: those that the way of applying them reads."""
        conv = self.convsr.conv
        padded = functional.pad(grid, [self.convsr.edge] * 4, mode="reflect")
        return functional.conv2d(padded, conv.weight[:count], None if conv.bias is None else conv.bias[:count])

    def queries(self, content: Tensor) -> Tensor:
        """Compute queries at a quarter of the content features' side."""
        out: Tensor = self.convc2(functional.relu(self.convc1(content)))
        return out

    def keys(self, style: Tensor) -> Tensor:
        """Compute keys at a quarter of the style features' side, the size of the bank."""
        out: Tensor = self.convs2(functional.relu(self.convs1(style)))
        return out


class Guide(nn.Module):
    """Compute the luma coordinate of each position, from 0 to 1."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = Block(GROUP, 4, 1), Block(4, 1, 1)

    def forward(self, content: Tensor) -> Tensor:
        """Return one map for each group."""
        return torch.sigmoid(self.conv2(functional.relu(self.conv1(content))))


def grouped(maps: Tensor) -> Tensor:
    """Normalise each group of channels to mean 0 and deviation 1, as an item of its own.

    Args:
        maps: (N, 256, h, w).

    Returns:
        (16 N, 16, h, w).
    """
    return functional.group_norm(maps, GROUPS).reshape(-1, GROUP, *maps.shape[-2:])


def composed(queries: Tensor, bank: Bank) -> Tensor:
    """Rearrange a bank: at each content position, the mean of the values weighted by attention to their keys.

    Args:
        queries: Of the content.
        bank: Keys and values of the style.

    Returns:
        The values by position of the content.

    Example:
        >>> bank = Bank(torch.tensor([[[[1.0, 3.0]]]]), torch.zeros(1, 1, 2, 2))
        >>> composed(torch.ones(1, 1, 2, 3), bank).tolist()
        [[[[2.0, 2.0, 2.0]]]]
    """
    attention = torch.softmax(queries.transpose(-1, -2) @ bank.keys, -1)
    return bank.values @ attention.transpose(-1, -2)


def sliced(grid: Tensor, guide: Tensor) -> Tensor:
    """Read a grid between its nodes at every position of a guide.

    The corners of grid and guide lie on each other. The guide runs from 0 to 1 and the bins from -1 to 1. So its 0 is the middle
    of the luma bins, and the first half is never read. The published weights have learnt with that, so it stays.

    Args:
        grid: `(M, C, luma, h, w)`.
        guide: `(M, H, W)`.

    Returns:
        `(M, C, H, W)`.

    Example:
        >>> luma = torch.arange(4.0).reshape(1, 1, 4, 1, 1)
        >>> sliced(luma, torch.tensor([[[0.0, 1.0]]])).flatten().tolist()
        [1.5, 3.0]
    """
    return sampled(grid, _places(guide))


def sampled(grid: Tensor, places: Tensor) -> Tensor:
    """Sample a grid at places.

    Args:
        grid: The grid.
        places: (M, H, W, 3): column, row and luma, each from -1 to 1.

    Returns:
        Values at the places.
    """
    values = functional.grid_sample(grid, places[:, None], mode="bilinear", padding_mode="reflection", align_corners=True)
    return values[:, :, 0]


def applied(coefficients: Tensor, maps: Tensor, mode: str = "released") -> Tensor:
    """Apply the transform at every position.

    ``affine`` is the method: channel i is the sum over j of coefficient 17 i + j times channel j, plus coefficient 17 i + 16.
    ``released`` is what the released code does: coefficient 2 i times the sum of all channels, plus coefficient 2 i + 1.

    Args:
        coefficients: `(M, coefficients, h, w)`.
        maps: `(M, 16, h, w)`.
        mode: ``"released"`` or ``"affine"``.

    Returns:
        `(M, 16, h, w)`.
    """
    per_channel = GROUP + 1 if mode == "affine" else 2
    table = coefficients[:, : APPLY_MODES[mode]].unflatten(1, (GROUP, per_channel))
    weights, bias = table[:, :, :-1], table[:, :, -1]
    if mode == "released":
        maps = maps.sum(1, keepdim=True)
    return (weights * maps[:, None]).sum(2) + bias


def _places(guide: Tensor) -> Tensor:
    """Return column, row and luma of every position: (M, H, W) to (M, H, W, 3)."""
    rows, columns = (torch.linspace(-1.0, 1.0, side, device=guide.device, dtype=guide.dtype) for side in guide.shape[-2:])
    return torch.stack([columns.expand_as(guide), rows[:, None].expand_as(guide), guide], -1)
