"""A method small enough to train in milliseconds, with everything a trainer has to cope with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from recolorist_lab.baselines.base import Baseline, Made, OfficialFile, Optimisation, Step, trained_parameters
from recolorist_lab.baselines.crops import Images
from recolorist_lab.baselines.recipe import TrainingRecipe, inverse_time
from recolorist_lab.baselines.trainer import BaselineTrainer

RECIPE = TrainingRecipe(batch=4, iterations=8, load_size=20, crop_size=16, rate=1e-2)


class Small(Baseline):
    """A frozen encoder of one convolution, a decoder with dropout, and a critic with an optimiser of its own."""

    name: ClassVar = "Small"
    paper: ClassVar = "none"
    licence: ClassVar = "none"
    native_size: ClassVar = 16
    least: ClassVar = 6
    least_crop: ClassVar = 8
    multiple: ClassVar = 4
    trained: ClassVar[tuple[str, ...]] = ("decoder", "critic")
    training_only: ClassVar = ("critic",)
    defaults: ClassVar = RECIPE
    official: ClassVar[tuple[OfficialFile, ...]] = (
        OfficialFile("decoder", "decoder.pth", "one convolution"),
        OfficialFile("encoder", "encoder.pth", "one convolution", required=False),
    )
    published: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init__(self, *, encoder: str = "random", gain: float = 1.0, bad_at: int = -1) -> None:
        super().__init__()
        self.encoder = nn.Conv2d(3, 4, 3, padding=1).requires_grad_(requires_grad=False)
        self.decoder = nn.Sequential(nn.Dropout(0.2), nn.Conv2d(4, 3, 3, padding=1))
        self.critic = nn.Conv2d(3, 1, 4, stride=4)
        self.gain, self.bad_at = gain, bad_at
        self.prepared = 0
        self.seen: list[tuple[int, int, int]] = []
        self.made = Made("small", encoder, 0, {})

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        moved = content - content.mean((2, 3), keepdim=True) + style.mean((2, 3), keepdim=True)
        return self.decoder(self.gain * self.encoder(moved))

    def prepare(self, content: Tensor, style: Tensor) -> None:
        assert len(content) == len(style)
        self.prepared += 1

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        self.seen.append((step, len(content), len(style)))
        made = self.transfer(content, style)
        judged = self.critic(made.detach()).square().mean() + (self.critic(style) - 1).square().mean()
        yield Step(judged, {"judge": judged}, "critic")
        kept = (made - content).square().mean()
        fooled = (self.critic(made) - 1).square().mean()
        noise = torch.rand(()).mul(1e-3)  # a draw that must be the same after a resume
        wrong = float("nan") if step == self.bad_at else 0.0
        yield Step(kept + 0.1 * fooled + noise + wrong, {"kept": kept, "fooled": fooled})

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        rate = inverse_time(recipe.rate, 0.1)
        return {
            "main": Optimisation(torch.optim.Adam(trained_parameters(self, ["decoder"]), lr=1.0), rate, recipe.clip),
            "critic": Optimisation(torch.optim.SGD(self.critic.parameters(), lr=1.0, momentum=0.9), rate),
        }


class Plain(Small):
    """One loss, no dropout, no critic in the loss: gradients of parts of a batch can be compared with those of the whole."""

    trained: ClassVar = ("decoder",)

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        self.seen.append((step, len(content), len(style)))
        loss = (self.decoder[1](self.encoder(content)) - style).square().mean()
        yield Step(loss, {"loss": loss})

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        made = torch.optim.SGD(self.decoder.parameters(), lr=1.0)
        return {"main": Optimisation(made, inverse_time(recipe.rate, 0.0), recipe.clip)}


def fresh(kind: type[Small] = Small, seed: int = 0, **options: Any) -> Small:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(**options)


def trainer(
    images: Images, kind: type[Small] = Small, recipe: TrainingRecipe = RECIPE, seed: int = 0, **options: Any
) -> BaselineTrainer:
    """A trainer of a small method."""
    return BaselineTrainer(fresh(kind, **options), images, recipe, seed=seed)
