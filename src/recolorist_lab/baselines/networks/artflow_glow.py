"""The invertible network of ArtFlow: Glow blocks without split, prior or log-determinant, so nothing is dropped.

Names of parameters and buffers are those of the released files, which is why they are short.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

__all__ = ["ActNorm", "Coupling", "Glow", "GlowStep", "InvertibleConv"]

_TINY: Final = 1e-6
_FLAT: Final = 1e-4  # a channel that hardly moves in the first batch tells nothing of its scale
_WIDTH: Final = 512
_SPREAD: Final = 0.05  # of the coupling's first weights


class ActNorm(nn.Module):
    """Compute y = scale (x + loc) per channel. The first batch sets both so that y has mean 0 and deviation 1.

    Example:
        >>> norm = ActNorm(2)
        >>> norm.initialise(torch.arange(8.0).reshape(1, 2, 2, 2))
        >>> norm(torch.arange(8.0).reshape(1, 2, 2, 2)).mean((0, 2, 3)).abs().max().item() < 1e-6
        True
    """

    initialized: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.scale = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.register_buffer("initialized", torch.tensor(0, dtype=torch.uint8))

    @torch.no_grad()
    def initialise(self, x: Tensor) -> None:
        """Set scale and shift from the mean and unbiased deviation of a batch, unless they are set already."""
        if int(self.initialized):
            return
        deviation, mean = torch.std_mean(x, (0, 2, 3), keepdim=True)
        self.loc.copy_(-mean)
        self.scale.copy_(torch.where(deviation > _FLAT, 1 / (deviation + _TINY), torch.ones_like(deviation)))
        self.initialized.fill_(1)

    def forward(self, x: Tensor) -> Tensor:
        """Shift, then scale."""
        return self.scale * (x + self.loc)

    def reverse(self, y: Tensor) -> Tensor:
        """Invert :meth:`forward`."""
        return y / self.scale - self.loc


class InvertibleConv(nn.Module):
    """A 1×1 convolution with W = P (L∘M_l + I) (U∘M_u + diag(sign exp(w_s))), which starts as a random rotation."""

    w_p: Tensor
    u_mask: Tensor
    l_mask: Tensor
    l_eye: Tensor
    s_sign: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        rotation, _ = torch.linalg.qr(torch.randn(channels, channels, dtype=torch.float64))
        permutation, lower, upper = torch.linalg.lu(rotation)
        diagonal = upper.diagonal()
        mask = torch.ones(channels, channels).triu(1)
        self.w_l = nn.Parameter(lower.float().contiguous())
        self.w_u = nn.Parameter(upper.triu(1).float().contiguous())
        self.w_s = nn.Parameter(diagonal.abs().log().float())
        self.register_buffer("w_p", permutation.float().contiguous())
        self.register_buffer("u_mask", mask)
        self.register_buffer("l_mask", mask.T.contiguous())
        self.register_buffer("s_sign", diagonal.sign().float())
        self.register_buffer("l_eye", torch.eye(channels))

    def weight(self) -> Tensor:
        """Assemble W (C, C)."""
        lower = self.w_l * self.l_mask + self.l_eye
        upper = self.w_u * self.u_mask + torch.diag(self.s_sign * self.w_s.exp())
        return self.w_p @ lower @ upper

    def forward(self, x: Tensor) -> Tensor:
        """Multiply by W at every position."""
        return functional.conv2d(x, self.weight()[:, :, None, None])

    def reverse(self, y: Tensor) -> Tensor:
        """Invert :meth:`forward`; W is inverted in float64 for precision."""
        inverse = torch.linalg.inv(self.weight().double()).to(y.dtype)
        return functional.conv2d(y, inverse[:, :, None, None])


class _ZeroConv(nn.Module):
    """The last convolution of the coupling: its weights start at zero, and the border is padded with ones."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3)
        nn.init.zeros_(self.conv.weight)
        if self.conv.bias is not None:
            nn.init.zeros_(self.conv.bias)
        self.scale = nn.Parameter(torch.zeros(1, outputs, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        padded = functional.pad(x, (1, 1, 1, 1), value=1.0)
        result: Tensor = self.conv(padded) * (3 * self.scale).exp()
        return result


class Coupling(nn.Module):
    """Pass one half of the channels on; shift the other (or, affine, also scale it) by a small network of the first."""

    def __init__(self, channels: int, *, affine: bool = False, width: int = _WIDTH) -> None:
        super().__init__()
        self.affine = affine
        half = channels // 2
        first, middle = nn.Conv2d(half, width, 3, padding=1), nn.Conv2d(width, width, 1)
        for conv in (first, middle):
            nn.init.normal_(conv.weight, 0.0, _SPREAD)
            if conv.bias is not None:
                nn.init.zeros_(conv.bias)
        last = _ZeroConv(width, channels if affine else half)
        self.net = nn.Sequential(first, nn.ReLU(inplace=True), middle, nn.ReLU(inplace=True), last)

    def forward(self, x: Tensor) -> Tensor:
        """Map (a, b) to (a, b + NN(a)), or to (a, (b + t) sigmoid(log_s + 2)) with (log_s, t) = NN(a)."""
        unchanged, changed = x.chunk(2, 1)
        output = self.net(unchanged)
        if not self.affine:
            return torch.cat([unchanged, changed + output], 1)
        log_s, shift = output.chunk(2, 1)
        return torch.cat([unchanged, (changed + shift) * torch.sigmoid(log_s + 2)], 1)

    def reverse(self, y: Tensor) -> Tensor:
        """Invert :meth:`forward` with the same network."""
        unchanged, changed = y.chunk(2, 1)
        output = self.net(unchanged)
        if not self.affine:
            return torch.cat([unchanged, changed - output], 1)
        log_s, shift = output.chunk(2, 1)
        return torch.cat([unchanged, changed / torch.sigmoid(log_s + 2) - shift], 1)


class GlowStep(nn.Module):
    """ActNorm, 1×1 convolution, coupling; in reverse order for the inverse."""

    def __init__(self, channels: int, *, affine: bool = False, width: int = _WIDTH) -> None:
        super().__init__()
        self.actnorm = ActNorm(channels)
        self.invconv = InvertibleConv(channels)
        self.coupling = Coupling(channels, affine=affine, width=width)

    def forward(self, x: Tensor) -> Tensor:
        """Map towards the latent."""
        result: Tensor = self.coupling(self.invconv(self.actnorm(x)))
        return result

    def reverse(self, y: Tensor) -> Tensor:
        """Map towards the image."""
        return self.actnorm.reverse(self.invconv.reverse(self.coupling.reverse(y)))


class _Block(nn.Module):
    """Turn each 2×2 square of pixels into four channels, then run the flows."""

    def __init__(self, channels: int, flows: int, *, affine: bool, width: int) -> None:
        super().__init__()
        self.flows = nn.ModuleList(GlowStep(channels, affine=affine, width=width) for _ in range(flows))

    def steps(self) -> list[GlowStep]:
        return [flow for flow in self.flows if isinstance(flow, GlowStep)]


class Glow(nn.Module):
    """Blocks of flows between an image (B, 3, H, W), sides divisible by 2^blocks, and a latent of as many numbers.

    Args:
        channels: Of the image.
        flows: Per block.
        blocks: Each halves the sides and takes four times the channels.
        affine: Couplings also scale; the released models do not, and their files do not fit then.
        width: Channels inside the couplings.

    ``save_memory`` may be set to keep only the flows' inputs while training and compute the rest again on the way back.

    Example:
        >>> glow = Glow(flows=1, width=4)
        >>> image = torch.rand(1, 3, 8, 12)
        >>> latent = glow(image)
        >>> tuple(latent.shape), (glow.reverse(latent) - image).abs().max().item() < 1e-5
        ((1, 48, 2, 3), True)
    """

    def __init__(self, channels: int = 3, *, flows: int = 8, blocks: int = 2, affine: bool = False, width: int = _WIDTH) -> None:
        super().__init__()
        sizes = [channels * 4 ** (number + 1) for number in range(blocks)]
        self.blocks = nn.ModuleList(_Block(size, flows, affine=affine, width=width) for size in sizes)
        self.save_memory = False

    def forward(self, image: Tensor) -> Tensor:
        """Compute the latent of an image."""
        x = image
        for block in self._blocks():
            x = functional.pixel_unshuffle(x, 2)
            for flow in block.steps():
                x = checkpoint(flow.forward, x, use_reentrant=False) if self._recompute(x) else flow(x)
        return x

    def reverse(self, latent: Tensor) -> Tensor:
        """Compute the image of a latent."""
        y = latent
        for block in reversed(self._blocks()):
            for flow in reversed(block.steps()):
                y = checkpoint(flow.reverse, y, use_reentrant=False) if self._recompute(y) else flow.reverse(y)
            y = functional.pixel_shuffle(y, 2)
        return y

    @torch.no_grad()
    def initialise(self, images: Tensor) -> None:
        """Set every ActNorm that is not set from one batch, each from the output of the flows before it."""
        if self.initialised:
            return
        x = images
        for block in self._blocks():
            x = functional.pixel_unshuffle(x, 2)
            for flow in block.steps():
                flow.actnorm.initialise(x)
                x = flow(x)

    @property
    def initialised(self) -> bool:
        """Whether every ActNorm has been set, by :meth:`initialise` or from a file."""
        return all(int(flow.actnorm.initialized) for block in self._blocks() for flow in block.steps())

    def _blocks(self) -> list[_Block]:
        return [block for block in self.blocks if isinstance(block, _Block)]

    def _recompute(self, x: Tensor) -> bool:
        return self.save_memory and torch.is_grad_enabled() and (x.requires_grad or self.training)
