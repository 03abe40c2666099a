"""HED jitter: separate the dyes in optical density, take a little more or less of each, and put them together again."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist_lab.augmentations.base import Chance
from recolorist_lab.augmentations.table import Part
from recolorist_lab.data.pixels import Box, Bytes

__all__ = ["HedJitter", "jitter_dyes"]

Matrix = NDArray[np.float64]

# Black has no density; a quarter of a level stands in for it, and rounds back to black.
_DENSITY: Final = -np.log(np.maximum(np.arange(256), 0.25) / 255.0).astype(np.float32)


class HedJitter(Chance):
    """Scale each dye by a factor within 1 ± ``scale``, and shift it within ± ``shift``.

    Shifts are of optical density, by the natural logarithm.
    """

    def __init__(self, part: Part, seed: int) -> None:
        """Take the matrix of haematoxylin, eosin and DAB (Ruifrok and Johnston) from scikit-image."""
        super().__init__(part.p, seed)
        self.scale = check.number(part.options["scale"], 0, 1, "scale")
        self.shift = check.number(part.options["shift"], 0, 1, "shift")

    def change(self, image: Bytes, rng: np.random.Generator, index: int, box: Box | None) -> Bytes:  # noqa: ARG002
        """Draw six numbers and apply them."""
        factors, shifts = 1.0 + self.scale * rng.uniform(-1, 1, 3), self.shift * rng.uniform(-1, 1, 3)
        return jitter_dyes(image, factors, shifts)


def jitter_dyes(image: Bytes, factors: Any, shifts: Any) -> Bytes:
    """Scale and shift the amount of each dye. The three steps are one 3 × 3 map of densities.

    Args:
        image: An 8-bit image.
        factors: One for each dye.
        shifts: One for each dye.

    Returns:
        The 8-bit image.

    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> bool((jitter_dyes(image, (1, 1, 1), (0, 0, 0)) == image).all())
        True
    """
    from skimage.color import hed_from_rgb, rgb_from_hed

    matrix = ((hed_from_rgb * np.asarray(factors)) @ rgb_from_hed).astype(np.float32)
    offset = (np.asarray(shifts) @ rgb_from_hed).astype(np.float32)
    r, g, b = (_DENSITY[image[..., channel]] for channel in range(3))
    result = np.empty_like(image)
    for channel in range(3):  # written out, because the last bits of a matrix product depend on the library that computes it
        density = r * matrix[0, channel] + g * matrix[1, channel] + b * matrix[2, channel] + offset[channel]
        result[..., channel] = np.rint(np.minimum(np.exp(-density) * np.float32(255), 255))
    return result
