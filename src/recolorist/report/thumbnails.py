"""Small pictures for reports: any image as 8-bit RGB, reduced, alone or side by side."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from recolorist.core.image import NATURAL_RANGE

__all__ = ["data_uri", "outline_losses", "side_by_side", "to_rgb"]

_PANEL: Final = 512  # largest side of one picture of a triptych
_WIDEST: Final = 4 * _PANEL  # of a picture that is much wider than high; enlarged to the others' height it could fill the memory
_GAP, _HEAD = 12, 30
_LOST: Final = (255, 0, 200)  # a colour that neither stains nor retinas have
_INK, _PAPER = "#1c2530", "#ffffff"


def to_rgb(pixels: NDArray[Any], data_range: float | None = None) -> NDArray[np.uint8]:
    """Convert any image to 8-bit RGB for viewing.

    Args:
        pixels: The image; of four or more channels the first three are shown, of two the first.
        data_range: The level that becomes white; by default that of the dtype.

    Returns:
        The picture as 8-bit RGB.

    Example:
        >>> to_rgb(np.array([[0, 65535]], np.uint16)).tolist()
        [[[0, 0, 0], [255, 255, 255]]]
    """
    high = data_range or NATURAL_RANGE.get(pixels.dtype.char, 1.0)
    colour = pixels[..., None] if pixels.ndim == 2 else pixels[..., :3]
    if colour.shape[-1] != 3:
        colour = np.repeat(colour[..., :1], 3, axis=-1)
    if colour.dtype == np.uint8 and high == 255:
        return np.ascontiguousarray(colour)
    scaled = np.nan_to_num(colour.astype(np.float64) * (255.0 / high))
    return np.rint(np.clip(scaled, 0, 255)).astype(np.uint8)


def side_by_side(pictures: list[tuple[str, NDArray[Any]]]) -> NDArray[np.uint8]:
    """Put pictures in a row, each under its name, scaled to one height; a very wide one stays lower.

    Args:
        pictures: Name and pixels of each.

    Returns:
        One picture, 8-bit RGB.

    Example:
        >>> side_by_side([("a", np.zeros((20, 30), np.uint8)), ("b", np.zeros((40, 30), np.uint8))]).shape
        (82, 126, 3)
    """
    images = [Image.fromarray(to_rgb(pixels)) for _, pixels in pictures]
    height = min(_PANEL, max(image.height for image in images))
    scaled = [_to_height(image, height) for image in images]
    width = sum(image.width for image in scaled) + _GAP * (len(scaled) + 1)
    sheet = Image.new("RGB", (width, height + _HEAD + _GAP), _PAPER)
    draw, left = ImageDraw.Draw(sheet), _GAP
    for (name, _), image in zip(pictures, scaled, strict=True):
        draw.text((left, 21), name, _INK, ImageFont.load_default(size=16), anchor="ls")
        sheet.paste(image, (left, _HEAD))
        left += image.width + _GAP
    return np.asarray(sheet)


def data_uri(pixels: NDArray[Any], side: int, data_range: float | None = None, loss_map: Sequence[str] = ()) -> str:
    """Return a reduced copy as JPEG, as the address of an image inside a page.

    Args:
        pixels: The image.
        side: Length of its longer side in the page.
        data_range: The level that becomes white; by default that of the dtype.
        loss_map: The map of an audit; patches that lost more than half of their detail are outlined.

    Example:
        >>> data_uri(np.zeros((20, 30, 3), np.uint8), 16)[:23]
        'data:image/jpeg;base64,'
    """
    image = Image.fromarray(to_rgb(pixels, data_range))
    image.thumbnail((side, side), Image.Resampling.BOX)
    outline_losses(image, loss_map)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=88)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def outline_losses(image: Image.Image, loss_map: Sequence[str]) -> None:
    """Outline the patches of a picture that lost more than half of their detail.

    Args:
        image: The picture, which is drawn on.
        loss_map: The map of an audit: a line for each row of patches, a digit for each patch.

    Example:
        >>> picture = Image.new("RGB", (20, 20))
        >>> outline_losses(picture, ["09", "00"])
        >>> picture.getpixel((10, 0)), picture.getpixel((0, 0))
        ((255, 0, 200), (0, 0, 0))
    """
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(loss_map):
        for column, digit in enumerate(line):
            if digit >= "5":  # a dot sorts before every digit
                left, right = (round((column + k) * image.width / len(line)) for k in (0, 1))
                top, bottom = (round((row + k) * image.height / len(loss_map)) for k in (0, 1))
                draw.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), outline=_LOST)


def _to_height(image: Image.Image, height: int) -> Image.Image:
    scale = min(height / image.height, _WIDEST / image.width)
    if scale == 1:
        return image
    filtering = Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.NEAREST
    return image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))), filtering)
