"""How a network is trained: batch, length, crops, learning rate and which weights are kept. No framework is needed to read it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Final, TypeAlias

from recolorist.errors import OptionError

__all__ = ["KEPT", "VIEWS", "Rate", "TrainingRecipe", "constant", "cosine_by_epoch", "inverse_time"]

Rate: TypeAlias = Callable[[int], float]

#: How a training image becomes a crop. Every random number is keyed by (seed, shuffle, draw).
VIEWS: Final = (
    "crop",  # resized to load_size × load_size, ratio not kept, then a random square of crop_size
    "crop_turned",  # as 'crop', then a random quarter turn and a random mirror image
    "resized_crop",  # 8 to 100 % of the area with a ratio from 3:4 to 4:3, resized to crop_size, bicubic
    "whole",  # resized to crop_size × crop_size, nothing random
    "centre_crop",  # resized to 8/7 of crop_size a side, then the square in the middle, nothing random
    "padded",  # the longer side resized to crop_size, the other filled up with black on both sides, nothing random
    "grown_crop",  # doubled until a crop fits, halved while a side is over 1,800 pixels, then a random square of crop_size
    "distorted_crop",  # as 'resized_crop', then the rare distortions of SGViTs; see `networks.sgvits_distortions`
)

#: Which weights a training keeps: those after the last step, or those of the epoch with the lowest loss on the validation split.
KEPT: Final = ("last", "best")


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """A training run of one method.

    ``batch`` is the number of images of an optimiser's step; with ``accumulate`` above 1 it is processed in that many equal
    parts, whose gradients are averaged. ``iterations`` counts optimiser steps. A method whose authors count ``epochs`` says so;
    the trainer then works out ``iterations`` and fills in ``epoch_steps`` from the number of images. ``clip`` is the largest norm
    of the gradient, 0 for no limit. ``decay`` is that of :func:`inverse_time`. ``paired=False`` means that the method finds its
    styles within the batch: only contents are drawn, and ``style`` is the same tensor as ``content``. ``keep`` is one of
    :data:`KEPT`. ``rate_depends_on_length`` says that the learning rate of a step depends on how many steps there will be.
    """

    batch: int = 8
    iterations: int = 160_000
    load_size: int = 512
    crop_size: int = 256
    rate: float = 1e-4
    decay: float = 5e-5
    clip: float = 0.0
    accumulate: int = 1
    epochs: int | None = None
    epoch_steps: int | None = None
    view: str = "crop"
    paired: bool = True
    keep: str = "last"
    rate_depends_on_length: bool = False

    def __post_init__(self) -> None:
        for name in ("batch", "iterations", "load_size", "crop_size", "accumulate"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}; accepted are whole numbers from 1")
        if not 0 < self.rate < math.inf:
            raise OptionError(f"rate={self.rate}; accepted are positive numbers")
        if not 0 <= self.clip < math.inf:
            raise OptionError(f"clip={self.clip}; accepted are numbers from 0, and 0 for no limit of the gradient's norm")
        for name, accepted in (("view", VIEWS), ("keep", KEPT)):
            if getattr(self, name) not in accepted:
                raise OptionError(f"{name}={getattr(self, name)!r}; accepted are {', '.join(accepted)}")
        if self.view.startswith("crop") and self.crop_size > self.load_size:
            raise OptionError(
                f"crop_size={self.crop_size} does not fit into load_size={self.load_size}; raise load_size or lower crop_size"
            )
        if self.batch % self.accumulate:
            raise OptionError(
                f"batch={self.batch} cannot be divided into accumulate={self.accumulate} equal parts; choose a multiple of it"
            )

    def but(self, **changes: object) -> TrainingRecipe:
        """Return this recipe with some values replaced; ``None`` leaves a value as it is, ``clip=0`` switches clipping off.

        Returns:
            The new recipe.

        Raises:
            OptionError: A recipe holds nothing of that name.

        Example:
            >>> TrainingRecipe().but(batch=2, iterations=None).batch
            2
        """
        names = {field.name for field in fields(self)}
        for name in changes:
            if name not in names:
                raise OptionError(f"{name!r} is not a value of a recipe; accepted are {', '.join(sorted(names))}")
        return replace(self, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]

    def by_iterations(self) -> TrainingRecipe:
        """Return the same recipe counted in iterations, also where the method's authors count epochs.

        Returns:
            The recipe.
        """
        return replace(self, epochs=None)

    def described(self) -> dict[str, object]:
        """Return the values to show: the length once, in the authors' unit, without values that are computed later.

        Returns:
            The values by name.

        Example:
            >>> "iterations" in TrainingRecipe(epochs=5).described(), "epochs" in TrainingRecipe().described()
            (False, False)
        """
        hidden = ("iterations" if self.epochs else "epochs", "epoch_steps")
        return {name: value for name, value in asdict(self).items() if name not in hidden}

    @property
    def laps(self) -> int:
        """The number of epochs to plan for: as given, or as many as the iterations begin."""
        return self.epochs or max(1, math.ceil(self.iterations / (self.epoch_steps or 1)))

    def resolved(self, images: int) -> TrainingRecipe:
        """Return the recipe with epochs turned into iterations for this many training images.

        Args:
            images: How many training images there are.

        Returns:
            The recipe.

        Example:
            >>> TrainingRecipe(batch=64, epochs=50).resolved(1_000).iterations
            800
        """
        steps = max(1, math.ceil(images / self.batch))
        iterations = self.iterations if self.epochs is None else self.epochs * steps
        return replace(self, iterations=iterations, epoch_steps=steps)


def inverse_time(rate: float, decay: float) -> Rate:
    """Return the rate ``rate / (1 + decay × step)`` of the AdaIN family.

    Args:
        rate: At the first step.
        decay: How fast it falls.

    Returns:
        The rate by number of step.

    Example:
        >>> inverse_time(1e-4, 5e-5)(20_000)
        5e-05
    """
    return lambda step: rate / (1.0 + decay * step)


def constant(rate: float) -> Rate:
    """Return one rate for every step.

    Args:
        rate: The rate.

    Returns:
        The rate by number of step.

    Example:
        >>> constant(1e-4)(7)
        0.0001
    """
    return lambda _: rate


def cosine_by_epoch(rate: float, epochs: int, epoch_steps: int) -> Rate:
    """Return half a cosine down to zero, changed between epochs only.

    Args:
        rate: At the first step.
        epochs: How many there are.
        epoch_steps: Steps of an epoch.

    Returns:
        The rate by number of step.

    Example:
        >>> [round(cosine_by_epoch(1.0, 2, 3)(step), 3) for step in range(6)]
        [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
    """
    return lambda step: 0.5 * rate * (1.0 + math.cos(math.pi * min(step // epoch_steps, epochs) / epochs))
