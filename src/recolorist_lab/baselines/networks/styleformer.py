"""Styleformer: a bank of feature transforms comes from the style; attention chooses among them for each content position.

The configuration is that of the authors' scripts (4 luma bins, a bank of 16 × 16 positions, 16 groups). The defaults of their
arguments describe a network that cannot run. Everything passes through VGG-16, not through the VGG-19 of the other methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist.errors import OptionError
from recolorist_lab.baselines import layout, losses, vgg
from recolorist_lab.baselines.base import Baseline, OfficialFile, Optimisation, Step, trained_parameters
from recolorist_lab.baselines.networks import styleformer_vgg
from recolorist_lab.baselines.networks.styleformer_modulation import Modulation
from recolorist_lab.baselines.networks.styleformer_vgg import standardised, unstandardised
from recolorist_lab.baselines.padding import padded
from recolorist_lab.baselines.recipe import TrainingRecipe, constant
from recolorist_lab.baselines.vit import resized

__all__ = ["FEATURES", "Styleformer", "StyleformerDecoder", "content_loss", "self_distances", "variation"]

#: The network that encodes images and computes the losses.
FEATURES: Final = MappingProxyType(
    {
        "vgg16": "torchvision's VGG-16, as published",
        "vgg_normalised": "the normalised VGG-19 of the other methods, whose weights are easier to come by",
    }
)
_BETAS: Final = (0.8, 0.999)
_WEIGHT_DECAY: Final = 1e-4
_STRIDE: Final = 16  # pixels from one position of a query to the next
_LEAST_STYLE: Final = 2 * _STRIDE  # the bank is convolved with mirrored edges, so one position is too few
_PREFIX: Final = "module."  # the published files were saved from a wrapper for several GPUs
_FILE: Final = "gen_00794001.pt"
_DRIVE: Final = "https://drive.google.com/drive/folders/1l53CJxbMiaU7c17laAT9d8Q_a4arxI28"
_FLOOR: Final = 1e-8


class Styleformer(Baseline):
    """Real-time arbitrary style transfer by parametric style composition."""

    name: ClassVar = "Styleformer"
    paper: ClassVar = (
        "X. Wu, Z. Hu, L. Sheng, D. Xu: StyleFormer: Real-Time Arbitrary Style Transfer via Parametric Style Composition. "
        "ICCV 2021"
    )
    licence: ClassVar = "none: the authors' repository has no licence file"
    native_size: ClassVar = 256
    least_crop: ClassVar = 32
    defaults: ClassVar = TrainingRecipe(batch=10, epochs=100, rate=1e-4, decay=0.0, view="grown_crop")
    trained: ClassVar = ("modulation", "decoder")
    official: ClassVar = (
        OfficialFile(
            "encoder",
            styleformer_vgg.FILE,
            what="torchvision's VGG-16, 32 tensors, of which 16 are used",
            address=f"https://download.pytorch.org/models/{styleformer_vgg.FILE}",
            required=False,
        ),
        OfficialFile(
            "modulation", _FILE, what="entry a of the generator's file: modulation network, 27 tensors", address=_DRIVE, entry="a"
        ),
        OfficialFile("decoder", _FILE, what="entry b of the same file: decoder, 16 tensors", address=_DRIVE, entry="b"),
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        features: str = "vgg16",
        apply_mode: str = "released",
        style_size: int = 256,
        content_weight: float = 60.0,
        content_weight_squared: bool = True,
        style_weight: float = 1.0,
        variation_weight: float = 0.0,
        cosine: bool = False,
    ) -> None:
        """``apply_mode="released"`` is what the released code does and its weights need, ``"affine"`` the method as printed.

        Styles are brought to squares of ``style_size``, in training too. ``content_weight_squared`` and ``cosine`` change the
        released content loss, in which the weight counts twice and features are not scaled to length 1.
        """
        super().__init__()
        if features not in FEATURES:
            raise OptionError(f"features={features!r}; accepted are {', '.join(FEATURES)}")
        if style_size < _LEAST_STYLE or style_size % _STRIDE:
            raise OptionError(f"style_size={style_size}; accepted are multiples of {_STRIDE} from {_LEAST_STYLE}")
        if min(content_weight, style_weight, variation_weight) < 0:
            raise OptionError(
                f"content_weight={content_weight}, style_weight={style_weight}, variation_weight={variation_weight}; "
                "accepted are numbers from 0"
            )
        self.features, self.style_size, self.cosine = features, style_size, cosine
        # What each loss counts in the authors' script. Their code multiplies the content's in twice: it counts 3,600.
        self.weights = {
            "content": content_weight**2 if content_weight_squared else content_weight,
            "style": style_weight,
            "variation": variation_weight,
        }
        self.encoder: styleformer_vgg.StyleformerEncoder | vgg.Encoder = (
            styleformer_vgg.encoder(encoder) if features == "vgg16" else vgg.encoder(4, encoder)
        )
        self.modulation = Modulation(apply_mode)
        self.decoder = StyleformerDecoder()

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Stylise; sides become the next multiples of 16. A style that all contents share is encoded once."""
        shared = len(style) > 1 and style.stride(0) == 0
        small_style = resized(style[:1] if shared else style, self.style_size)
        bank = self.modulation.bank_of(self._relu3(small_style))
        out: Tensor = self.decoder(self.modulation(self._relu3(padded(content, _STRIDE, _STRIDE)), bank))
        return unstandardised(out)

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Compare self-distances of positions with the content's, and statistics with the style's."""
        del step
        height, width = content.shape[-2:]
        out = self.transfer(content, style)[..., :height, :width]
        with torch.no_grad():
            content_features, style_taps = self.encoder.taps(content)[-1], self.encoder.taps(style)
        result_taps = self.encoder.taps(out)
        parts = {
            "content": content_loss(result_taps[-1], content_features, cosine=self.cosine),
            "style": losses.style_loss(result_taps, style_taps),
            "variation": variation(standardised(out)),
        }
        yield Step(torch.stack([self.weights[name] * part for name, part in parts.items()]).sum(), parts)

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make Adam with amsgrad and a small weight decay, at a constant rate."""
        optimiser = torch.optim.Adam(
            trained_parameters(self, self.trained), lr=recipe.rate, betas=_BETAS, weight_decay=_WEIGHT_DECAY, amsgrad=True
        )
        return {"main": Optimisation(optimiser, constant(recipe.rate), recipe.clip)}

    def load_official(self, files: Mapping[str, Path]) -> None:
        """Load the released weights; refuse options with which they would load and mean something else."""
        if self.modulation.apply_mode != "released" or self.features != "vgg16":
            raise OptionError(
                f"the official weights of {self.name} belong to apply_mode='released' and features='vgg16', this model has "
                f"{self.modulation.apply_mode!r} and {self.features!r}; build it with those options"
            )
        super().load_official(files)

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Remove the prefix of the generator's file; the encoder's file is torchvision's."""
        return styleformer_vgg.from_torchvision(state) if part == "encoder" else layout.without_prefix(state, _PREFIX)

    def to_official(self, part: str) -> dict[str, Tensor]:
        """Rename tensors as in the released files."""
        state = super().to_official(part)
        if part == "encoder":
            return styleformer_vgg.to_torchvision(state) if self.features == "vgg16" else state
        return {f"{_PREFIX}{name}": value for name, value in state.items()}

    def _relu3(self, image: Tensor) -> Tensor:
        return self.encoder.taps(image, 3)[-1]


class StyleformerDecoder(nn.Module):
    """From relu3_1 to an image with ImageNet's mean and deviation: nearest upsampling, nothing after the last convolution."""

    def __init__(self) -> None:
        super().__init__()
        widths = ((256, 256), (256, 256), (256, 256), (256, 128), (128, 128), (128, 64), (64, 64), (64, 3))
        layers: list[nn.Module] = []
        for width, narrower in widths:
            layers += [nn.ReflectionPad2d(1), nn.Conv2d(width, narrower, 3), nn.ReLU()]
            if width == 2 * narrower:
                layers.append(nn.Upsample(scale_factor=2, mode="nearest"))
        self.model = nn.Sequential(*layers[:-1])

    def forward(self, features: Tensor) -> Tensor:
        """Map (N, 256, h, w) to (N, 3, 4 h, 4 w)."""
        out: Tensor = self.model(features)
        return out


def self_distances(features: Tensor, *, cosine: bool = False) -> Tensor:
    """Compute the distance of every position to every other, as a share of each column's sum.

    The distance is 1 less the scalar product, of features as they are unless ``cosine`` brings them to length 1.

    Args:
        features: `(N, C, h, w)`.
        cosine: Bring features to length 1 first.

    Returns:
        `(N, n, n)` for n positions.

    Example:
        >>> self_distances(torch.rand(1, 8, 3, 3)).sum(1).allclose(torch.ones(1, 9))
        True
    """
    flat = features.flatten(2)
    if cosine:
        flat = functional.normalize(flat, dim=1, eps=_FLOOR)
    apart = 1.0 - flat.transpose(1, 2) @ flat
    total = apart.sum(1, keepdim=True)
    return apart / (total + torch.where(total < 0, -_FLOOR, _FLOOR))  # a sum of zero must not divide


def content_loss(features: Tensor, target: Tensor, *, cosine: bool = False) -> Tensor:
    """Average the absolute difference of :func:`self_distances`. It falls with the number of positions.

    Args:
        features: (B, C, H, W).
        target: (B, C, H, W).
        cosine: Use cosine distances.

    Returns:
        The loss.
    """
    return (self_distances(features, cosine=cosine) - self_distances(target, cosine=cosine)).abs().mean()


def variation(image: Tensor) -> Tensor:
    """Compute the mean squared difference of horizontal neighbours plus that of vertical ones.

    Args:
        image: `(B, C, H, W)`.

    Returns:
        The loss.

    Example:
        >>> variation(torch.tensor([[[[0.0, 1.0], [0.0, 1.0]]]])).item()
        1.0
    """
    return image.diff(dim=-1).square().mean() + image.diff(dim=-2).square().mean()
