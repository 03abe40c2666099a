"""Features of Inception networks, for FID and KID."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from recolorist.core.image import option
from recolorist_lab.assets import weights
from recolorist_lab.metrics.images import finite, unit

__all__ = ["BACKENDS", "Backend", "extract", "features", "identity", "load"]

_SIZE: Final = 299
_BATCH: Final = 16
_DEEP, _SHALLOW = 2048, 64
_FIRST_POOLING: Final = 4  # layers up to and with it, in both networks
_REVISION: Final = 1  # of the code between image and feature; with another number no cached feature is used


@dataclass(frozen=True, slots=True)
class Backend:
    """A network, its weights, and how an image with levels 0 to 255 becomes its input."""

    weights: str
    prepare: Callable[[torch.Tensor], torch.Tensor]
    build: Callable[[], nn.Sequential]


def features(images: Any, backend: str = "classic", *, depth: int = _DEEP) -> NDArray[np.float64]:
    """Extract pooled features of images. The network runs where the images are.

    Args:
        images: Float images (N, 3, H, W) in [0, 1].
        backend: ``"classic"`` is the network of the original FID with the resizing of its time; ``"torchvision"`` the ImageNet
            network with the double shift of the paper's lab; ``"torchvision_raw"`` the same network on values left in [0, 1].
        depth: 64 takes the features after the first pooling instead; published reference values exist for it.

    Returns:
        An array (N, depth).

    Raises:
        RangeError: Shape, type or range of the images is not accepted.
        WeightsError: The weights of the network are not here.
    """
    checked = unit(images)
    return extract(checked.float() * 255.0, backend, depth=depth).astype(np.float64)


def extract(images: torch.Tensor, backend: str, *, depth: int = _DEEP) -> NDArray[np.float32]:
    """Compute features of images with levels from 0 to 255, unchecked.

    Args:
        images: (N, 3, H, W), of any type.
        backend: The network.
        depth: The layer.

    Returns:
        (N, features) in float32, as the network gives them.
    """
    spec = BACKENDS[option(backend, tuple(BACKENDS), "fid_backend")]
    network = _network(backend, str(images.device))
    shallow = network[:_FIRST_POOLING]
    rows = []
    with torch.inference_mode():
        for piece in images.split(_BATCH):
            ready = spec.prepare(piece.float()).contiguous(memory_format=torch.channels_last)
            rows.append(shallow(ready).mean(dim=(2, 3)) if depth == _SHALLOW else network(ready))
    features: NDArray[np.float32] = torch.cat(rows).cpu().numpy()
    finite(features.sum(axis=1, dtype=np.float64), "the feature sum")
    return features


def load(backend: str, device: str | torch.device) -> None:
    """Read the weights now, so that missing ones are reported before any image is read.

    Args:
        backend: The network.
        device: Where to put it.

    Raises:
        WeightsError: They are not here.
    """
    _network(option(backend, tuple(BACKENDS), "fid_backend"), str(device))


def identity(backend: str) -> str:
    """Return which network a backend is, for records and for the cache.

    Args:
        backend: The name of the backend.

    Returns:
        A text with the checksum of its weights.

    Example:
        >>> identity("classic")
        'classic.1/fid_inception:ed45cb790e0d3eb2'
    """
    spec = BACKENDS[option(backend, tuple(BACKENDS), "fid_backend")]
    return f"{backend}.{_REVISION}/{weights.identity(spec.weights)}"


# ---- from image to input ----------------------------------------------------------------------------------------------------


def _classic_input(x: torch.Tensor) -> torch.Tensor:
    """Resize as TensorFlow 1 did (bilinear, corners at the origin, no filter), then compute (x − 128) / 128."""
    return (_lerp(_lerp(x, 3), 2) - 128) / 128


def _lerp(x: torch.Tensor, axis: int) -> torch.Tensor:
    size = x.shape[axis]
    if size == _SIZE:
        return x
    positions = torch.arange(_SIZE, dtype=torch.float32, device=x.device) * torch.tensor(size / _SIZE, dtype=torch.float32)
    low = positions.long()
    share = (positions - low).reshape([-1 if axis == dimension else 1 for dimension in range(4)])
    start = x.index_select(axis, low)
    return start + (x.index_select(axis, (low + 1).clamp_max(size - 1)) - start) * share


def _smooth(x: torch.Tensor) -> torch.Tensor:
    return functional.interpolate(x / 255, size=(_SIZE, _SIZE), mode="bilinear", align_corners=False, antialias=True)


def _twice_shifted_input(x: torch.Tensor) -> torch.Tensor:
    """Map to [-1, 1], then map again as if that were [0, 1], by ImageNet's mean and deviation and back."""
    shifted = _smooth(x) * 2 - 1
    mean = torch.tensor([0.485, 0.456, 0.406], device=x.device).reshape(1, 3, 1, 1)
    deviation = torch.tensor([0.229, 0.224, 0.225], device=x.device).reshape(1, 3, 1, 1)
    return shifted * (deviation / 0.5) + (mean - 0.5) / 0.5


# ---- networks ---------------------------------------------------------------------------------------------------------------


def _classic_network() -> nn.Sequential:
    from recolorist._torchvision_ops import declare_missing_ops

    declare_missing_ops()
    from torch_fidelity import feature_extractor_inceptionv3 as parts

    conv = parts.BasicConv2d
    return nn.Sequential(
        OrderedDict(
            Conv2d_1a_3x3=conv(3, 32, kernel_size=3, stride=2),
            Conv2d_2a_3x3=conv(32, 32, kernel_size=3),
            Conv2d_2b_3x3=conv(32, 64, kernel_size=3, padding=1),
            MaxPool_1=nn.MaxPool2d(3, 2),
            Conv2d_3b_1x1=conv(64, 80, kernel_size=1),
            Conv2d_4a_3x3=conv(80, 192, kernel_size=3),
            MaxPool_2=nn.MaxPool2d(3, 2),
            Mixed_5b=parts.InceptionA(192, pool_features=32),
            Mixed_5c=parts.InceptionA(256, pool_features=64),
            Mixed_5d=parts.InceptionA(288, pool_features=64),
            Mixed_6a=parts.InceptionB(288),
            Mixed_6b=parts.InceptionC(768, channels_7x7=128),
            Mixed_6c=parts.InceptionC(768, channels_7x7=160),
            Mixed_6d=parts.InceptionC(768, channels_7x7=160),
            Mixed_6e=parts.InceptionC(768, channels_7x7=192),
            Mixed_7a=parts.InceptionD(768),
            Mixed_7b=parts.InceptionE_1(1280),
            Mixed_7c=parts.InceptionE_2(2048),
            pool=nn.AdaptiveAvgPool2d(1),
            flat=nn.Flatten(),
        )
    )


def _torchvision_network() -> nn.Sequential:
    """Build the layers of torchvision's model up to the pooling, in the order of its own forward pass."""
    from recolorist._torchvision_ops import declare_missing_ops

    declare_missing_ops()
    from torchvision.models import inception_v3

    model = inception_v3(weights=None, init_weights=False)
    beside = {"AuxLogits", "dropout", "fc"}
    layers = OrderedDict((name, child) for name, child in model.named_children() if name not in beside)
    return nn.Sequential(OrderedDict(**layers, flat=nn.Flatten()))


@lru_cache(maxsize=4)
def _network(backend: str, device: str) -> nn.Sequential:
    """Build the network without random initialisation.

    Normalisations are folded into the convolutions, and memory is channels last: together they save a third of the time.
    """
    spec = BACKENDS[backend]
    with torch.device("meta"):
        network = spec.build()
    keys = network.state_dict().keys()
    state = weights.state_of(spec.weights)
    network.load_state_dict({key: value for key, value in state.items() if key in keys}, strict=True, assign=True)
    network.requires_grad_(requires_grad=False).eval()
    for block in network.modules():
        conv, bn = getattr(block, "conv", None), getattr(block, "bn", None)
        if isinstance(conv, nn.Conv2d) and isinstance(bn, nn.BatchNorm2d):
            block.conv, block.bn = fuse_conv_bn_eval(conv, bn), nn.Identity()
    placed: Any = network  # its annotations do not know of memory formats
    return placed.to(device, memory_format=torch.channels_last)


#: The networks that features can be computed with.
BACKENDS: Final = {
    "classic": Backend("fid_inception", _classic_input, _classic_network),
    "torchvision": Backend("inception_v3", _twice_shifted_input, _torchvision_network),
    "torchvision_raw": Backend("inception_v3", _smooth, _torchvision_network),
}
