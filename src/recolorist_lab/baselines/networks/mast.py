"""MAST, the multi-adaptation network: content attends to itself by position, style by channel, then content to style, at relu4_1.

A disentanglement loss asks results of one content to agree in content, and results in one style to agree in style.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

import torch
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines.attention import (
    CHANNELS,
    AttentionBaseline,
    ChannelAttention,
    Looked,
    PositionAttention,
    weighted,
)
from recolorist_lab.baselines.base import OfficialFile, Step
from recolorist_lab.baselines.losses import content_loss, style_loss
from recolorist_lab.baselines.networks.adain import OFFICIAL
from recolorist_lab.baselines.recipe import TrainingRecipe

__all__ = ["MAST", "MODES", "MultiAdaptation", "content_disagreement", "style_disagreement"]

#: Which images the disentanglement losses compare: another whole batch, as released, or one image repeated, as in the paper.
MODES: Final = ("released", "paper")


_DRIVE: Final = (
    "Google Drive, by the README of https://github.com/diyiiyiii/Arbitrary-Style-Transfer-via-Multi-Adaptation-Network"
)
GATE: Final = 10.0


class MultiAdaptation(nn.Module):
    """Content self-attention, style self-attention, and attention from content to style."""

    def __init__(self, channels: int = CHANNELS) -> None:
        super().__init__()
        self.CA = PositionAttention(channels)
        self.CSA = PositionAttention(channels)
        self.SSA = ChannelAttention(channels)

    def forward(self, content: Tensor, style: Tensor) -> Tensor:
        """Return features at the size of the content's relu4_1."""
        return self.CA(self.CSA(content, content), self.SSA(style))


class MAST(AttentionBaseline):
    """Arbitrary style transfer via multi-adaptation network."""

    name: ClassVar = "MAST"
    paper: ClassVar = "Deng et al., Arbitrary Style Transfer via Multi-Adaptation Network, ACM MM 2020, arXiv 2005.13219"
    licence: ClassVar = "none given (all rights reserved); this is an implementation of its own"
    least: ClassVar = 9
    stages: ClassVar = 4
    defaults: ClassVar = TrainingRecipe(batch=8)
    official: ClassVar = (
        OFFICIAL,
        OfficialFile("transform", "ma_module_iter_160000.pth", what="the three attentions CA, CSA and SSA", address=_DRIVE),
        OfficialFile("decoder", "decoder_iter_160000.pth", what="decoder from relu4_1", address=_DRIVE),
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        alpha: float = 1.0,
        disentangle_mode: str = "released",
        gate: float = GATE,
        content_weight: float = 1.0,
        style_weight: float = 5.0,
        identity_pixels_weight: float = 50.0,
        identity_features_weight: float = 1.0,
        same_content_weight: float = 1.0,
        same_style_weight: float = 1.0,
    ) -> None:
        super().__init__(encoder, MultiAdaptation(), alpha)
        if disentangle_mode not in MODES:
            raise OptionError(f"disentangle_mode={disentangle_mode!r}; accepted are {', '.join(MODES)}")
        self.mode, self.gate = disentangle_mode, gate
        # What each loss counts, and below which value of the first two (weighted) the disentanglement losses count at all.
        self.weights = {
            "content": content_weight,
            "style": style_weight,
            "identity_pixels": identity_pixels_weight,
            "identity_features": identity_features_weight,
            "same_content": same_content_weight,
            "same_style": same_style_weight,
        }

    def joined(self, content: list[Tensor], style: list[Tensor]) -> Tensor:
        """Apply the three attentions at relu4_1."""
        return self.transform(content[3], style[3])

    def transfer_mix(self, content: Tensor, styles: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
        """Average the joined features of the styles with the weights."""
        taps = self.encoder.taps(content, self.stages)
        mixed = [
            weight * self.joined(taps, self.encoder.taps(style, self.stages))
            for style, weight in zip(styles, weights, strict=True)
        ]
        return self._picture(taps, torch.stack(mixed).sum(0))

    # ---- training -------------------------------------------------------------------------------------------------------

    def draws(self, recipe: TrainingRecipe) -> tuple[int, int]:
        """Draw one more image of each kind (``paper``), or twice as many (``released``)."""
        results = recipe.batch // recipe.accumulate
        images = results + 1 if self.mode == "paper" else 2 * results
        return images, images

    def split(self, images: Looked) -> tuple[Looked, Looked]:
        """Split the images into the batch and those for the disentanglement: one image repeated, or as many others."""
        count = len(images.image)
        first = count - 1 if self.mode == "paper" else count // 2
        if first < 1 or (self.mode == "released" and count % 2):
            accepted = "at least 2" if self.mode == "paper" else "an even number"
            raise OptionError(f"{count} images were given for one step; disentangle_mode={self.mode!r} takes {accepted}")
        more = images.at(slice(first, None))
        return images.at(slice(first)), more.repeated(first) if self.mode == "paper" else more

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Compute the losses of five decodings; of three while the gate is closed, since the others have weight zero."""
        del step
        (contents, other_contents), (styles, other_styles) = self.split(self.look(content)), self.split(self.look(style))
        parts = self.transferred(self.result(contents, styles), contents, styles)
        with torch.no_grad():
            gate = float(self.weights["content"] * parts["content"] + self.weights["style"] * parts["style"]) < self.gate
        parts |= self.identities(contents, styles)
        if gate:
            parts["same_content"] = content_disagreement(self.result(other_contents, styles).taps)
            parts["same_style"] = style_disagreement(self.result(contents, other_styles).taps)
        else:
            parts |= dict.fromkeys(("same_content", "same_style"), content.new_zeros(()))
        yield Step(weighted(parts, self.weights), parts)


def content_disagreement(taps: Sequence[Tensor]) -> Tensor:
    """Measure how far results of one content are from each other, by normalised relu4_1 and relu5_1.

    Args:
        taps: Features of the results.

    Returns:
        The loss.
    """
    return torch.stack([content_loss([_shuffled(tap)], [_shuffled(tap)]) for tap in taps[3:]]).sum()


def style_disagreement(taps: Sequence[Tensor]) -> Tensor:
    """Measure how far results in one style are from each other, by channel means and deviations of all taps.

    Args:
        taps: Features of the results.

    Returns:
        The loss.
    """
    return torch.stack([style_loss([_shuffled(tap)], [_shuffled(tap)]) for tap in taps]).sum()


def _shuffled(tap: Tensor) -> Tensor:
    return tap[torch.randperm(len(tap)).to(tap.device)]
