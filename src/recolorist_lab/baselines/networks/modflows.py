"""ModFlows: a network predicts a flow of colours from an image; the content's flow runs forwards, the style's backwards.

The map is one of colours alone, so nothing in the picture can move. Without the published weights flows can be fitted to the two
pictures directly (``flows="fit"``), which is slow. This is what the network was trained to predict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

import torch
from torch import Tensor, nn

from recolorist._torchvision_ops import declare_missing_ops
from recolorist.errors import OptionError
from recolorist_lab.baselines.base import Baseline, OfficialFile, Optimisation, Step, trained_parameters
from recolorist_lab.baselines.networks.modflows_flow import (
    BUDGETS,
    INVERSE_TIMES,
    ColourFlow,
    FlowFit,
    backward,
    fit,
    forward,
    size_of,
    steps_for,
)
from recolorist_lab.baselines.recipe import TrainingRecipe, constant
from recolorist_lab.baselines.vit import resized

declare_missing_ops()

from torchvision import models  # noqa: E402

__all__ = ["KINDS", "ModFlows", "seen_by_encoder"]


class EncoderSize(NamedTuple):
    """One size of encoder: its network, the width of the flows it predicts, the side it resizes to and the part it looks at."""

    network: str
    hidden: int
    size: int
    crop: int


KINDS: Final = MappingProxyType(
    {"B6": EncoderSize("efficientnet_b6", 1024, 528, 528), "B0": EncoderSize("efficientnet_b0", 64, 256, 224)}
)
FLOWS: Final = ("encoder", "fit")
TEACHERS: Final = ("fit", "none")
STRENGTHS: Final = ("blend", "legacy")
_MEAN: Final = (0.485, 0.456, 0.406)
_STD: Final = (0.229, 0.224, 0.225)
_PIXELS: Final = 10_240  # of each picture in a step of training


class ModFlows(Baseline):
    """Colour transfer with modulated flows."""

    name: ClassVar = "Modflows"
    paper: ClassVar = (
        "M. Larchenko, A. Lobashev, D. Guskov, V. V. Palyulin: Color Transfer with Modulated Flows. AAAI 2025, arXiv 2503.19062"
    )
    licence: ClassVar = "none: the authors' repository has no licence file"
    native_size: ClassVar = 512
    needs_training: ClassVar = False
    defaults: ClassVar = TrainingRecipe(
        batch=8, iterations=751_001, load_size=528, crop_size=528, rate=1e-4, decay=0.0, view="whole", paired=False
    )
    trained: ClassVar = ("encoder",)
    official: ClassVar = (
        OfficialFile(
            "encoder",
            "modflows_color_encoder_B6_dim_8195_iter_751001.pt",
            what="EfficientNet-B6 with 8,195 outputs, 986 tensors",
            address="https://huggingface.co/MariaLarchenko/modflows_color_encoder",
        ),
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        kind: str = "B6",
        flows: str = "encoder",
        steps: int = 8,
        inverse_time: str = "reversed",
        strength: float = 1.0,
        strength_rule: str = "blend",
        scrambled: bool = True,
        size: int = 0,
        fit_budget: str = "released",
        fit_hidden: int = 0,
        fit_steps: int = 0,
        fit_rate: float = 0.0,
        fit_pixels: int = 0,
        teacher: str = "fit",
    ) -> None:
        """``flows="fit"`` fits both flows instead of predicting them; ``teacher="fit"`` does so while training.

        ``fit_budget`` is that of the authors' training (``released``: 2 × 50,000 steps of 51,200 pixels, hours on a processor) or
        ours (``quick``: 2 × 2,500 steps of 4,096 pixels with 64 hidden units); numbers above 0 among ``fit_*`` replace its own.
        ``scrambled`` feeds the encoder rows of interleaved colours as if they were planes, as the published weights need it.
        ``strength`` below 1 blends colours; ``strength_rule="legacy"`` stops both flows early. ``size`` 0 is the kind's own.
        """
        super().__init__()
        del encoder  # nothing here is frozen
        _refuse(kind=(kind, KINDS), flows=(flows, FLOWS), inverse_time=(inverse_time, INVERSE_TIMES))
        _refuse(strength_rule=(strength_rule, STRENGTHS), teacher=(teacher, TEACHERS), fit_budget=(fit_budget, BUDGETS))
        if steps < 1 or not 0.0 <= strength <= 1.0 or min(size, fit_hidden, fit_steps, fit_rate, fit_pixels) < 0:
            raise OptionError(
                f"steps={steps}, strength={strength}, size={size}, fit_hidden={fit_hidden}, fit_steps={fit_steps}, "
                f"fit_rate={fit_rate}, fit_pixels={fit_pixels}; accepted are steps from 1, a strength from 0 to 1, and other "
                "numbers from 0"
            )
        self.kind, self.flows, self.steps, self.inverse_time = KINDS[kind], flows, steps, inverse_time
        self.strength, self.strength_rule, self.scrambled, self.teacher = strength, strength_rule, scrambled, teacher
        self.size = size or self.kind.size
        self.crop = min(self.size, self.kind.crop) if size == 0 else size
        budget = BUDGETS[fit_budget]
        self.fitting = FlowFit(
            fit_hidden or budget.hidden or self.kind.hidden,
            fit_steps or budget.steps,
            fit_rate or budget.rate,
            fit_pixels or budget.pixels,
        )
        self.encoder = FlowEncoder(self.kind)
        self._teachers: dict[str, ColourFlow] = {}

    @property
    def works_untrained(self) -> bool:
        """Fitted flows need no weights."""
        return self.flows == "fit"

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Move every colour along the content's flow, then backwards along the style's."""
        colours = content.flatten(2).transpose(1, 2)
        steps = steps_for(self.steps, self.strength) if self.strength_rule == "legacy" else self.steps
        cube = forward(self.flow_of(content), colours, self.steps, steps)
        moved = backward(self.flow_of(style), cube, self.steps, self.inverse_time, steps)
        if self.strength_rule == "blend":
            moved = self.strength * moved.clamp(0.0, 1.0) + (1.0 - self.strength) * colours
        return moved.transpose(1, 2).unflatten(2, tuple(content.shape[-2:]))

    def flow_of(self, images: Tensor) -> ColourFlow:
        """Return the flows of images: predicted in one pass, or fitted one by one."""
        if self.flows == "encoder":
            return ColourFlow.unpacked(self.predicted(images))
        fitted = [fit(image.flatten(1).T, self.fitting, _seed(image)) for image in images]
        joined = ColourFlow(*(torch.cat(parts) for parts in zip(*fitted, strict=True)))
        return ColourFlow(*(part.to(images) for part in joined))

    def predicted(self, images: Tensor) -> Tensor:
        """Run the encoder; one row of flow weights for each image."""
        prepared = seen_by_encoder(resized(images, self.size), scrambled=self.scrambled)
        edge = (self.size - self.crop) // 2
        out: Tensor = self.encoder(prepared[..., edge : edge + self.crop, edge : edge + self.crop])
        return out

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Compare the predicted flow with the flow fitted to the image, at colours along its paths.

        Without a teacher it must lead from the picture's colours to the cube by itself.
        """
        del style, step
        count = min(_PIXELS, content.shape[-1] * content.shape[-2])
        colours = content.flatten(2).transpose(1, 2)
        chosen = torch.randint(colours.shape[1], (len(content), count, 1), device=content.device)
        begin = colours.gather(1, chosen.expand(-1, -1, 3))
        time = torch.rand(len(content), count, 1, device=content.device)
        with torch.no_grad():
            teacher = None if self.teacher == "none" else self._taught(content)
            end = torch.rand_like(begin) if teacher is None else forward(teacher, begin, 100)
            between = begin + time * (end - begin)
            target = end - begin if teacher is None else teacher.speed(between, time)
        loss = (ColourFlow.unpacked(self.predicted(_turned(content))).speed(between, time) - target).square().mean()
        yield Step(loss, {"flow": loss})

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make Adam with a constant rate."""
        optimiser = torch.optim.Adam(trained_parameters(self, self.trained), lr=recipe.rate)
        return {"main": Optimisation(optimiser, constant(recipe.rate), recipe.clip)}

    def _taught(self, images: Tensor) -> ColourFlow:
        """Return fitted flows and keep them for later epochs; the seed of a fit comes from the pixels, so it is repeatable."""
        flows = []
        for image in images:
            key = hashlib.sha256(image.cpu().numpy().tobytes()).hexdigest()
            if key not in self._teachers:
                self._teachers[key] = fit(image.flatten(1).T, self.fitting, _seed(image))
            flows.append(self._teachers[key])
        return ColourFlow(*(torch.cat(parts).to(images) for parts in zip(*flows, strict=True)))


class FlowEncoder(nn.Module):
    """An EfficientNet whose outputs are the weights of a flow."""

    def __init__(self, kind: EncoderSize) -> None:
        super().__init__()
        make: Any = getattr(models, kind.network)
        self.model = make(weights=None, num_classes=size_of(kind.hidden))

    def forward(self, images: Tensor) -> Tensor:
        """Map (B, 3, H, W) to (B, numbers of a flow)."""
        out: Tensor = self.model(images)
        return out


def seen_by_encoder(images: Tensor, *, scrambled: bool = True) -> Tensor:
    """Prepare pictures as the encoder was trained on them: ImageNet's mean and deviation.

    Args:
        images: (B, 3, H, W), from 0 to 1.
        scrambled: Read interleaved colours as planes, as the authors' training did.

    Returns:
        (B, 3, H, W).
    """
    if scrambled:
        images = images.permute(0, 2, 3, 1).reshape(images.shape)
    mean, std = (torch.tensor(values, device=images.device, dtype=images.dtype)[:, None, None] for values in (_MEAN, _STD))
    return (images - mean) / std


def _turned(images: Tensor) -> Tensor:
    """Mirror and rotate each image at random, which changes no colour."""
    mirrored = torch.where(torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5, images.flip(-1), images)
    turns = torch.randint(4, (len(images),)).tolist()
    return torch.stack([image.rot90(turn, (-2, -1)) for image, turn in zip(mirrored, turns, strict=True)])


def _seed(image: Tensor) -> int:
    return int.from_bytes(hashlib.sha256(image.detach().cpu().numpy().tobytes()).digest()[:7], "big")


def _refuse(**choices: tuple[str, Any]) -> None:
    for name, (value, accepted) in choices.items():
        if value not in accepted:
            raise OptionError(f"{name}={value!r}; accepted are {', '.join(accepted)}")
