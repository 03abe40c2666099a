"""Targeted augmentation: in each image one corruption that its kind of image meets in practice, or none (MedMNIST-C)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recolorist.errors import OptionError
from recolorist_lab.augmentations.base import Chance
from recolorist_lab.augmentations.corruptions import CORRUPTIONS
from recolorist_lab.augmentations.severities import SET_OF, SETS, Levels, Strength
from recolorist_lab.augmentations.table import Part
from recolorist_lab.data.pixels import Box, Bytes
from recolorist_lab.runs.config import unknown

__all__ = ["IDENTITY", "Targeted", "corruptions_for", "draw_strength"]

IDENTITY = "identity"


class Targeted(Chance):
    """One entry of the set, or the image as it is, all equally likely; each parameter uniform between its first and last value.

    ``corruptions`` names a set, or ``auto`` takes that of the dataset. Lengths in pixels are meant for images of ``reference``
    pixels and scaled to the image's own side; ``reference=0`` takes them as they are.
    """

    def __init__(self, part: Part, dataset: str, seed: int) -> None:
        """Find the set of corruptions."""
        super().__init__(part.p, seed)
        self.corruptions: Mapping[str, Levels] = dict(SETS[corruptions_for(dataset, str(part.options["corruptions"]))])
        self.names = (*self.corruptions, IDENTITY)
        self.reference = int(part.options["reference"])
        if self.reference < 0:
            raise OptionError(f"reference={self.reference}; accepted is a side in pixels, or 0 to leave lengths as they are")

    def change(self, image: Bytes, rng: np.random.Generator, index: int, box: Box | None) -> Bytes:  # noqa: ARG002
        """Draw a corruption and apply it."""
        name, strength = self.draw(rng)
        if name == IDENTITY:
            return image
        scale = max(image.shape[:2]) / self.reference if self.reference else 1.0
        return CORRUPTIONS[name](image, strength, rng, scale)

    def draw(self, rng: np.random.Generator) -> tuple[str, Strength]:
        """Draw a corruption and its strength.

        Args:
            rng: Where randomness comes from.

        Returns:
            The name of the corruption, and its strength.
        """
        name = self.names[int(rng.integers(len(self.names)))]
        return name, () if name == IDENTITY else draw_strength(self.corruptions[name], rng)


def corruptions_for(dataset: str, name: str = "auto") -> str:
    """Return the set of corruptions of a dataset.

    Args:
        dataset: The dataset as a configuration names it.
        name: The name of a set; ``"auto"`` for that of the dataset.

    Returns:
        The name of the set.

    Raises:
        OptionError: No set is known.

    Example:
        >>> corruptions_for("camelyon17"), corruptions_for("my_slides", "pathmnist")
        ('pathmnist', 'pathmnist')
    """
    if name != "auto":
        unknown([name], SETS, "the corruptions of targeted")
        return name
    if dataset not in SET_OF:
        raise OptionError(
            f"no set of corruptions is known for the dataset {dataset!r}; name one, such as "
            f"\"targeted(corruptions='bloodmnist')\", of {', '.join(SETS)}"
        )
    return SET_OF[dataset]


def draw_strength(levels: Levels, rng: np.random.Generator) -> Strength:
    """Draw each parameter by itself, uniform between its first and last value.

    Args:
        levels: The levels of a corruption, the weakest first.
        rng: Where randomness comes from.

    Returns:
        The strength.

    Example:
        >>> draw_strength(((50.0,), (7.0,)), np.random.default_rng(0))[0] < 50
        True
    """
    pairs = zip(levels[0], levels[-1], strict=True)
    return tuple(float(rng.uniform(min(first, last), max(first, last))) for first, last in pairs)
