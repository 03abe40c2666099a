"""Convert stored pixels to the input of a network: 8-bit RGB of one size, squashed or letterboxed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist.errors import ImageError, OptionError

__all__ = ["Box", "Bytes", "Resize", "digest_of", "resize_square", "shape_of", "to_rgb8"]

Bytes: TypeAlias = NDArray[np.uint8]
Box: TypeAlias = tuple[int, int, int, int]  # x0, y0, x1, y1
Resize: TypeAlias = Literal["squash", "letterbox"]


def shape_of(pixels: NDArray[Any]) -> str:
    """Return height, width and channels as a manifest holds them.

    Args:
        pixels: The image.

    Returns:
        A text such as ``28x28x3``.

    Example:
        >>> shape_of(np.zeros((28, 20), np.uint8)), shape_of(np.zeros((28, 20, 3), np.uint8))
        ('28x20x1', '28x20x3')
    """
    return "x".join(map(str, pixels.shape if pixels.ndim > 2 else (*pixels.shape, 1)))


def digest_of(stored: NDArray[Any] | Path) -> str:
    """Hash an image as it is stored.

    Args:
        stored: The file, whose bytes count, or the pixels of a row of an array.

    Returns:
        A BLAKE2 in 32 hexadecimal digits.

    Example:
        >>> digest_of(np.zeros((2, 2), np.uint8)) == digest_of(np.ones((2, 2), np.uint8))
        False
    """
    if isinstance(stored, Path):
        with stored.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    return hashlib.blake2b(np.ascontiguousarray(stored).data, digest_size=16).hexdigest()


def to_rgb8(pixels: NDArray[Any]) -> Bytes:
    """Convert an image to 8-bit RGB: grey is repeated, alpha dropped, 16 bits are rounded to 8.

    Args:
        pixels: Grey, RGB or RGBA of 8 or 16 bits.

    Returns:
        The image, `(H, W, 3)`.

    Raises:
        ImageError: It is of another type or shape.

    Example:
        >>> to_rgb8(np.array([[0, 65535]], np.uint16)).tolist()
        [[[0, 0, 0], [255, 255, 255]]]
    """
    if pixels.dtype == np.uint16:
        pixels = np.rint(pixels / 257.0).astype(np.uint8)
    if pixels.dtype != np.uint8:
        raise ImageError(f"its pixels are {pixels.dtype}; the loader takes 8 and 16 bits")
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4):
        raise ImageError(f"its shape is {pixels.shape}; the loader takes grey, RGB and RGBA")
    if pixels.shape[2] == 1:
        return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))
    return np.ascontiguousarray(pixels[..., :3])


def resize_square(image: Bytes, size: int | None, how: Resize = "squash") -> tuple[Bytes, Box]:
    """Resize an image to a square, bilinear.

    ``squash`` fills the square; ``letterbox`` keeps the shape, centred on black, so colour statistics belong to the box only.

    Args:
        image: The image.
        size: Side of the square; None keeps the image as it is.
        how: ``"squash"`` or ``"letterbox"``.

    Returns:
        The square, and the box in which the picture lies.

    Raises:
        OptionError: The side or the way is not accepted.

    Example:
        >>> canvas, box = resize_square(np.full((10, 20, 3), 200, np.uint8), 8, "letterbox")
        >>> canvas.shape, box, int(canvas[0].max()), int(canvas[4].min())
        ((8, 8, 3), (0, 2, 8, 6), 0, 200)
    """
    height, width = image.shape[:2]
    if how not in ("squash", "letterbox"):
        raise OptionError(f"resize={how!r}; accepted are 'squash' and 'letterbox'")
    if size is None:
        return image, (0, 0, width, height)
    if size < 1:
        raise OptionError(f"size={size}; accepted are whole numbers from 1, or None to keep the size")
    if how == "squash" or height == width:
        return _bilinear(image, size, size), (0, 0, size, size)
    scale = size / max(height, width)
    rows, columns = max(1, round(height * scale)), max(1, round(width * scale))
    top, left = (size - rows) // 2, (size - columns) // 2
    canvas = np.zeros((size, size, 3), np.uint8)
    canvas[top : top + rows, left : left + columns] = _bilinear(image, rows, columns)
    return canvas, (left, top, left + columns, top + rows)


def _bilinear(image: Bytes, rows: int, columns: int) -> Bytes:
    if image.shape[:2] == (rows, columns):
        return image
    return np.asarray(Image.fromarray(image).resize((columns, rows), Image.Resampling.BILINEAR))
