"""The VGG-16 of Styleformer: torchvision's weights up to relu4_1, with borders mirrored instead of zero.

A flat container, numbered as the released code numbers it. It takes RGB in [0, 1] like the shared VGG-19, and normalises by
ImageNet's mean and deviation itself. Styleformer's decoder gives images in these normalised units, hence the two functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import torch
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines import layout

__all__ = ["FILE", "StyleformerEncoder", "encoder", "from_torchvision", "standardised", "to_torchvision", "unstandardised"]

FILE: Final = "vgg16-397923af.pth"
_WIDTHS: Final = ((64, 64), (128, 128), (256, 256, 256), (512,))
_ENDS: Final = (3, 10, 17, 27)  # where relu1_1 … relu4_1 end
_MEAN: Final = (0.485, 0.456, 0.406)
_STD: Final = (0.229, 0.224, 0.225)

#: Convolutions of the container and of torchvision's ``features``.
NUMBERS: Final[Mapping[int, int]] = MappingProxyType({1: 0, 4: 2, 8: 5, 11: 7, 15: 10, 18: 12, 21: 14, 25: 17})

#: What torchvision's file holds beyond them, none of which is used.
_BEYOND: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {f"features.{number}.weight": (512, 512, 3, 3) for number in (19, 21, 24, 26, 28)}
    | {f"features.{number}.bias": (512,) for number in (19, 21, 24, 26, 28)}
    | {"classifier.0.weight": (4096, 25088), "classifier.3.weight": (4096, 4096), "classifier.6.weight": (1000, 4096)}
    | {"classifier.0.bias": (4096,), "classifier.3.bias": (4096,), "classifier.6.bias": (1000,)}
)


class StyleformerEncoder(nn.Sequential):
    """Four stages that end at relu1_1, relu2_1, relu3_1 and relu4_1."""

    def __init__(self) -> None:
        """Make the layers with fresh weights; :func:`encoder` loads those of a file."""
        layers: list[nn.Module] = []
        width = 3
        for place, block in enumerate(_WIDTHS):
            if place:
                layers.append(nn.MaxPool2d(2, 2))
            for wider in block:
                layers += [nn.ReflectionPad2d(1), nn.Conv2d(width, wider, 3), nn.ReLU()]
                width = wider
        super().__init__(*layers)

    def taps(self, image: Tensor, last: int | None = None) -> list[Tensor]:
        """Return relu1_1, relu2_1, … up to the last stage, or up to the one given."""
        taps: list[Tensor] = []
        children, start, features = list(self), 0, standardised(image)
        for end in _ENDS[:last]:
            for child in children[start:end]:
                features = child(features)
            taps.append(features)
            start = end
        return taps

    def forward(self, image: Tensor) -> Tensor:
        """Return relu4_1."""
        return self.taps(image)[-1]


def encoder(weights: str = "auto") -> StyleformerEncoder:
    """Make the frozen encoder.

    Args:
        weights: ``auto`` for torchvision's, ``random`` for random ones of about their scale.

    Returns:
        The encoder.

    Raises:
        OptionError: The choice is unknown.
        WeightsError: The weights are not here.
    """
    network = StyleformerEncoder()
    if weights == "auto":
        from recolorist_lab.assets.weights import state_of

        layout.load(network, from_torchvision(state_of("vgg16")), "torchvision's VGG-16")
    elif weights == "random":
        _draw(network)
    else:
        raise OptionError(f"weights={weights!r}; accepted are 'auto' and 'random'")
    network.requires_grad_(requires_grad=False)
    return network


def _draw(network: StyleformerEncoder) -> None:
    """Draw random weights whose activations stay near 1, with biases, so that flat grey images also give activations."""
    for name, value in network.named_parameters():
        if "bias" in name:
            nn.init.normal_(value, std=0.5)
        else:
            nn.init.kaiming_normal_(value, nonlinearity="relu")


def from_torchvision(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Take the 16 tensors that the encoder uses from torchvision's file.

    Args:
        state: The 32 tensors of the file, or those 16 alone.

    Returns:
        Tensors under the container's names.

    Raises:
        LayoutError: The file is laid out differently.
    """
    with torch.device("meta"):
        expected = to_torchvision(StyleformerEncoder().state_dict())
        whole = expected | {name: torch.empty(shape) for name, shape in _BEYOND.items()}
    layout.check(state, whole if set(state) - set(expected) else expected, FILE)
    return {
        f"{number}.{kind}": state[f"features.{place}.{kind}"] for number, place in NUMBERS.items() for kind in ("weight", "bias")
    }


def to_torchvision(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename the container's tensors as torchvision does.

    Args:
        state: Tensors by name.

    Returns:
        Tensors by name.
    """
    return {
        f"features.{place}.{kind}": state[f"{number}.{kind}"] for number, place in NUMBERS.items() for kind in ("weight", "bias")
    }


def standardised(image: Tensor) -> Tensor:
    """Bring RGB in [0, 1] to ImageNet's mean 0 and deviation 1.

    Args:
        image: `(B, 3, H, W)`.

    Returns:
        The standardised image.

    Example:
        >>> standardised(torch.tensor(_MEAN).reshape(1, 3, 1, 1)).abs().max().item()
        0.0
    """
    mean, std = _figures(image)
    return (image - mean) / std


def unstandardised(image: Tensor) -> Tensor:
    """Undo the standardisation of an image.

    Args:
        image: (B, 3, H, W), standardised.

    Returns:
        A new tensor, from 0 to 1.
    """
    mean, std = _figures(image)
    return image * std + mean


def _figures(image: Tensor) -> tuple[Tensor, Tensor]:
    mean, std = (torch.tensor(values, device=image.device, dtype=image.dtype)[:, None, None] for values in (_MEAN, _STD))
    return mean, std
