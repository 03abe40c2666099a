"""Colours that no training image has: those of a random camera."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist_lab.augmentations.base import Chance, inside
from recolorist_lab.augmentations.table import Part
from recolorist_lab.data.pixels import Box, Bytes

__all__ = ["Camera", "photograph"]

Matrix = NDArray[np.float64]


class Camera(Chance):
    """Change colours as another camera would: a gamma, a colour matrix and an offset, all drawn around the identity.

    Every row of the matrix has a sum that is drawn like its other entries, so grey may take a tint.
    """

    def __init__(self, part: Part, seed: int) -> None:
        super().__init__(part.p, seed)
        self.matrix, self.offset, self.gamma = (
            check.number(part.options[name], 0, 1, name) for name in ("matrix", "offset", "gamma")
        )

    def change(self, image: Bytes, rng: np.random.Generator, index: int, box: Box | None) -> Bytes:  # noqa: ARG002
        """Draw thirteen numbers and apply them."""
        matrix = np.eye(3) + self.matrix * rng.standard_normal((3, 3))
        offset = self.offset * rng.standard_normal(3)
        gamma = float(np.exp(self.gamma * rng.standard_normal()))
        return inside(image, box, lambda picture: photograph(picture, matrix, offset, gamma))


def photograph(image: Bytes, matrix: Matrix, offset: Matrix, gamma: float) -> Bytes:
    """Compute 255 (M (x / 255)^gamma + o), clipped and rounded, for every pixel x.

    Args:
        image: An 8-bit image.
        matrix: M, 3 × 3.
        offset: o, one number for each channel.
        gamma: The exponent.

    Returns:
        The 8-bit image.

    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> bool((photograph(image, np.eye(3), np.zeros(3), 1.0) == image).all())
        True
    """
    levels = ((np.arange(256) / 255.0) ** gamma * 255.0).astype(np.float32)
    r, g, b = (levels[image[..., channel]] for channel in range(3))
    result = np.empty_like(image)
    for channel in range(3):  # written out, because the last bits of a matrix product depend on the library that computes it
        row = matrix[channel].astype(np.float32)
        value = r * row[0] + g * row[1] + b * row[2] + np.float32(255.0 * offset[channel])
        result[..., channel] = np.rint(np.clip(value, 0, 255))
    return result
