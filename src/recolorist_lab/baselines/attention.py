"""Attention over feature maps as in SANet, and the parts that SANet, MAST and IEContrAST share.

The four 1 × 1 convolutions carry the names that the official weight files give them. Logits are not divided by √channels, so they
are large, and half precision would overflow. Attention is therefore computed in float32, also under mixed precision.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, NamedTuple

import torch
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines import vgg
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.layout import without_prefix
from recolorist_lab.baselines.losses import content_loss, identity_loss, style_loss
from recolorist_lab.baselines.statistics import normalised, widened

__all__ = ["CHANNELS", "AttentionBaseline", "ChannelAttention", "Looked", "PositionAttention", "weighted"]

CHANNELS: Final = 512  # of relu4_1 and relu5_1
_STAGES: Final = 5


class Projections(nn.Module):
    """Query `f`, key `g`, value `h` and output convolution, all 1 × 1 with bias and of one width."""

    def __init__(self, channels: int = CHANNELS) -> None:
        super().__init__()
        self.f = nn.Conv2d(channels, channels, 1)
        self.g = nn.Conv2d(channels, channels, 1)
        self.h = nn.Conv2d(channels, channels, 1)
        self.out_conv = nn.Conv2d(channels, channels, 1)


class PositionAttention(Projections):
    """Let every content position gather style features from all style positions; the two maps may differ in size.

    >>> block = PositionAttention(4)
    >>> block(torch.zeros(1, 4, 3, 5), torch.zeros(1, 4, 2, 2)).shape
    torch.Size([1, 4, 3, 5])
    """

    def weights(self, content: Tensor, style: Tensor) -> Tensor:
        """Compute what each content position takes from each style position.

        Args:
            content: Features.
            style: Features.

        Returns:
            `(N, content positions, style positions)`; rows sum to 1.
        """
        query = self.f(normalised(content)).flatten(2)
        key = self.g(normalised(style)).flatten(2)
        return (query.transpose(1, 2) @ key).softmax(dim=-1)

    def forward(self, content: Tensor, style: Tensor) -> Tensor:
        """Add the gathered and projected style features to the content's features."""
        with torch.autocast(content.device.type, enabled=False):
            content, style = widened(content), widened(style)
            gathered = self.h(style).flatten(2) @ self.weights(content, style).transpose(1, 2)
            return self.out_conv(gathered.reshape(content.shape)) + content


class ChannelAttention(Projections):
    """Let every channel gather from all channels of the same map.

    The weights are normalised along their rows and applied transposed, so what one output channel takes does not sum to 1. The
    published weights were trained like that.

    >>> ChannelAttention(4)(torch.zeros(1, 4, 3, 5)).shape
    torch.Size([1, 4, 3, 5])
    """

    def weights(self, style: Tensor) -> Tensor:
        """Compute what each channel takes from each channel.

        Args:
            style: Features.

        Returns:
            `(N, C, C)`; rows sum to 1.
        """
        query, key = self.f(style).flatten(2), self.g(style).flatten(2)
        return (query @ key.transpose(1, 2)).softmax(dim=-1)

    def forward(self, style: Tensor) -> Tensor:
        """Add the gathered and projected features to the features themselves."""
        with torch.autocast(style.device.type, enabled=False):
            style = widened(style)
            gathered = self.weights(style).transpose(1, 2) @ self.h(normalised(style)).flatten(2)
            return self.out_conv(gathered.reshape(style.shape)) + style


class Looked(NamedTuple):
    """Images and their encoder features, relu1_1 to relu5_1."""

    image: Tensor
    taps: list[Tensor]

    def at(self, index: Tensor | slice) -> Looked:
        """Select some of the images, in the order asked for.

        Args:
            index: Which.

        Returns:
            The selection.
        """
        return Looked(self.image[index], [tap[index] for tap in self.taps])

    def repeated(self, times: int) -> Looked:
        """Return a single image as a batch of itself; nothing is copied.

        Args:
            times: How often.

        Returns:
            The batch.
        """
        return Looked(self.image.expand(times, -1, -1, -1), [tap.expand(times, -1, -1, -1) for tap in self.taps])


class AttentionBaseline(Baseline):
    """A frozen encoder to relu5_1, an attention module that joins two images, and a decoder from relu4_1."""

    native_size: ClassVar = 256
    least: ClassVar = 17  # below, the last reflection has nothing to reflect
    least_crop: ClassVar = 17
    trained: ClassVar[tuple[str, ...]] = ("transform", "decoder")
    stages: ClassVar[int] = _STAGES  #: how far an image is encoded to be stylised; the losses always look at all five

    def __init__(self, encoder: str, transform: nn.Module, alpha: float) -> None:
        super().__init__()
        if not 0.0 <= alpha <= 1.0:
            raise OptionError(f"alpha={alpha}; accepted are numbers from 0 (the content in its own style) to 1 (the style only)")
        self.encoder = vgg.encoder(_STAGES, encoder)
        self.transform = transform
        self.decoder = vgg.decoder()
        self.alpha = alpha

    @abstractmethod
    def joined(self, content: list[Tensor], style: list[Tensor]) -> Tensor:
        """Make features for the decoder: the content's, restyled.

        Args:
            content: The encoder's taps.
            style: The encoder's taps.

        Returns:
            Features.
        """

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Decode the joined features; with ``alpha`` below 1, mix them with those of the content joined to itself."""
        taps = self.encoder.taps(content, self.stages)
        return self._picture(taps, self.joined(taps, self.encoder.taps(style, self.stages)))

    def _picture(self, content: list[Tensor], features: Tensor) -> Tensor:
        if self.alpha < 1.0:
            features = self.alpha * features + (1.0 - self.alpha) * self.joined(content, content)
        return self.decoder(features)

    # ---- training -------------------------------------------------------------------------------------------------------

    def look(self, image: Tensor) -> Looked:
        """Return a training image and its taps; gradients do not pass to either.

        Args:
            image: The image.

        Returns:
            Both.
        """
        with torch.no_grad():
            return Looked(image, self.encoder.taps(image))

    def result(self, content: Looked, style: Looked) -> Looked:
        """Stylise an image and encode the result; gradients pass. Border pixels that the decoder adds are cut off.

        Args:
            content: The content and its taps.
            style: The style and its taps.

        Returns:
            The stylised image and its taps.
        """
        height, width = content.image.shape[-2:]
        picture = self.decoder(self.joined(content.taps, style.taps))[..., :height, :width]
        return Looked(picture, self.encoder.taps(picture))

    def identities(self, content: Looked, style: Looked) -> dict[str, Tensor]:
        """Compute the loss between each image and its stylisation by itself.

        Args:
            content: The content and its taps.
            style: The style and its taps.

        Returns:
            Losses by name.
        """
        terms = []
        for image in (content, style):
            repeated = self.result(image, image)
            terms.append(identity_loss((repeated.image, image.image), (repeated.taps, image.taps)))
        return {"identity_pixels": terms[0][0] + terms[1][0], "identity_features": terms[0][1] + terms[1][1]}

    def transferred(self, result: Looked, content: Looked, style: Looked) -> dict[str, Tensor]:
        """Compute the content loss and the style loss of a result.

        Args:
            result: The result and its taps.
            content: The content and its taps.
            style: The style and its taps.

        Returns:
            Losses by name.
        """
        return {"content": content_loss(result.taps[3:], content.taps[3:]), "style": style_loss(result.taps, style.taps)}

    # ---- official files -------------------------------------------------------------------------------------------------

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Cut the encoder's file at relu5_1, and remove the prefix that wrappers for several GPUs add to names."""
        return vgg.truncated(state, _STAGES) if part == "encoder" else without_prefix(state)


def weighted(parts: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    """Add up the parts of a loss, each times its weight.

    Args:
        parts: The parts by name.
        weights: The weights by name.

    Returns:
        The loss.

    Raises:
        OptionError: A part has no weight, or a weight no part.

    Example:
        >>> weighted({"a": torch.tensor(2.0), "b": torch.tensor(1.0)}, {"a": 3.0, "b": 0.5}).item()
        6.5
    """
    if parts.keys() != weights.keys():
        raise OptionError(
            f"losses {', '.join(parts)} were given with weights for {', '.join(weights)}; both must have the same names"
        )
    return torch.stack([weights[name] * part for name, part in parts.items()]).sum()
