"""The corruptions of MedMNIST-C, written anew for OpenCV and Pillow: no ImageMagick, no global random numbers.

Each takes an 8-bit RGB image, a strength, a generator, and the scale of the image. The scale is its side over 224, the side for
which lengths in pixels are given.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance

from recolorist_lab.augmentations import overlays
from recolorist_lab.augmentations.severities import Strength
from recolorist_lab.data.pixels import Bytes

__all__ = ["CORRUPTIONS", "Corruption", "comet"]

Corruption = Callable[[Bytes, Strength, np.random.Generator, float], Bytes]
Floats = NDArray[np.float32]

_REACH: Final = 8  # the disc of defocusing lies on a grid of 17 × 17, or larger if it must


def pixelate(image: Bytes, strength: Strength, _: np.random.Generator, __: float) -> Bytes:
    """Reduce the image to a share of its size and enlarge it again, by boxes.

    Args:
        image: The image.
        strength: The share of the size.

    Returns:
        The corrupted image.
    """
    height, width = image.shape[:2]
    small = (max(1, int(width * strength[0])), max(1, int(height * strength[0])))
    box = Image.Resampling.BOX
    return np.array(Image.fromarray(image).resize(small, box).resize((width, height), box))


def jpeg_compression(image: Bytes, strength: Strength, _: np.random.Generator, __: float) -> Bytes:
    """Store the image as a JPEG of this quality.

    Args:
        image: The image.
        strength: The quality.

    Returns:
        The corrupted image.
    """
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=int(strength[0]))
    with Image.open(file) as decoded:
        return np.array(decoded)


def gaussian_noise(image: Bytes, strength: Strength, rng: np.random.Generator, _: float) -> Bytes:
    """Add normal noise.

    Args:
        image: The image.
        strength: The deviation of the noise, as a share of the range.
        rng: Where randomness comes from.

    Returns:
        The corrupted image.
    """
    return _levels(image / np.float32(255) + _normal(rng, image.shape, strength[0]))


def speckle_noise(image: Bytes, strength: Strength, rng: np.random.Generator, _: float) -> Bytes:
    """Add normal noise in proportion to the value.

    Args:
        image: The image.
        strength: The deviation of the noise, as a share of the value.
        rng: Where randomness comes from.

    Returns:
        The corrupted image.
    """
    unit = image / np.float32(255)
    return _levels(unit + unit * _normal(rng, image.shape, strength[0]))


def impulse_noise(image: Bytes, strength: Strength, rng: np.random.Generator, _: float) -> Bytes:
    """Set a share of all values to white or black, half of them each, every channel by itself.

    Args:
        image: The image.
        strength: The share of values.
        rng: Where randomness comes from.

    Returns:
        The corrupted image.
    """
    draw = rng.random(image.shape, np.float32)
    result = image.copy()
    result[draw < strength[0] / 2] = 255
    result[draw >= 1 - strength[0] / 2] = 0
    return result


def shot_noise(image: Bytes, strength: Strength, rng: np.random.Generator, _: float) -> Bytes:
    """Draw counted photons.

    Args:
        image: The image.
        strength: How many photons make white.
        rng: Where randomness comes from.

    Returns:
        The corrupted image.
    """
    expected = np.arange(256) * (strength[0] / 255)
    return _levels(rng.poisson(expected[image]).astype(np.float32) / np.float32(strength[0]))


def gaussian_blur(image: Bytes, strength: Strength, _: np.random.Generator, scale: float) -> Bytes:
    """Blur with the largest odd kernel within this size and the deviation that torchvision gives it.

    Args:
        image: The image.
        strength: The size of the kernel in an image of 224 pixels.
        scale: The image's side divided by 224.

    Returns:
        The corrupted image.
    """
    size = 2 * math.floor((strength[0] * scale - 1) / 2) + 1
    deviation = 0.3 * ((size - 1) * 0.5 - 1) + 0.8  # given explicitly: OpenCV has other rules for small kernels
    return np.asarray(cv2.GaussianBlur(image, (size, size), deviation)) if size >= 3 else image.copy()


def defocus_blur(image: Bytes, strength: Strength, _: np.random.Generator, scale: float) -> Bytes:
    """Blur with a disc that is smoothed a little.

    Args:
        image: The image.
        strength: Radius and smoothing of the disc in an image of 224 pixels.
        scale: The image's side divided by 224.

    Returns:
        The corrupted image.
    """
    radius = strength[0] * scale
    reach = max(_REACH, math.ceil(radius))
    across = np.arange(-reach, reach + 1, dtype=np.float64)
    disc = (across[:, None] ** 2 + across**2 <= radius**2).astype(np.float32)
    kernel = cv2.GaussianBlur(disc / disc.sum(), (3, 3) if radius <= _REACH else (5, 5), strength[1] * scale or 1e-6)
    return _filtered(image, kernel, cv2.BORDER_REFLECT_101)


def motion_blur(image: Bytes, strength: Strength, rng: np.random.Generator, scale: float) -> Bytes:
    """Blur with half a Gaussian in a direction within 45 degrees of the horizontal.

    Args:
        image: The image.
        strength: Radius and deviation in an image of 224 pixels.
        rng: Where randomness comes from.
        scale: The image's side divided by 224.

    Returns:
        The corrupted image.
    """
    return _filtered(image, comet(strength[0] * scale, strength[1] * scale, rng.uniform(-45, 45)), cv2.BORDER_REPLICATE)


def comet(radius: float, sigma: float, angle: float) -> Floats:
    """Make the kernel of a moving camera: weights fall off on one side, along a line of 2 · radius + 1 pixels.

    Args:
        radius: Half the length of the line.
        sigma: The deviation of the weights.
        angle: The direction.

    Returns:
        The kernel; its sum is 1.

    Example:
        >>> [f"{weight:.2f}" for weight in comet(1, 1.0, 0.0)[2]]
        ['0.00', '0.00', '0.57', '0.35', '0.08']
    """
    length = max(1, 2 * math.ceil(radius) + 1)
    steps = np.arange(length)
    weights = np.exp(-(steps**2) / (2 * max(sigma, 1e-3) ** 2))
    down = np.ceil(steps * math.sin(math.radians(angle)) - 0.5).astype(int)
    right = np.ceil(steps * math.cos(math.radians(angle)) - 0.5).astype(int)
    kernel = np.zeros((2 * length - 1, 2 * length - 1), np.float32)
    np.add.at(kernel, (length - 1 + down, length - 1 + right), (weights / weights.sum()).astype(np.float32))
    return kernel


def zoom_blur(image: Bytes, strength: Strength, _: np.random.Generator, __: float) -> Bytes:
    """Average the image and enlarged views of its centre.

    Args:
        image: The image.
        strength: The largest factor, and the step between factors.

    Returns:
        The corrupted image.
    """
    last, step = strength
    zooms = np.arange(1.0, last + step / 2, step)
    total = image.astype(np.float32)
    for zoom in zooms:
        total += _zoomed(image, float(zoom))
    return np.asarray(cv2.convertScaleAbs(total, alpha=1.0 / (len(zooms) + 1)))


def brightness(image: Bytes, strength: Strength, _: np.random.Generator, __: float) -> Bytes:
    """Multiply all values by a factor.

    Args:
        image: The image.
        strength: The factor.

    Returns:
        The corrupted image.
    """
    return np.array(ImageEnhance.Brightness(Image.fromarray(image)).enhance(strength[0]))


def contrast(image: Bytes, strength: Strength, _: np.random.Generator, __: float) -> Bytes:
    """Multiply all distances from the mean grey by a factor.

    Args:
        image: The image.
        strength: The factor.

    Returns:
        The corrupted image.
    """
    return np.array(ImageEnhance.Contrast(Image.fromarray(image)).enhance(strength[0]))


def gamma(image: Bytes, strength: Strength, _: np.random.Generator, __: float) -> Bytes:
    """Raise all values, as shares of the range, to a power.

    Args:
        image: The image.
        strength: The power.

    Returns:
        The corrupted image.
    """
    table = np.rint(255 * (np.arange(256) / 255) ** strength[0]).astype(np.uint8)
    return table[image]


def saturate(image: Bytes, strength: Strength, _: np.random.Generator, __: float) -> Bytes:
    """Add saturation in HSV.

    Args:
        image: The image.
        strength: What is added to the saturation.

    Returns:
        The corrupted image.
    """
    hsv = cv2.cvtColor(image.astype(np.float32) / np.float32(255), cv2.COLOR_RGB2HSV)
    hsv[..., 1] = np.clip(hsv[..., 1] + strength[0], 0, 1)
    return _levels(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB))


#: What each name in the tables of severities stands for.
CORRUPTIONS: Final[Mapping[str, Corruption]] = MappingProxyType(
    {
        "pixelate": pixelate,
        "jpeg_compression": jpeg_compression,
        "gaussian_noise": gaussian_noise,
        "speckle_noise": speckle_noise,
        "impulse_noise": impulse_noise,
        "shot_noise": shot_noise,
        "gaussian_blur": gaussian_blur,
        "defocus_blur": defocus_blur,
        "motion_blur": motion_blur,
        "zoom_blur": zoom_blur,
        "brightness_up": brightness,
        "brightness_down": brightness,
        "contrast_up": contrast,
        "contrast_down": contrast,
        "gamma_corr_up": gamma,
        "gamma_corr_down": gamma,
        "saturate": saturate,
        "stain_deposit": overlays.stain_deposit,
        "bubble": overlays.bubble,
        "black_corner": overlays.black_corner,
        "characters": overlays.characters,
    }
)


def _normal(rng: np.random.Generator, shape: tuple[int, ...], deviation: float) -> Floats:
    return rng.standard_normal(shape, np.float32) * np.float32(deviation)


def _levels(unit: Any) -> Bytes:
    return np.asarray(np.rint(np.clip(unit, 0, 1) * 255), np.uint8)


def _filtered(image: Bytes, kernel: Any, border: int) -> Bytes:
    return np.asarray(cv2.filter2D(image, -1, kernel, borderType=border))


def _zoomed(image: Bytes, zoom: float) -> Any:
    """The centre, enlarged to the whole."""
    height, width = image.shape[:2]
    rows, columns = math.ceil(height / zoom), math.ceil(width / zoom)
    top, left = (height - rows) // 2, (width - columns) // 2
    size = (max(width, round(columns * zoom)), max(height, round(rows * zoom)))
    large = cv2.resize(image[top : top + rows, left : left + columns], size, interpolation=cv2.INTER_LINEAR)
    top, left = (size[1] - height) // 2, (size[0] - width) // 2
    return large[top : top + height, left : left + width]
