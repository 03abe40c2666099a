"""The auto-encoder of WCT2: VGG-19 to relu4_1 with Haar wavelets for pooling, and its mirror image.

The low band goes on through the encoder; the three high bands jump to the decoder, so no detail has to pass the narrow part.
Names of parameters and buffers are those of the released files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist_lab.runs.config import unknown

__all__ = ["UNPOOLINGS", "VGG_CHILDREN", "Encoded", "Haar", "Skip", "WaveDecoder", "WaveEncoder"]

UNPOOLINGS: Final = ("cat5", "sum")

#: Each convolution of the encoder: channels in and out, and which child of the shared VGG-19 it is.
_CONVS: Final = MappingProxyType(
    {
        "conv0": (3, 3, 0),
        "conv1_1": (3, 64, 2),
        "conv1_2": (64, 64, 5),
        "conv2_1": (64, 128, 9),
        "conv2_2": (128, 128, 12),
        "conv3_1": (128, 256, 16),
        "conv3_2": (256, 256, 19),
        "conv3_3": (256, 256, 22),
        "conv3_4": (256, 256, 25),
        "conv4_1": (256, 512, 29),
    }
)
VGG_CHILDREN: Final = MappingProxyType({name: child for name, (_, _, child) in _CONVS.items()})

#: The order of the encoder, cut where WCT may change the features: after these steps a level ends.
_LEVELS: Final = MappingProxyType(
    {
        "cat5": (
            ("conv0", "conv1_1"),
            ("conv1_2", "pool1", "conv2_1"),
            ("conv2_2", "pool2", "conv3_1"),
            ("conv3_2", "conv3_3", "conv3_4", "pool3", "conv4_1"),
        ),
        "sum": (
            ("conv0", "conv1_1", "conv1_2", "pool1"),
            ("conv2_1", "conv2_2", "pool2"),
            ("conv3_1", "conv3_2", "conv3_3", "conv3_4", "pool3"),
            ("conv4_1",),
        ),
    }
)
_POOLED: Final = (64, 128, 256)  # channels at pool1, pool2, pool3
_TAPS: Final = ("conv1_1", "conv2_1", "conv3_1", "conv4_1")

#: Rows are top and bottom; the first letter is the vertical filter, the second the horizontal one.
_BANDS: Final = MappingProxyType(
    {
        "LL": ((0.5, 0.5), (0.5, 0.5)),
        "LH": ((-0.5, 0.5), (-0.5, 0.5)),
        "HL": ((-0.5, -0.5), (0.5, 0.5)),
        "HH": ((0.5, -0.5), (-0.5, 0.5)),
    }
)


class Skip(NamedTuple):
    """What a pooling passes to the decoder: the high bands, and the map before pooling (``cat5`` only)."""

    high: tuple[Tensor, Tensor, Tensor]
    original: Tensor | None


class Encoded(NamedTuple):
    """Features after each of the four levels, and the skips of pool1, pool2, pool3."""

    levels: tuple[Tensor, ...]
    skips: tuple[Skip, ...]


class _Band(nn.Module):
    """One fixed 2×2 kernel, the same for every channel."""

    weight: Tensor

    def __init__(self, channels: int, kernel: tuple[tuple[float, float], tuple[float, float]]) -> None:
        super().__init__()
        self.register_buffer("weight", torch.tensor(kernel).repeat(channels, 1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight, stride=2, groups=len(self.weight))

    def reverse(self, y: Tensor) -> Tensor:
        return functional.conv_transpose2d(y, self.weight, stride=2, groups=len(self.weight))


class Haar(nn.Module):
    """Haar wavelets: a map to four bands of half its sides, and each band back; together an orthonormal transform.

    Example:
        >>> haar = Haar(2)
        >>> image = torch.rand(1, 2, 4, 6)
        >>> torch.allclose(sum(haar.unpool(haar(image))), image, atol=1e-6)
        True
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        for name, kernel in _BANDS.items():
            self.add_module(name, _Band(channels, kernel))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return LL, LH, HL and HH of a map with even sides."""
        low, across, down, corner = (band(x) for band in self.children())
        return low, across, down, corner

    def unpool(self, bands: tuple[Tensor, Tensor, Tensor, Tensor]) -> Iterator[Tensor]:
        """Return each band's contribution to the map, one at a time; their sum is the map."""
        kernels = [band for band in self.children() if isinstance(band, _Band)]
        return (kernel.reverse(band) for kernel, band in zip(kernels, bands, strict=True))


class WaveEncoder(nn.Module):
    """VGG-19 to relu4_1 with Haar pooling; ``unpool`` says where its four levels are cut.

    Example:
        >>> with torch.device("meta"):
        ...     encoded = WaveEncoder()(torch.zeros(1, 3, 32, 48))
        >>> [tuple(level.shape[1:]) for level in encoded.levels]
        [(64, 32, 48), (128, 16, 24), (256, 8, 12), (512, 4, 6)]
    """

    def __init__(self, unpool: str = "cat5") -> None:
        super().__init__()
        unknown([unpool], UNPOOLINGS, "unpool")
        self.levels = _LEVELS[unpool]
        self.keeps_original = unpool == "cat5"
        for name, (inputs, outputs, _) in _CONVS.items():
            self.add_module(name, nn.Conv2d(inputs, outputs, 1 if name == "conv0" else 3))
        for number, channels in enumerate(_POOLED, 1):
            self.add_module(f"pool{number}", Haar(channels))

    def forward(self, image: Tensor, taps: list[Tensor] | None = None) -> Encoded:
        """Run all levels in turn; relu1_1 … relu4_1 are added to ``taps``, wherever the levels are cut."""
        levels: list[Tensor] = []
        skips: list[Skip] = []
        for level in range(1, 5):
            levels.append(self.encode(levels[-1] if levels else image, level, skips, taps))
        return Encoded(tuple(levels), tuple(skips))

    def encode(self, x: Tensor, level: int, skips: list[Skip], taps: list[Tensor] | None = None) -> Tensor:
        """Run one level (1 to 4); add the output of its pooling to ``skips``, and relu1_1 to relu4_1 to ``taps``."""
        for name in self.levels[level - 1]:
            step = self.get_submodule(name)
            if isinstance(step, Haar):
                low, *high = step(x)
                skips.append(Skip((high[0], high[1], high[2]), x if self.keeps_original else None))
                x = low
            else:
                x = step(x) if name == "conv0" else _convolved(step, x)
            if taps is not None and name in _TAPS:
                taps.append(x)
        return x


class WaveDecoder(nn.Module):
    """From relu4_1 and the skips back to an image; ``unpool`` says how low and high bands meet.

    ``sum`` adds the bands, which undoes the pooling; ``cat5`` hands all four and the map before pooling to the next convolution.
    """

    def __init__(self, unpool: str = "cat5") -> None:
        super().__init__()
        unknown([unpool], UNPOOLINGS, "unpool")
        self.adds = unpool == "sum"
        times, ending = (1, "") if self.adds else (5, "_2")
        self.plans = (  # level 4 first: the convolution before unpooling, the unpooling, those after it
            ("conv4_1", "recon_block3", (f"conv3_4{ending}", "conv3_3", "conv3_2")),
            ("conv3_1", "recon_block2", (f"conv2_2{ending}",)),
            ("conv2_1", "recon_block1", (f"conv1_2{ending}",)),
        )
        widths = {"conv4_1": (512, 256), "conv3_3": (256, 256), "conv3_2": (256, 256), "conv3_1": (256, 128)}
        widths |= {"conv2_1": (128, 64), "conv1_1": (64, 3)}
        widths |= {plan[2][0]: (times * size, size) for plan, size in zip(self.plans, reversed(_POOLED), strict=True)}
        for name, (inputs, outputs) in widths.items():
            self.add_module(name, nn.Conv2d(inputs, outputs, 3))
        for number, channels in enumerate(_POOLED, 1):
            self.add_module(f"recon_block{number}", Haar(channels))

    def forward(self, encoded: Encoded) -> Tensor:
        """Decode features as an encoder made them."""
        x = encoded.levels[-1]
        for level in (4, 3, 2, 1):
            x = self.decode(x, level, encoded.skips)
        return x

    def decode(self, x: Tensor, level: int, skips: tuple[Skip, ...]) -> Tensor:
        """Decode one level (4 to 1)."""
        if level == 1:
            return _padded_conv(self.get_submodule("conv1_1"), x)
        before, unpooling, after = self.plans[4 - level]
        x = _convolved(self.get_submodule(before), x)
        x = self._merged(self.get_submodule(unpooling), x, skips[level - 2], self.get_submodule(after[0]))
        for name in after[1:]:
            x = _convolved(self.get_submodule(name), x)
        return x

    def _merged(self, haar: nn.Module, low: Tensor, skip: Skip, conv: nn.Module) -> Tensor:
        if not isinstance(haar, Haar) or not isinstance(conv, nn.Conv2d):
            raise TypeError(f"{type(haar).__name__} and {type(conv).__name__} stand where unpooling and a convolution should")
        shares = haar.unpool((low, *skip.high))
        if skip.original is None:
            return _convolved(conv, reduce(torch.add, shares))
        return _convolved_parts(conv, chain(shares, [skip.original]))


def _padded_conv(conv: nn.Module, x: Tensor) -> Tensor:
    result: Tensor = conv(functional.pad(x, (1, 1, 1, 1), mode="reflect"))
    return result


def _convolved(conv: nn.Module, x: Tensor) -> Tensor:
    return _padded_conv(conv, x).relu_()


def _convolved_parts(conv: nn.Conv2d, parts: Iterator[Tensor]) -> Tensor:
    """Convolve parts joined along their channels without joining them, to save memory: five maps of 512² take 335 MB."""
    first = next(parts)
    weights = conv.weight.split(first.shape[1], 1)
    total = functional.conv2d(functional.pad(first, (1, 1, 1, 1), mode="reflect"), weights[0], conv.bias)
    for part, weight in zip(parts, weights[1:], strict=True):
        total += functional.conv2d(functional.pad(part, (1, 1, 1, 1), mode="reflect"), weight)
    return total.relu_()
