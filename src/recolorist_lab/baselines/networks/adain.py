"""AdaIN: the channel means and deviations of the content's relu4_1 features become those of the style's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

import torch
from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.baselines import losses, vgg
from recolorist_lab.baselines.base import Baseline, OfficialFile, Step
from recolorist_lab.baselines.colour import coral
from recolorist_lab.baselines.statistics import adain

__all__ = ["OFFICIAL", "AdaIN"]

_RELEASE: Final = "https://github.com/naoto0804/pytorch-AdaIN/releases/download/v0.0.0"

#: The encoder is optional: without it the one that is there already stays.
OFFICIAL: Final = OfficialFile(
    "encoder",
    vgg.FILE,
    what="normalised VGG-19, 34 tensors",
    sha256="804ca2835ecf7539f0cd2a7ac3c18ce81e6f8468969ae7117ac0c148d286bb4a",
    address=f"{_RELEASE}/{vgg.FILE}",
    required=False,
)


class AdaIN(Baseline):
    """A frozen encoder to relu4_1, a transform without parameters, and a decoder, the only trained part."""

    name: ClassVar = "AdaIN"
    paper: ClassVar = (
        "X. Huang, S. Belongie: Arbitrary Style Transfer in Real-time with Adaptive Instance Normalization. "
        "ICCV 2017, arXiv 1703.06868"
    )
    licence: ClassVar = "MIT"
    native_size: ClassVar = 256
    least: ClassVar = 9  # below, the last reflection has nothing to reflect
    least_crop: ClassVar = 9
    official: ClassVar = (
        OFFICIAL,
        OfficialFile(
            "decoder",
            "decoder.pth",
            what="decoder, 18 tensors",
            sha256="379ca41d59f3a37eed3599bbbc2560c19da5c458870a5ffd3a9dd41aa88f9472",
            address=f"{_RELEASE}/decoder.pth",
        ),
    )

    published: ClassVar[Mapping[str, str]] = MappingProxyType({"decoder": "adain_decoder"})

    def __init__(
        self,
        *,
        encoder: str = "auto",
        alpha: float = 1.0,
        preserve_colour: bool = False,
        content_weight: float = 1.0,
        style_weight: float = 10.0,
    ) -> None:
        """``alpha`` from 0 (the content, through the decoder) to 1; ``preserve_colour`` gives the style the content's colours."""
        super().__init__()
        if not 0.0 <= alpha <= 1.0:
            raise OptionError(f"alpha={alpha}; accepted are numbers from 0 to 1")
        self.alpha, self.preserve_colour = alpha, preserve_colour
        self.content_weight, self.style_weight = content_weight, style_weight
        self.encoder = vgg.encoder(4, encoder)
        self.decoder = vgg.decoder()

    def match(self, content: Tensor, style: Tensor) -> Tensor:
        """Transform content features with style features."""
        return adain(content, style)

    def style_term(self, features: Sequence[Tensor], target: Sequence[Tensor]) -> Tensor:
        """Compute the style loss of the output, summed over the taps."""
        return losses.style_loss(features, target)

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Encode both images, transform the features and decode them; the output's sides are multiples of 8."""
        return self.transfer_mix(content, [style], [1.0])

    def transfer_mix(self, content: Tensor, styles: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
        """Decode the weighted sum of the features that each style gives."""
        features = self.encoder(content)
        mixed = torch.zeros_like(features)
        for style, weight in zip(styles, weights, strict=True):
            reference = coral(style, content) if self.preserve_colour else style
            mixed = mixed + weight * self.match(features, self.encoder(reference))
        return self.decoder(self.alpha * mixed + (1.0 - self.alpha) * features)

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Decode the transformed features, and compare the result with them and with the style's statistics at every tap."""
        del step
        with torch.no_grad():
            style_taps = self.encoder.taps(style)
            target = self.match(self.encoder(content), style_taps[-1])
        result_taps = self.encoder.taps(self.decoder(target))
        content_loss, style_loss = losses.mse(result_taps[-1], target), self.style_term(result_taps, style_taps)
        yield Step(
            self.content_weight * content_loss + self.style_weight * style_loss, {"content": content_loss, "style": style_loss}
        )

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Take the first 31 layers of the encoder's file, which holds the whole network."""
        return vgg.truncated(state, 4) if part == "encoder" else state
