"""SGViTs: half of each token of a vision transformer is anatomy, half characteristics; a patch is their product."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Final

import torch
from torch import Tensor, nn

from recolorist._torchvision_ops import declare_missing_ops
from recolorist.errors import OptionError
from recolorist_lab.baselines.base import Baseline, OfficialFile, Optimisation, Step, trained_parameters
from recolorist_lab.baselines.losses import mse
from recolorist_lab.baselines.recipe import TrainingRecipe, cosine_by_epoch
from recolorist_lab.baselines.vit import Normalisation, PatchEmbedding, places, refuse_odd, resized, start_linear, synthesise

declare_missing_ops()

from timm.models.vision_transformer import Block  # noqa: E402 - imports torchvision

__all__ = ["SGViTs"]

STYLES: Final = ("aligned", "broadcast")
BROADCASTS: Final = ("released", "patches")
_FIRST: Final = 3  # tokens the released code draws from by mistake: the number of channels instead of the number of tokens


class SGViTs(Baseline):
    """A vision transformer with all parameters, and a generator without any."""

    name: ClassVar = "SGViTs"
    paper: ClassVar = (
        "S. Doerrich, F. Di Salvo, C. Ledig: Self-supervised Vision Transformer are Scalable Generative Models for Domain "
        "Generalization. MICCAI 2024, arXiv 2407.02900"
    )
    licence: ClassVar = "Apache-2.0"
    native_size: ClassVar = 224
    defaults: ClassVar = TrainingRecipe(
        batch=64,
        epochs=50,
        load_size=224,
        crop_size=224,
        rate=1e-3,
        decay=0.0,
        accumulate=2,
        view="distorted_crop",
        paired=False,
        keep="best",
        rate_depends_on_length=True,
    )
    trained: ClassVar = ("encoder", "normalisation")
    official: ClassVar = (
        OfficialFile(
            "encoder",
            "model_best.pth",
            what="pre-trained generator, 150 tensors",
            address="none: the authors released no weights",
        ),
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        style: str = "aligned",
        width: int = 768,
        depth: int = 12,
        heads: int = 16,
        size: int = 224,
        mean: tuple[float, ...] = (),
        std: tuple[float, ...] = (),
        mixes: int = 4,
        broadcast_from: str = "released",
        weight_decay: float = 0.05,
    ) -> None:
        """``style="aligned"`` gives each patch the characteristics of the patch in its place, ``"broadcast"`` one token's to all.

        ``mean`` and ``std`` are those of the training images; without them they are measured on the first batch.
        ``broadcast_from="released"`` draws the token that is broadcast in training from the first three, as the released code
        does; ``"patches"`` from all.
        """
        super().__init__()
        del encoder  # nothing here is frozen
        refuse_odd(width, size)
        if style not in STYLES:
            raise OptionError(f"style={style!r}; accepted are {', '.join(STYLES)}")
        if broadcast_from not in BROADCASTS:
            raise OptionError(f"broadcast_from={broadcast_from!r}; accepted are {', '.join(BROADCASTS)}")
        if width % heads or mixes < 1 or depth < 1:
            raise OptionError(
                f"width={width}, heads={heads}, depth={depth}, mixes={mixes}; heads must divide the width, others be 1 or more"
            )
        self.style, self.size, self.mixes, self.weight_decay = style, size, mixes, weight_decay
        self.broadcast_from = broadcast_from
        self.encoder = PatchEncoder(width, depth, heads, size)
        self.normalisation = Normalisation(mean, std)

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Join the content's anatomy with the style's characteristics, at the network's size; resize the result back."""
        anatomy, _ = self._halves(self.normalisation(resized(content, self.size)))
        _, look = self._halves(self.normalisation(resized(style, self.size)))
        if self.style == "broadcast":
            look = look[:, :1].expand_as(look)  # the class token has seen every patch
        out = self.normalisation.undo(synthesise(anatomy, look))
        return resized(out, (content.shape[-2], content.shape[-1]))

    def prepare(self, content: Tensor, style: Tensor) -> None:
        """Measure mean and deviation of the images, unless they were given."""
        del style
        self.normalisation.learn(content)

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Reconstruct every image, also with characteristics of single tokens; both halves must be recovered from the result."""
        del style, step
        images = self.normalisation(resized(content, self.size))
        anatomy, look = self._halves(images)
        again = synthesise(anatomy, look)
        seen_anatomy, seen_look = self._halves(again)
        parts = {"reconstruction": mse(images, again), "anatomy": mse(seen_anatomy, anatomy), "look": mse(seen_look, look)}
        for _ in range(self.mixes):
            target = self._drawn(look).expand_as(look)
            seen_anatomy, seen_look = self._halves(synthesise(anatomy, target))
            parts["anatomy"] = parts["anatomy"] + mse(seen_anatomy, anatomy)
            parts["look"] = parts["look"] + mse(seen_look, target)
        yield Step(torch.stack(list(parts.values())).sum(), parts)

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make AdamW with a half cosine; the first two epochs both run at the full rate, as released."""
        optimiser = torch.optim.AdamW(trained_parameters(self, self.trained), lr=recipe.rate, weight_decay=self.weight_decay)
        steps = recipe.epoch_steps or 1
        falling = cosine_by_epoch(recipe.rate, recipe.laps, steps)
        return {"main": Optimisation(optimiser, lambda step: falling(max(0, step - steps)), recipe.clip)}

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Remove the prefix `encoder.` from the names; a name without it is kept, and the strict check refuses it."""
        del part
        return {name.removeprefix("encoder."): value for name, value in state.items()}

    def to_official(self, part: str) -> dict[str, Tensor]:
        """Add the prefix `encoder.` to the names."""
        return {f"{part}.{name}": value for name, value in self.parts()[part].state_dict().items()}

    def _halves(self, images: Tensor) -> tuple[Tensor, Tensor]:
        tokens: Tensor = self.encoder(images)
        anatomy, look = tokens.chunk(2, dim=-1)
        return anatomy, look

    def _drawn(self, look: Tensor) -> Tensor:
        """Draw the characteristics of one token of one image, (1, 1, width / 2)."""
        low, high = (0, _FIRST) if self.broadcast_from == "released" else (1, look.shape[1])
        picture, token = torch.randint(len(look), (1,)), torch.randint(low, high, (1,))
        return look[picture.item(), token.item()][None, None]  # type: ignore[index]


class PatchEncoder(nn.Module):
    """A vision transformer with a fixed position table."""

    def __init__(self, width: int, depth: int, heads: int, size: int) -> None:
        super().__init__()
        side = size // 16
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.pos_embed = nn.Parameter(places(side, width), requires_grad=False)
        self.patch_embed = PatchEmbedding(width)
        norm: Any = partial(nn.LayerNorm, eps=1e-6)
        self.blocks = nn.ModuleList([Block(width, heads, mlp_ratio=4.0, qkv_bias=True, norm_layer=norm) for _ in range(depth)])
        self.norm = norm(width)
        self.blocks.apply(start_linear)

    def forward(self, images: Tensor) -> Tensor:
        """Map (B, 3, size, size) to (B, 1 + patches, width)."""
        tokens = self.patch_embed(images) + self.pos_embed[:, 1:]
        first = (self.cls_token + self.pos_embed[:, :1]).expand(len(images), -1, -1)
        tokens = torch.cat([first, tokens], dim=1)
        for block in self.blocks:
            tokens = block(tokens)
        out: Tensor = self.norm(tokens)
        return out
