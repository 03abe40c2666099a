"""The normalised VGG-19 that five methods use as encoder and several in their losses, and the decoder that mirrors it.

Both are flat containers, so that the names of their tensors are those of the official files. The encoder takes RGB in [0, 1]. Its
first convolution reverses the channels, scales by 255 and subtracts the mean, so its input must not be normalised.
"""

from __future__ import annotations

import hashlib
from typing import Final

import torch
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines import layout

__all__ = ["FILE", "WHOLE", "Decoder", "Encoder", "decoder", "encoder", "fingerprint", "truncated"]

FILE: Final = "vgg_normalised.pth"
WHOLE: Final = 53  # children of the official container
_ENDS: Final = (4, 11, 18, 31, 44)  # where relu1_1 … relu5_1 end
_BGR: Final = ((0.0, 0.0, 255.0), (0.0, 255.0, 0.0), (255.0, 0.0, 0.0))
_MEAN: Final = (-103.939, -116.779, -123.68)
_WIDTHS: Final = ((64, 64), (128, 128), (256, 256, 256, 256), (512, 512, 512, 512), (512, 512, 512, 512))


class Encoder(nn.Sequential):
    """The first children of the network, in stages that end at relu1_1, relu2_1, relu3_1, relu4_1 and relu5_1."""

    def __init__(self, stages: int = 4) -> None:
        """Make ``stages`` from 1 to 5; 6 is the whole of the official file, whose last layers are not used."""
        if not 1 <= stages <= 6:
            raise OptionError(f"stages={stages}; accepted are 1 to 5, and 6 for the whole network")
        super().__init__(*_children()[: (*_ENDS, WHOLE)[stages - 1]])
        self.stages = stages

    def taps(self, image: Tensor, last: int | None = None) -> list[Tensor]:
        """Return the features relu1_1, relu2_1 and so on.

        Args:
            image: The image.
            last: The last stage that is wanted; None for all.

        Returns:
            The features of each stage.
        """
        taps: list[Tensor] = []
        children, start = list(self), 0
        for end in _ENDS[: min(last or self.stages, 5)]:
            for child in children[start:end]:
                image = child(image)
            taps.append(image)
            start = end
        return taps


class Decoder(nn.Sequential):
    """The mirror of the encoder from relu4_1: nearest upsampling, nothing after the last convolution."""

    def __init__(self) -> None:
        """Make the layers with torch's fresh weights."""
        up = nn.Upsample
        super().__init__(
            *_block(512, 256),
            up(scale_factor=2, mode="nearest"),
            *_block(256, 256),
            *_block(256, 256),
            *_block(256, 256),
            *_block(256, 128),
            up(scale_factor=2, mode="nearest"),
            *_block(128, 128),
            *_block(128, 64),
            up(scale_factor=2, mode="nearest"),
            *_block(64, 64),
            *_block(64, 3)[:2],
        )


def decoder() -> Decoder:
    """Make a decoder with fresh weights.

    Returns:
        The decoder.
    """
    return Decoder()


def encoder(stages: int = 4, weights: str = "auto") -> Encoder:
    """Make the frozen encoder.

    Args:
        stages: How many stages it has.
        weights: ``auto`` for the official ones, ``random`` for random ones of the same scale.

    Returns:
        The encoder.

    Raises:
        OptionError: The choice is unknown.
        WeightsError: The weights are not here.
    """
    network = Encoder(stages)
    if weights == "auto":
        layout.load(network, _state(stages), "the normalised VGG-19")
    elif weights == "random":
        _draw(network)
    else:
        raise OptionError(f"weights={weights!r}; accepted are 'auto' and 'random'")
    network.requires_grad_(requires_grad=False)
    return network


def truncated(state: dict[str, Tensor], stages: int) -> dict[str, Tensor]:
    """Take the first stages of the official file's 34 tensors.

    Args:
        state: The tensors of the file, or of these stages alone.
        stages: How many stages.

    Returns:
        Their tensors.

    Raises:
        LayoutError: The file is laid out differently.
    """
    names = _names(stages)
    if set(state) == set(names):
        return state
    with torch.device("meta"):
        whole = Encoder(6).state_dict()
    layout.check(state, whole, FILE)
    return {name: state[name] for name in names}


def fingerprint(network: nn.Module) -> str:
    """Return sixteen digits that identify an encoder. A file rounded to half precision counts as the same.

    Args:
        network: The encoder.

    Returns:
        Hexadecimal digits.

    Example:
        >>> fingerprint(encoder(1, "random")) == fingerprint(encoder(1, "random"))
        False
    """
    digest = hashlib.sha256()
    for name, tensor in network.state_dict().items():
        digest.update(name.encode() + tensor.detach().cpu().half().numpy().tobytes())
    return digest.hexdigest()[:16]


def _children() -> list[nn.Module]:
    layers: list[nn.Module] = [nn.Conv2d(3, 3, 1)]
    width = 3
    for place, block in enumerate(_WIDTHS):
        if place:
            layers.append(nn.MaxPool2d(2, 2, ceil_mode=True))
        for wider in block:
            layers += _block(width, wider)
            width = wider
    return layers


def _block(width: int, wider: int) -> list[nn.Module]:
    return [nn.ReflectionPad2d(1), nn.Conv2d(width, wider, 3), nn.ReLU()]


def _names(stages: int) -> list[str]:
    with torch.device("meta"):
        return list(Encoder(stages).state_dict())


def _draw(network: Encoder) -> None:
    """Draw random weights whose activations stay near 1 in every layer, as those of the real network do."""
    for name, value in network.named_parameters():
        if name.startswith("0."):
            value.data = torch.tensor(_MEAN if "bias" in name else _BGR, device=value.device).reshape(value.shape)
        elif "bias" in name:
            nn.init.zeros_(value)
        else:
            nn.init.kaiming_normal_(value, nonlinearity="relu")
            value.data.div_(64.0 if name.startswith("2.") else 1.0)  # the input of the first is in levels of 255


def _state(stages: int) -> dict[str, Tensor]:
    """Read the whole file or, where only those are present, its parts (those beyond relu4_1 rounded to half precision)."""
    from recolorist_lab.assets.weights import find_weights, state_of

    if stages <= 4:
        state = state_of("vgg_normalised_relu4_1")
    elif stages == 6 or find_weights("vgg_normalised") is not None:
        state = state_of("vgg_normalised")
    else:
        state = {**state_of("vgg_normalised_relu4_1"), **state_of("vgg_normalised_stage5_half")}
    return {name: state[name] for name in _names(stages) if name in state}
