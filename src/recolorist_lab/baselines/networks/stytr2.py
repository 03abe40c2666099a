"""StyTr2: patches of the content attend to patches of the style in a transformer; a decoder makes the image.

The published code needs two squares of one size, because it resizes the positions to the style's grid and takes the root of the
number of tokens. Both are known here, so any sides do; for equal squares nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist_lab.baselines import losses, vgg
from recolorist_lab.baselines.base import Baseline, OfficialFile, Optimisation, Step, trained_parameters
from recolorist_lab.baselines.networks.adain import OFFICIAL
from recolorist_lab.baselines.recipe import Rate, TrainingRecipe

__all__ = ["StyTr2", "warmed_up"]

_WIDTH: Final = 512
_HEADS: Final = 8
_HIDDEN: Final = 2048
_LAYERS: Final = 3
_PATCH: Final = 8
_POOLED: Final = 18  # side of the map from which positions are made, whatever the image's
_DROPOUT: Final = 0.1
_WARM_UP: Final = 10_000  # steps
_DRIVE: Final = "https://drive.google.com/file/d/"


def warmed_up(rate: float) -> Rate:
    """Return a rate that grows from a tenth to four tenths of ``rate`` in ten thousand steps, and then falls slowly.

    Args:
        rate: The nominal rate.

    Returns:
        The rate by number of step.

    Example:
        >>> [round(warmed_up(5e-4)(step), 9) for step in (0, 9_999, 10_000, 110_000)]
        [5e-05, 0.000199985, 0.0002, 0.0001]
    """

    def at(step: int) -> float:
        if step < _WARM_UP:
            return 0.1 * rate * (1.0 + 3e-4 * step)
        return 0.4 * rate / (1.0 + 1e-5 * (step - _WARM_UP))

    return at


class StyTr2(Baseline):
    """Image style transfer with transformers."""

    name: ClassVar = "StyTr2"
    paper: ClassVar = (
        "Y. Deng, F. Tang, W. Dong, C. Ma, X. Pan, L. Wang, C. Xu: StyTr2: Image Style Transfer with Transformers. "
        "CVPR 2022, arXiv 2105.14576"
    )
    licence: ClassVar = "none: the authors' repository has no licence file"
    native_size: ClassVar = 256
    least: ClassVar = 2 * _PATCH  # the painting decoder mirrors at its edges, so one patch has nothing to mirror
    least_crop: ClassVar = 32
    multiple: ClassVar = _PATCH
    defaults: ClassVar = TrainingRecipe(batch=8, rate=5e-4, decay=0.0)
    trained: ClassVar = ("embedding", "transformer", "decoder")
    training_only: ClassVar = ("encoder",)
    official: ClassVar = (
        OFFICIAL,
        OfficialFile(
            "embedding",
            "embedding_iter_160000.pth",
            what="patch embedding, 2 tensors",
            address=f"{_DRIVE}1C3xzTOWx8dUXXybxZwmjijZN8SrC3e4B",
        ),
        OfficialFile(
            "transformer",
            "transformer_iter_160000.pth",
            what="encoders, decoder and positions, 130 tensors",
            address=f"{_DRIVE}1dnobsaLeE889T_LncCkAA2RkqzwsfHYy",
        ),
        OfficialFile(
            "decoder",
            "decoder_iter_160000.pth",
            what="painting decoder, 18 tensors",
            address=f"{_DRIVE}1fIIVMTA_tPuaAAFtqizr6sd1XV7CX6F9",
        ),
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        content_weight: float = 7.0,
        style_weight: float = 10.0,
        identity_pixels_weight: float = 70.0,
        identity_features_weight: float = 1.0,
    ) -> None:
        super().__init__()
        # What each loss counts in the published code; the paper prints 10, 7, 50, with which users could not repeat it.
        self.weights = {
            "content": content_weight,
            "style": style_weight,
            "identity_pixels": identity_pixels_weight,
            "identity_features": identity_features_weight,
        }
        self.encoder = vgg.encoder(5, encoder)
        self.embedding = nn.Sequential()
        self.embedding.add_module("proj", nn.Conv2d(3, _WIDTH, _PATCH, stride=_PATCH))
        self.transformer = Transformer()
        self.decoder = vgg.decoder()

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Embed both images, run the transformer, and decode."""
        out: Tensor = self.decoder(self.transformer(self.embedding(content), self.embedding(style)))
        return out

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Compute the losses of three results: the pair, and each image in its own style."""
        del step
        with torch.no_grad():
            content_taps, style_taps = self.encoder.taps(content), self.encoder.taps(style)
        result_taps = self.encoder.taps(self.transfer(content, style))
        pixels = features = content.new_zeros(())
        for image, taps in ((content, content_taps), (style, style_taps)):
            again = self.transfer(image, image)
            near, alike = losses.identity_loss((again, image), (self.encoder.taps(again), taps))
            pixels, features = pixels + near, features + alike
        parts = {
            "content": losses.content_loss(result_taps[3:], content_taps[3:]),
            "style": losses.style_loss(result_taps, style_taps),
            "identity_pixels": pixels,
            "identity_features": features,
        }
        total = torch.stack([self.weights[name] * part for name, part in parts.items()]).sum()
        yield Step(total, parts)

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make Adam with a long warm-up, without which training collapses."""
        optimiser = torch.optim.Adam(trained_parameters(self, self.trained), lr=recipe.rate)
        return {"main": Optimisation(optimiser, warmed_up(recipe.rate), recipe.clip)}

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Take the first 44 layers of the loss network's file, which holds all of VGG-19."""
        return vgg.truncated(state, 5) if part == "encoder" else state


class Transformer(nn.Module):
    """An encoder for contents with positions, one for styles without, and a decoder that joins the two."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder_c = Layers(EncoderLayer)
        self.encoder_s = Layers(EncoderLayer)
        self.decoder = Layers(DecoderLayer, norm=True)
        for value in self.parameters():
            if value.ndim > 1:
                nn.init.xavier_uniform_(value)
        self.new_ps = nn.Conv2d(_WIDTH, _WIDTH, 1)

    def positions(self, content: Tensor) -> Tensor:
        """Compute positions from the content on a grid of fixed size, so that they do not depend on the image's size."""
        pooled = self.new_ps(functional.adaptive_avg_pool2d(content, _POOLED))
        return functional.interpolate(pooled, content.shape[-2:], mode="bilinear", align_corners=False)

    def forward(self, content: Tensor, style: Tensor) -> Tensor:
        """Map features of both, (B, 512, h, w), to one of the content's size."""
        place = _tokens(self.positions(content))
        tokens = self.encoder_c(_tokens(content), None, place)
        memory = self.encoder_s(_tokens(style), None, None)
        mixed: Tensor = self.decoder(tokens, memory, place)
        return mixed.transpose(1, 2).unflatten(2, tuple(content.shape[-2:]))


class Layers(nn.Module):
    """Several layers, and a norm after the last where one is given."""

    def __init__(self, layer: type[EncoderLayer | DecoderLayer], *, norm: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList([layer() for _ in range(_LAYERS)])
        self.norm = nn.LayerNorm(_WIDTH) if norm else None

    def forward(self, tokens: Tensor, memory: Tensor | None, place: Tensor | None) -> Tensor:
        """Return tokens of the same shape as ``tokens``."""
        for layer in self.layers:
            tokens = layer(tokens, memory, place)
        return tokens if self.norm is None else self.norm(tokens)


class EncoderLayer(nn.Module):
    """Self-attention and two linear layers, each with a norm after its sum."""

    def __init__(self) -> None:
        super().__init__()
        self.self_attn = _attention()
        self.linear1, self.linear2 = nn.Linear(_WIDTH, _HIDDEN), nn.Linear(_HIDDEN, _WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.dropout = nn.Dropout(_DROPOUT)

    def forward(self, tokens: Tensor, memory: Tensor | None, place: Tensor | None) -> Tensor:
        """Run the layer; ``memory`` is not used, and ``place`` is added to queries and keys."""
        del memory
        asking = tokens if place is None else tokens + place
        attended, _ = self.self_attn(asking, asking, tokens, need_weights=False)
        tokens = self.norm1(tokens + self.dropout(attended))
        hidden = self.dropout(functional.relu(self.linear1(tokens)))
        out: Tensor = self.norm2(tokens + self.dropout(self.linear2(hidden)))
        return out


class DecoderLayer(nn.Module):
    """Two attentions to the style. The released files call the first one self-attention, which it is not."""

    def __init__(self) -> None:
        super().__init__()
        self.self_attn, self.multihead_attn = _attention(), _attention()
        self.linear1, self.linear2 = nn.Linear(_WIDTH, _HIDDEN), nn.Linear(_HIDDEN, _WIDTH)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.dropout = nn.Dropout(_DROPOUT)

    def forward(self, tokens: Tensor, memory: Tensor, place: Tensor) -> Tensor:
        """Let content tokens attend to the style's, which have no positions."""
        attended, _ = self.self_attn(tokens + place, memory, memory, need_weights=False)
        tokens = self.norm1(tokens + self.dropout(attended))
        attended, _ = self.multihead_attn(tokens + place, memory, memory, need_weights=False)
        tokens = self.norm2(tokens + self.dropout(attended))
        hidden = self.dropout(functional.relu(self.linear1(tokens)))
        out: Tensor = self.norm3(tokens + self.dropout(self.linear2(hidden)))
        return out


def _attention() -> nn.MultiheadAttention:
    return nn.MultiheadAttention(_WIDTH, _HEADS, dropout=_DROPOUT, batch_first=True)


def _tokens(maps: Tensor) -> Tensor:
    """Map (B, C, h, w) to (B, h · w, C), row by row."""
    return maps.flatten(2).transpose(1, 2)
