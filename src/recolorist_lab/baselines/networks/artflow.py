"""ArtFlow: an invertible network maps both images to a latent, where statistics are transferred, and runs backwards.

Forward and reverse are exact inverses, so there is no decoder to train. Nothing of the content is lost, however often an image is
stylised, as long as the unclamped floats of :meth:`ArtFlow.transfer` are handed on. VGG-19 serves the training loss only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import ClassVar, Final

import torch
from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.baselines import vgg
from recolorist_lab.baselines.base import Baseline, OfficialFile, Step
from recolorist_lab.baselines.losses import mse, style_loss
from recolorist_lab.baselines.networks.artflow_glow import Glow
from recolorist_lab.baselines.recipe import TrainingRecipe
from recolorist_lab.baselines.statistics import adain
from recolorist_lab.baselines.whitening import wct
from recolorist_lab.runs.config import unknown

__all__ = ["FIRST_BATCHES", "OPERATORS", "ArtFlow"]

OPERATORS: Final[MappingProxyType[str, Callable[[Tensor, Tensor], Tensor]]] = MappingProxyType({"adain": adain, "wct": wct})

#: What the data-dependent layers are set from.
FIRST_BATCHES: Final = MappingProxyType(
    {"content": "the contents alone, as in the released training", "mixed": "contents and styles of the first draw together"}
)
_CONTENT, _STYLE = 0.1, 1.0  # weights of the losses


class ArtFlow(Baseline):
    """Reversible neural flows with AdaIN or WCT in the latent.

    Args:
        encoder: ``auto`` for the official VGG-19 of the loss, ``random`` for one that only has its shape.
        operator: ``adain`` or ``wct``; WCT also carries the correlations of channels, and is unsteady on grey or flat images.
        alpha: 1 for the style's statistics, 0 for the content's own; blended in the latent.
        first_batch: What the data-dependent layers are set from in the first iteration: ``content``, which then changes nothing
            else, as released, or ``mixed``, which trains at once.
        fold_batch: With ``operator="wct"``, treat a training batch as one matrix of ``channels`` rows, as the released code does;
            otherwise each image is whitened for itself. Stylising always treats images one by one.
        pixel_weight: Of the squared difference to the content in the loss, for when anatomy must be kept.
        affine: Couplings also scale. The released models do not.
        save_memory: Compute activations again on the way back instead of keeping them.
    """

    name = "ArtFlow"
    paper = "An et al., ArtFlow: Unbiased Image Style Transfer via Reversible Neural Flows, CVPR 2021, arXiv 2103.16877"
    licence = "none given with the official code"
    native_size = 256
    least = 8  # so that the latent has more than one position
    least_crop = 9  # the loss network's
    multiple = 4
    defaults = TrainingRecipe(batch=4, iterations=160_000, clip=5.0)
    trained = ("glow",)
    training_only = ("encoder",)
    official: ClassVar[tuple[OfficialFile, ...]] = (
        OfficialFile(
            "glow",
            "glow.pth",
            what="the flow; AdaIN, WCT and portraits have one each, laid out alike",
            address="https://drive.google.com/drive/folders/1w2fHgSBYwjplfeCXI8eOGYpi69CpJBTE",
            entry="state_dict",
        ),
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        operator: str = "adain",
        alpha: float = 1.0,
        first_batch: str = "content",
        fold_batch: bool = True,
        pixel_weight: float = 0.0,
        affine: bool = False,
        save_memory: bool = False,
    ) -> None:
        super().__init__()
        unknown([operator], OPERATORS, "operator")
        unknown([first_batch], FIRST_BATCHES, "first_batch")
        if not 0 <= alpha <= 1 or pixel_weight < 0:
            raise OptionError(f"alpha={alpha}, pixel_weight={pixel_weight}; accepted are alpha in [0, 1] and weights from 0")
        self.operator, self.alpha, self.first_batch, self.pixel_weight = operator, alpha, first_batch, pixel_weight
        self.fold_batch = fold_batch
        self.glow = Glow(affine=affine)
        self.glow.save_memory = save_memory
        self.encoder = vgg.encoder(4, encoder)

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Run forwards, transfer the statistics, run backwards; the output is not clamped."""
        latent = self.glow(content)
        moved = self._moved(latent, self.glow(style))
        return self.glow.reverse(moved if self.alpha == 1 else self.alpha * moved + (1 - self.alpha) * latent)

    def _moved(self, content: Tensor, style: Tensor) -> Tensor:
        """Give one latent the statistics of the other."""
        if self.operator != "wct" or not (self.training and self.fold_batch) or len(content) == 1:
            return OPERATORS[self.operator](content, style)
        channels = content.shape[1]  # a plain view: rows mix images and channels
        moved = wct(*(latent.contiguous().view(1, channels, -1) for latent in (content, style)))
        return moved.reshape(content.shape)

    def prepare(self, content: Tensor, style: Tensor) -> None:
        """Set the data-dependent layers, unless they have been set."""
        self.glow.initialise(torch.cat([content, style]) if self.first_batch == "mixed" else content)

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Compare content features with the content's, and style statistics with the style's; gradients pass all three runs."""
        if step == 0 and self.first_batch == "content":
            return  # the released loop spends its first iteration on setting the data-dependent layers
        with torch.no_grad():
            content_features, style_taps = self.encoder.taps(content)[-1], self.encoder.taps(style)
        out = self.transfer(content, style)
        taps = self.encoder.taps(out)
        parts = {"content": mse(taps[-1], content_features), "style": style_loss(taps, style_taps), "pixels": mse(out, content)}
        loss = _CONTENT * parts["content"] + _STYLE * parts["style"] + self.pixel_weight * parts["pixels"]
        yield Step(loss, parts)
