"""LPIPS: the learned distance of Zhang et al. 2018, with the package's linear layers and published backbones."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, Final

import torch

from recolorist.core.image import option
from recolorist_lab.assets import weights
from recolorist_lab.metrics.images import pair

__all__ = ["BACKBONES", "LEAST", "identity", "load", "lpips"]

#: Backbone to the weights of its convolutions.
BACKBONES: Final = {"alex": "alexnet_features", "vgg": "vgg16"}
#: Shortest side with which the last tap still has a pixel.
LEAST: Final = {"alex": 31, "vgg": 16}
_BATCH: Final = 16


def lpips(a: Any, b: Any, net: str = "alex", *, shift: bool = True) -> torch.Tensor:
    """Compute the LPIPS distance of each pair. The network runs where the images are.

    Args:
        a: Float images (N, 3, H, W) in [0, 1]; they are shifted to [-1, 1] here, as the network expects.
        b: As many images of the same size.
        net: ``"alex"`` or ``"vgg"``.
        shift: False leaves the shift out, as an earlier code of the paper's authors did: other values, mostly smaller ones,
            that compare with nothing else.

    Returns:
        A tensor (N,); 0 is equal.

    Raises:
        RangeError: Shape, type or range of the images is not accepted.
        WeightsError: The weights of the network are not here.
    """
    option(net, tuple(BACKBONES), "net")
    first, second = pair(a, b, least=LEAST[net])
    model = _model(net, str(first.device))
    with torch.inference_mode():
        distances = [
            model(_ready(x), _ready(y), normalize=shift).reshape(-1).double()
            for x, y in zip(first.split(_BATCH), second.split(_BATCH), strict=True)
        ]
    return torch.cat(distances)


def load(net: str, device: str | torch.device) -> None:
    """Read the weights now, so that missing ones are reported before any image is read.

    Args:
        net: The network.
        device: Where to put it.

    Raises:
        WeightsError: They are not here.
    """
    _model(option(net, tuple(BACKBONES), "net"), str(device))


def identity(net: str) -> str:
    """Return which network LPIPS uses, for records.

    Args:
        net: The name of the network.

    Returns:
        A text with the checksum of its backbone.

    Example:
        >>> identity("alex")
        'alex/alexnet_features:977ab27536b0aba2'
    """
    return f"{net}/{weights.identity(BACKBONES[net])}"


@lru_cache(maxsize=4)
def _model(net: str, device: str) -> Any:
    """Load the network without the package's download, output, warnings and random draws."""
    from recolorist._torchvision_ops import declare_missing_ops

    declare_missing_ops()
    import lpips as package

    state = weights.state_of(BACKBONES[net])
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package still uses arguments that torchvision calls deprecated
        model = package.LPIPS(net=net, pnet_rand=True, verbose=False)
    model.net.load_state_dict({key: state[_official(key)] for key in model.net.state_dict()})
    return model.requires_grad_(False).eval().to(device, memory_format=torch.channels_last)


def _ready(images: torch.Tensor) -> torch.Tensor:
    return images.float().contiguous(memory_format=torch.channels_last)  # a sixth faster on CPUs than channels first


def _official(key: str) -> str:
    """Return the name in torchvision of a tensor of the package's backbone.

    >>> _official("slice2.3.weight")
    'features.3.weight'
    """
    return f"features.{key.partition('.')[2]}"
