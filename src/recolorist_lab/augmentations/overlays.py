"""Corruptions that lie on a slide or a photograph: drops of ink, bubbles, the edge of a lens, letters.

The package that MedMNIST-C comes in has ten drawn masks of ink; ours are blobs of the same size, drawn anew each time. How opaque
bubbles are was measured on the package's output: 100/255 inside, 130/255 on the rim.
"""

from __future__ import annotations

import string
from typing import Any, Final

import cv2
import numpy as np

from recolorist_lab.augmentations.severities import Strength
from recolorist_lab.data.pixels import Bytes

__all__ = ["black_corner", "blob", "bubble", "characters", "stain_deposit"]

_BLOB: Final = 24.0  # pixels across, in an image of 224
_MARGIN: Final = 10.0
_INSIDE, _RIM = 100 / 255, 130 / 255
_LEAST_BUBBLES, _LEAST_RADIUS, _RIM_WIDTH = 7, 3, 2.0
_LEAST_LETTERS, _LEAST_FONT = 3, 0.14


def stain_deposit(image: Bytes, strength: Strength, rng: np.random.Generator, scale: float) -> Bytes:
    """Draw drops of black ink, at most as many as the strength.

    Args:
        image: The image.
        strength: The largest number of drops.
        rng: Where randomness comes from.
        scale: The image's side divided by 224.

    Returns:
        The corrupted image.
    """
    result = image.copy()
    for _ in range(int(rng.integers(1, int(strength[0]), endpoint=True))):
        corners = blob(rng, _BLOB * scale) + _draw_position(rng, image, (_MARGIN + _BLOB / 2) * scale)
        cv2.fillPoly(result, [np.rint(corners).astype(np.int32)], (0, 0, 0))
    return result


def blob(rng: np.random.Generator, across: float) -> Any:
    """Draw a rounded, irregular outline around zero.

    Args:
        rng: Where randomness comes from.
        across: About its width in pixels.

    Returns:
        Its corners.

    Example:
        >>> outline = blob(np.random.default_rng(0), 24.0)
        >>> bool(16 < np.ptp(outline[:, 0]) < 26)
        True
    """
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    waves = np.arange(2, 6)
    height, phase = rng.uniform(-0.5, 0.5, 4) / waves, rng.uniform(0, 2 * np.pi, 4)
    radius = 1 + (height * np.cos(angles[:, None] * waves + phase)).sum(axis=1)
    outline = np.stack([np.cos(angles) * radius, np.sin(angles) * radius], axis=1)
    return outline * ((across - 1) / max(np.ptp(outline[:, 0]), np.ptp(outline[:, 1])))


def bubble(image: Bytes, strength: Strength, rng: np.random.Generator, scale: float) -> Bytes:
    """Draw seven or more pale discs with a brighter rim.

    Args:
        image: The image.
        strength: The largest radius in an image of 224 pixels, and the largest number of discs.
        rng: Where randomness comes from.
        scale: The image's side divided by 224.

    Returns:
        The corrupted image.
    """
    widest, most = int(strength[0]), int(strength[1])
    height, width = image.shape[:2]
    across, down = np.arange(width), np.arange(height)[:, None]
    white = np.zeros((height, width), np.float32)
    for _ in range(int(rng.integers(_LEAST_BUBBLES, most, endpoint=True))):
        radius = float(rng.integers(_LEAST_RADIUS, widest, endpoint=True)) * scale
        x, y = _draw_position(rng, image, radius)
        distance = (across - x) ** 2 + (down - y) ** 2
        white[distance <= (radius + _RIM_WIDTH * scale) ** 2] = _RIM
        white[distance <= radius**2] = _INSIDE
    return np.asarray(np.rint(image + (255.0 - image) * white[..., None]), np.uint8)


def black_corner(image: Bytes, strength: Strength, _: np.random.Generator, __: float) -> Bytes:
    """Blacken everything outside a centred circle.

    Args:
        image: The image.
        strength: The radius as a share of half the side.

    Returns:
        The corrupted image.
    """
    height, width = image.shape[:2]
    y, x = np.arange(height)[:, None] - height // 2, np.arange(width) - width // 2
    lens = x**2 + y**2 <= int(strength[0] * min(height, width) / 2) ** 2
    return np.asarray(image * lens[..., None], np.uint8)


def characters(image: Bytes, strength: Strength, rng: np.random.Generator, scale: float) -> Bytes:
    """Write small words of random letters in a random colour.

    Args:
        image: The image.
        strength: The largest number of words, of letters in one, and the largest size of the font in an image of 224 pixels.
        rng: Where randomness comes from.
        scale: The image's side divided by 224.

    Returns:
        The corrupted image.
    """
    result = np.ascontiguousarray(image.copy())
    words, letters = int(strength[0]), int(strength[1])
    for _ in range(int(rng.integers(1, words, endpoint=True))):
        count = int(rng.integers(_LEAST_LETTERS, letters, endpoint=True))
        text = "".join(string.ascii_lowercase[letter] for letter in rng.integers(26, size=count))
        font = rng.uniform(_LEAST_FONT, max(_LEAST_FONT, strength[2])) * scale
        x, y = _draw_position(rng, image, _MARGIN * scale)
        colour = tuple(int(value) for value in rng.integers(256, size=3))
        cv2.putText(result, text, (int(x), int(y)), cv2.FONT_HERSHEY_DUPLEX, font, colour)
    return result


def _draw_position(rng: np.random.Generator, image: Bytes, margin: float) -> Any:
    """Draw a point at least so far from the edges, (x, y); the middle where there is no such point."""
    height, width = image.shape[:2]
    sides = np.array([width, height], float) - 1
    low = np.minimum(margin, sides / 2)
    return low + rng.random(2) * (sides - 2 * low)
