"""The distortions with which SGViTs is trained, each with a low probability.

First come elastic distortion, grid distortion, mirroring and rotation, each with a probability of one tenth. Then there are five
groups (blur, noise, quality, colour, brightness). One member of each is applied with a probability of one tenth. The groups and
the probabilities are the released ones. Members and strengths are ours: one of the milder levels of MedMNIST-C, since the
released lists are those of another package's defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from recolorist_lab.augmentations.corruptions import CORRUPTIONS
from recolorist_lab.data.pixels import Bytes

__all__ = ["GROUPS", "distort"]

_RARELY: Final = 0.1
_SIDE: Final = 224  # for which lengths in pixels are given
_CELLS: Final = 5  # of the distorted grid, a side
_STRETCH: Final = 0.3  # by which a cell of the grid grows or shrinks at most
_ELASTIC: Final = 0.02  # largest displacement, as a share of the side

#: Members of each group and their strengths.
GROUPS: Final[dict[str, dict[str, tuple[float, ...]]]] = {
    "blur": {"gaussian_blur": (7.0,), "motion_blur": (5.0, 3.0), "defocus_blur": (2.0, 0.1)},
    "noise": {"gaussian_noise": (0.04,), "speckle_noise": (0.08,), "shot_noise": (400.0,)},
    "quality": {"jpeg_compression": (50.0,), "pixelate": (0.6,)},
    "colour": {"saturate": (0.1,), "gamma_corr_up": (1.2,), "gamma_corr_down": (0.8,)},
    "brightness": {"brightness_up": (1.2,), "brightness_down": (0.8,), "contrast_up": (1.2,), "contrast_down": (0.8,)},
}


def distort(image: Bytes, random: np.random.Generator) -> Bytes:
    """Apply each distortion with its probability.

    Args:
        image: (H, W, 3).
        random: Source of every draw; as many are made whatever is applied, so nothing else shifts.

    Returns:
        An image of the same shape; the same pixels if nothing was drawn.

    Example:
        >>> distort(np.zeros((8, 8, 3), np.uint8), np.random.default_rng(0)).shape
        (8, 8, 3)
    """
    for apply in _GEOMETRY:
        rng = np.random.default_rng(random.integers(2**63))
        if rng.random() < _RARELY:
            image = apply(image, rng)
    scale = max(image.shape[:2]) / _SIDE
    for members in GROUPS.values():
        rng = np.random.default_rng(random.integers(2**63))
        if rng.random() < _RARELY:
            name = list(members)[int(rng.integers(len(members)))]
            image = CORRUPTIONS[name](image, members[name], rng, scale)
    return np.ascontiguousarray(image)


def _elastic(image: Bytes, random: np.random.Generator) -> Bytes:
    """Move every pixel by a smooth random field."""
    height, width = image.shape[:2]
    reach = _ELASTIC * max(height, width)
    fields = [cv2.GaussianBlur(random.uniform(-1, 1, (height, width)).astype(np.float32), (0, 0), 2 * reach) for _ in range(2)]
    across, down = (field / max(float(np.abs(field).max()), 1e-6) * reach for field in fields)
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    return _sampled(image, columns + across, rows + down)


def _grid(image: Bytes, random: np.random.Generator) -> Bytes:
    """Stretch and shrink the rows and columns of a coarse grid."""
    height, width = image.shape[:2]
    columns, rows = (_stretched(side, random) for side in (width, height))
    return _sampled(image, np.broadcast_to(columns, (height, width)), np.broadcast_to(rows[:, None], (height, width)))


def _stretched(side: int, random: np.random.Generator) -> NDArray[np.float32]:
    """Return the source positions of a line whose cells have random widths."""
    widths = random.uniform(1 - _STRETCH, 1 + _STRETCH, _CELLS)
    ends = np.concatenate([[0.0], np.cumsum(widths) / widths.sum()]) * (side - 1)
    return np.asarray(np.interp(np.arange(side), np.linspace(0, side - 1, _CELLS + 1), ends), np.float32)


def _mirrored(image: Bytes, random: np.random.Generator) -> Bytes:
    return image[:, ::-1] if random.random() < 0.5 else image[::-1]


def _rotated(image: Bytes, random: np.random.Generator) -> Bytes:
    """Rotate by up to 90 degrees, with mirrored corners."""
    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), random.uniform(-90, 90), 1.0)
    return np.asarray(cv2.warpAffine(image, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101))


def _sampled(image: Bytes, columns: Any, rows: Any) -> Bytes:
    return np.asarray(
        cv2.remap(
            np.ascontiguousarray(image),
            np.ascontiguousarray(columns, np.float32),
            np.ascontiguousarray(rows, np.float32),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REFLECT_101,
        )
    )


_GEOMETRY: Final[tuple[Callable[[Bytes, np.random.Generator], Bytes], ...]] = (_elastic, _grid, _mirrored, _rotated)
