"""StylizingViT: the same attention blocks run within the content, within the style, and from one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist._torchvision_ops import declare_missing_ops
from recolorist.errors import OptionError
from recolorist_lab.baselines import vgg
from recolorist_lab.baselines.base import Baseline, OfficialFile, Optimisation, Step, frozen, trained_parameters
from recolorist_lab.baselines.losses import mse
from recolorist_lab.baselines.recipe import TrainingRecipe, cosine_by_epoch
from recolorist_lab.baselines.vit import Normalisation, PatchEmbedding, places, refuse_odd, resized, start_linear, synthesise

__all__ = ["BACKBONES", "FITS", "PERCEPTUAL", "StylizingViT"]


class Backbone(NamedTuple):
    """Width of a token, attention heads."""

    width: int
    heads: int


BACKBONES: Final = MappingProxyType({"tiny": Backbone(192, 3), "small": Backbone(384, 6), "base": Backbone(768, 12)})
PERCEPTUAL: Final = ("vgg19", "vgg_normalised")
FITS: Final = ("pad", "squash")
_DEPTH: Final = 12
_FLOOR: Final = 1e-5  # of variances
_TAPS: Final = (3, 8, 17, 26, 35, 36)  # relu1_2, relu2_2, relu3_4, relu4_4, relu5_4, pool5 in torchvision's VGG-19
_PARTS: Final = ("encoder", "bottleneck", "post_process_conv")
_TRAINING_ONLY: Final = "vgg_encoder."  # saved along in checkpoints of training runs


class StylizingViT(Baseline):
    """A transformer, a perceptron, a product for each patch, and one convolution."""

    name: ClassVar = "StylizingViT"
    paper: ClassVar = (
        "S. Doerrich, F. Di Salvo, J. Alle, C. Ledig: Stylizing ViT: Anatomy-Preserving Instance Style Transfer for Domain "
        "Generalization. ISBI 2026, arXiv 2601.17586"
    )
    licence: ClassVar = "Apache-2.0, code and weights"
    native_size: ClassVar = 224
    defaults: ClassVar = TrainingRecipe(
        batch=64,
        epochs=50,
        load_size=224,
        crop_size=224,
        rate=1e-3,
        decay=0.0,
        clip=1.0,
        accumulate=2,
        view="padded",
        paired=False,
        keep="best",
        rate_depends_on_length=True,
    )
    trained: ClassVar = (*_PARTS, "normalisation")
    official: ClassVar = tuple(
        OfficialFile(
            part,
            "model.safetensors",
            what=f"released model, 203 tensors, of which {part} takes its own",
            address="https://huggingface.co/sdoerrich97",
        )
        for part in _PARTS
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        backbone: str = "base",
        size: int = 224,
        mean: tuple[float, ...] = (),
        std: tuple[float, ...] = (),
        fit: str = "pad",
        perceptual: str = "vgg19",
        identity_weight: float = 70.0,
        consistency_weight: float = 1.0,
        anatomy_weight: float = 7.0,
        style_weight: float = 10.0,
        weight_decay: float = 0.01,
    ) -> None:
        """``mean`` and ``std`` are those of the training images; without them they are measured on the first batch.

        ``fit`` says how images that are not square become so: ``pad`` fills them up with black, as released, ``squash`` resizes
        them. Training images follow the recipe's view.

        ``perceptual`` is the network behind the losses: torchvision's VGG-19, as released, or the normalised one of the other
        methods, whose weights are easier to get. It is made when training begins; pictures need neither.
        """
        super().__init__()
        if backbone not in BACKBONES:
            raise OptionError(
                f"backbone={backbone!r}; accepted are {', '.join(BACKBONES)} (half of the token of 'large' cannot be "
                "divided into three planes)"
            )
        if perceptual not in PERCEPTUAL:
            raise OptionError(f"perceptual={perceptual!r}; accepted are {', '.join(PERCEPTUAL)}")
        if fit not in FITS:
            raise OptionError(f"fit={fit!r}; accepted are {', '.join(FITS)}")
        self.fit = fit
        width, heads = BACKBONES[backbone]
        refuse_odd(width, size)
        self.size, self.perceptual, self.weight_decay = size, perceptual, weight_decay
        self.weights = (identity_weight, consistency_weight, anatomy_weight, style_weight)
        self.encoder = PairEncoder(width, heads, size)
        self.bottleneck = Perceptron(width)
        self.post_process_conv = nn.Conv2d(3, 3, 5, padding=2, bias=False)
        self.normalisation = Normalisation(mean, std)
        self.vgg = Perceptual(perceptual, encoder)

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Resize both images to the network's size, run it, and resize the result to the content's size."""
        views = [self.normalisation(resized(self._square(image), self.size)) for image in (content, style)]
        *_, mixed = self.encoder(*views)
        height, width = content.shape[-2:]
        side = max(height, width) if self.fit == "pad" else 0
        result = resized(self.normalisation.undo(self.decoded(mixed)), (side or height, side or width))
        top, left = ((side - height) // 2, (side - width) // 2) if side else (0, 0)
        return result[..., top : top + height, left : left + width]

    def _square(self, image: Tensor) -> Tensor:
        """Pad an image with black to a square, unless it is to be squashed."""
        height, width = image.shape[-2:]
        if self.fit == "squash" or height == width:
            return image
        side = max(height, width)
        top, left = (side - height) // 2, (side - width) // 2
        return functional.pad(image, (left, side - width - left, top, side - height - top))

    def decoded(self, tokens: Tensor) -> Tensor:
        """Make normalised images from tokens."""
        first, second = self.bottleneck(tokens).chunk(2, dim=-1)
        out: Tensor = self.post_process_conv(synthesise(first, second))
        return out

    def prepare(self, content: Tensor, style: Tensor) -> None:
        """Measure mean and deviation of the images, unless they were given."""
        del style
        self.normalisation.learn(content)

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Compute the losses; the style of each image is its neighbour in the batch."""
        del style, step
        first = self.normalisation(resized(content, self.size))
        second = first.roll(-1, 0)
        tokens = self.encoder(first, second)
        first_again, second_again, mixed = (self.decoded(sequence) for sequence in tokens)
        with torch.no_grad():
            first_taps = self._taps(first)
            seen_other = [tap.roll(-1, 0) for tap in first_taps]
        mixed_taps = self._taps(mixed)
        parts = {
            "identity": mse(first, first_again) + mse(second, second_again),
            "consistency": _apart(first_taps, self._taps(first_again)) + _apart(seen_other, self._taps(second_again)),
            "anatomy": _apart([standardised(tap) for tap in first_taps], [standardised(tap) for tap in mixed_taps]),
            "style": _apart([moments(tap) for tap in seen_other], [moments(tap) for tap in mixed_taps], 2.0),
        }
        total = torch.stack([weight * part for weight, part in zip(self.weights, parts.values(), strict=True)]).sum()
        yield Step(total, parts)

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make AdamW with decay on every tensor, and a half cosine changed once an epoch."""
        optimiser = torch.optim.AdamW(trained_parameters(self, self.trained), lr=recipe.rate, weight_decay=self.weight_decay)
        return {"main": Optimisation(optimiser, cosine_by_epoch(recipe.rate, recipe.laps, recipe.epoch_steps or 1), recipe.clip)}

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Select the tensors of one part from a file that holds all; names that belong to no part are kept and then refused."""
        others = (*(f"{name}." for name in _PARTS if name != part), _TRAINING_ONLY)
        plain = {name.removeprefix("module."): value for name, value in state.items()}
        return {name.removeprefix(f"{part}."): value for name, value in plain.items() if not name.startswith(others)}

    def to_official(self, part: str) -> dict[str, Tensor]:
        """Add the part's name as a prefix."""
        return {f"{part}.{name}": value for name, value in self.parts()[part].state_dict().items()}

    def _taps(self, image: Tensor) -> list[Tensor]:
        """Compute features; torchvision's VGG gets normalised images, as in the release, the normalised VGG plain ones."""
        return self.vgg(self.normalisation.undo(image) if self.perceptual == "vgg_normalised" else image)


class PairEncoder(nn.Module):
    """Encode content, style, and the content attending to the style, with the same blocks."""

    def __init__(self, width: int, heads: int, size: int) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.pos_embed = nn.Parameter(places(size // 16, width))
        self.patch_embed = PatchEmbedding(width)
        self.blocks = nn.ModuleList([CrossBlock(width, heads) for _ in range(_DEPTH)])
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.blocks.apply(start_linear)

    def forward(self, content: Tensor, style: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return tokens of content, style and mixture. The mixture attends to the style of the previous layer, as released."""
        first, second = self._tokens(content), self._tokens(style)
        way = first
        mixed = first
        for place, block in enumerate(self.blocks):
            mixed = block(way, second)
            first, second = block(first, first), block(second, second)
            if place + 1 < len(self.blocks):  # the result of the last layer would not be used
                way = block(first, mixed)
        return self.norm(first), self.norm(second), self.norm(mixed)

    def _tokens(self, image: Tensor) -> Tensor:
        tokens = torch.cat([self.cls_token.expand(len(image), -1, -1), self.patch_embed(image)], dim=1)
        return tokens + self.pos_embed


class CrossBlock(nn.Module):
    """Attention from one sequence to another, and a perceptron; with the same sequence twice it is self-attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_input = nn.LayerNorm(width, eps=1e-6)
        self.norm_context = nn.LayerNorm(width, eps=1e-6)
        self.attn = CrossAttention(width, heads)
        self.mlp = Perceptron(width)

    def forward(self, tokens: Tensor, context: Tensor | None) -> Tensor:
        """Let ``tokens`` attend to ``context``; without one they stay unchanged."""
        if context is None:
            return tokens
        tokens = tokens + self.attn(self.norm_input(tokens), self.norm_context(context))
        out: Tensor = tokens + self.mlp(self.norm_input(tokens))
        return out


class CrossAttention(nn.Module):
    """Multi-head attention with separate projections."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(width, width) for _ in range(4))

    def forward(self, tokens: Tensor, context: Tensor) -> Tensor:
        """Let (B, n, width) attend to (B, m, width)."""
        query, key, value = self._split(self.q_proj(tokens)), self._split(self.k_proj(context)), self._split(self.v_proj(context))
        attended = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        out: Tensor = self.out_proj(attended)
        return out

    def _split(self, tokens: Tensor) -> Tensor:
        return tokens.unflatten(2, (self.heads, -1)).transpose(1, 2)


class Perceptron(nn.Module):
    """Two linear layers; the inner one is four times as wide."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the same shape."""
        out: Tensor = self.fc2(functional.gelu(self.fc1(tokens)))
        return out


class Perceptual:
    """A frozen VGG-19 that is made on first use, so that stylising does not need its weights."""

    def __init__(self, kind: str, weights: str) -> None:
        self.kind, self.weights = kind, weights
        self.net: nn.Module | None = None

    def __call__(self, image: Tensor) -> list[Tensor]:
        """Return the features that the losses compare."""
        if self.net is None:
            self.net = _network(self.kind, self.weights).to(image.device)
        if isinstance(self.net, vgg.Encoder):
            return self.net.taps(image)
        taps = []
        for place, layer in enumerate(self.net.children()):
            image = layer(image)
            if place in _TAPS:
                taps.append(image)
        return taps


def _network(kind: str, weights: str) -> nn.Module:
    if kind == "vgg_normalised":
        return frozen(vgg.encoder(5, weights))
    declare_missing_ops()
    from torchvision.models import vgg19

    features: nn.Sequential = vgg19(weights=None).features
    for layer in features:
        if isinstance(layer, nn.ReLU):
            layer.inplace = False  # taps are kept
    if weights != "random":
        from recolorist_lab.assets.weights import state_of

        features_state = {name: value for name, value in state_of("vgg19").items() if name.startswith("features.")}
        features.load_state_dict({name.removeprefix("features."): value for name, value in features_state.items()})
    return frozen(features.eval())


def moments(tap: Tensor) -> Tensor:
    """Measure mean and deviation of each channel.

    Args:
        tap: (B, C, H, W).

    Returns:
        (2, B, C).
    """
    deviation = tap.var((2, 3), unbiased=False).clamp(min=_FLOOR).sqrt()
    return torch.stack([tap.mean((2, 3)), deviation])


def standardised(tap: Tensor) -> Tensor:
    """Normalise each channel to mean 0 and deviation 1.

    Args:
        tap: (B, C, H, W).

    Returns:
        (B, C, H, W).
    """
    mean, deviation = moments(tap)
    return (tap - mean[..., None, None]) / deviation[..., None, None]


def _apart(first: Sequence[Tensor], second: Sequence[Tensor], factor: float = 1.0) -> Tensor:
    """Sum mean squared differences over the taps; ``factor`` turns the mean over stacked terms into a sum."""
    return factor * torch.stack([mse(one_tap, other_tap) for one_tap, other_tap in zip(first, second, strict=True)]).sum()
