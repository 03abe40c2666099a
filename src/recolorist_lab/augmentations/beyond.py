"""Colour changes that no training image shows: of an image's own style at the scale of the bank, and of a random camera."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core import image as check
from recolorist_lab.augmentations.base import Chance, inside
from recolorist_lab.augmentations.images import TrainingImages
from recolorist_lab.augmentations.table import Part
from recolorist_lab.data.pixels import Box, Bytes

__all__ = ["Camera", "StyleChange", "photograph", "symmetric_exponential"]

Matrix = NDArray[np.float64]
_FLAT: Final = 1e-6  # smallest deviation whose logarithm is taken, in units of the range


class StyleChange(Chance):
    """Change the mean and the spread of an image by a random step of the size at which the training images differ.

    With the image's mean m and covariance C, the new ones are m + d and T C T. The step d is normal, with the covariance of the
    bank's means. T is the exponential of a random symmetric matrix, whose diagonal has the variances of the bank's logarithmic
    deviations. ``scale`` multiplies both. ``least`` is the smallest deviation of each, because a bank of one laboratory has
    hardly any. ``mix`` is the deviation of the entries beside the diagonal, by which channels mix.
    """

    def __init__(self, part: Part, images: TrainingImages, seed: int) -> None:
        super().__init__(part.p, seed)
        bank = images.bank()
        scale, least = (check.number(part.options[name], 0, 100, name) for name in ("scale", "least"))
        self.mix = check.number(part.options["mix"], 0, 10, "mix")
        means = np.cov(bank.mean, rowvar=False) if len(bank) > 1 else np.zeros((3, 3))
        spread, axes = np.linalg.eigh(means)
        self.axes = axes * np.maximum(scale * np.sqrt(np.maximum(spread, 0.0)), least)
        self.gains = np.maximum(scale * np.log(np.maximum(bank.std, _FLAT)).std(axis=0), least)

    def change(self, image: Bytes, rng: np.random.Generator, index: int, box: Box | None) -> Bytes:  # noqa: ARG002
        """Draw nine numbers and match the image to its changed style."""
        step = self.axes @ rng.standard_normal(3)
        logarithm = np.diag(self.gains * rng.standard_normal(3))
        above = np.triu_indices(3, 1)
        logarithm[above] = self.mix * rng.standard_normal(3)
        matrix = symmetric_exponential(logarithm + np.triu(logarithm, 1).T)
        return inside(image, box, lambda picture: _changed(picture, step, matrix))


class Camera(Chance):
    """See the image through another camera: a gamma, a colour matrix and an offset, all drawn around the identity.

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


def symmetric_exponential(matrix: Matrix) -> Matrix:
    """Compute the exponential of a symmetric matrix.

    Args:
        matrix: A symmetric matrix.

    Returns:
        A matrix that is symmetric and positive definite.

    Example:
        >>> symmetric_exponential(np.diag([0.0, np.log(2.0)])).round(6).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    values, axes = np.linalg.eigh(matrix)
    exponential: Matrix = (axes * np.exp(np.clip(values, -3.0, 3.0))) @ axes.T
    return exponential


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


def _changed(picture: Bytes, step: Matrix, matrix: Matrix) -> Bytes:
    """Match a picture to its own style after the change; the map is then the matrix itself."""
    moments = rc.measure(picture).rescaled(1.0)
    mean = np.clip(moments.mean + step, 0.02, 0.98)
    cov = matrix @ moments.cov @ matrix
    most = mean * (1.0 - mean)  # values from 0 to 1 with this mean cannot vary more
    cov = cov * min(1.0, float((most / np.maximum(cov.diagonal(), _FLAT**2)).min()))
    style = rc.Moments(moments.count, mean, (cov + cov.T) / 2, 1.0)
    changed: Bytes = rc.match(picture, style, "covariance")
    return changed
