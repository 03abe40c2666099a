"""Keep the weights of the epoch with the lowest loss on validation images."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor

from recolorist_lab.baselines import store
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.crops import Images, Loader
from recolorist_lab.baselines.recipe import TrainingRecipe

__all__ = ["Selection", "validation_recipe"]

_PREFIX: Final = "best/"
_CONTENT, _STYLE = 4, 5  # shuffles of their own


class Selection:
    """The best weights so far, and their loss.

    Attributes:
        loss: The lowest mean loss on the validation images, infinite before the first epoch has ended.
        step: The number of steps after which it was measured.
    """

    def __init__(self, model: Baseline, images: Images, recipe: TrainingRecipe, *, seed: int, threads: int = 1) -> None:
        """Prepare to measure a model; its training state is not touched."""
        self.model, self.recipe, self.seed, self.size = model, validation_recipe(recipe), seed, len(images)
        self.draws = model.draws(self.recipe)
        distinct = max(self.draws) if model.distinct_draws else 0
        self.loader = Loader(images, self.recipe, seed=seed, distinct=distinct, threads=threads)
        self.loss, self.step = math.inf, 0
        self._tensors: dict[str, Tensor] = {}

    def measure(self, device: torch.device) -> float:
        """Return the mean loss over the validation images: the same crops and the same random numbers every time.

        Args:
            device: Where to compute.

        Returns:
            The loss.
        """
        contents, styles = self.draws
        total, batches = 0.0, max(1, math.ceil(self.size / contents))
        training = self.model.training
        self.model.eval()
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch.no_grad():
            torch.manual_seed(self.seed)
            for number in range(batches):
                content = self.loader.batch(_CONTENT, number * contents, contents).to(device)
                style = self.loader.batch(_STYLE, number * styles, styles).to(device) if self.recipe.paired else content
                total += sum(float(step.loss) for step in self.model.training_step(content, style, number + 1))
        self.model.train(training)
        return total / batches

    def offer(self, step: int, device: torch.device) -> None:
        """Measure the model as it is after a step, and keep its weights if none were better.

        Args:
            step: The number of the step.
            device: Where to compute.
        """
        loss = self.measure(device)
        if loss < self.loss:
            self.loss, self.step = loss, step
            self._tensors = {name: value.clone() for name, value in self._current().items()}

    def use(self) -> None:
        """Give the model the best weights."""
        if self._tensors:
            store.put(self.model, self._tensors, self.model.trained_parts(), "the best epoch")

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the tensors and the numbers that :meth:`restore` needs.

        Returns:
            Tensors by name, and numbers by name.
        """
        numbers = {"loss": self.loss, "step": self.step} if self._tensors else {}
        return {f"{_PREFIX}{name}": value for name, value in self._tensors.items()}, numbers

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Continue from a state.

        Args:
            tensors: As :meth:`state` returned them.
            numbers: As :meth:`state` returned them.
        """
        self._tensors = {name.removeprefix(_PREFIX): value for name, value in tensors.items() if name.startswith(_PREFIX)}
        self.loss, self.step = float(numbers.get("loss", math.inf)), int(numbers.get("step", 0))

    def close(self) -> None:
        """Stop the threads that read images."""
        self.loader.close()

    def _current(self) -> dict[str, Tensor]:
        return store.named_tensors(self.model, self.model.trained_parts())


def validation_recipe(recipe: TrainingRecipe) -> TrainingRecipe:
    """Return the recipe with a view in which nothing is random.

    Args:
        recipe: The recipe of the training.

    Returns:
        The recipe of the validation.

    Example:
        >>> validation_recipe(TrainingRecipe(view="distorted_crop")).view, validation_recipe(TrainingRecipe(view="padded")).view
        ('centre_crop', 'padded')
    """
    fixed = {"resized_crop": "centre_crop", "distorted_crop": "centre_crop", "padded": "padded"}
    return replace(recipe, view=fixed.get(recipe.view, "whole"))
