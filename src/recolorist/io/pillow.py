"""What PNG, JPEG and TIFF share: colour modes, orientation, and saving through Pillow."""

from __future__ import annotations

import io
import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist.errors import ImageError
from recolorist.io.reading import Reading, refuse_dtype

__all__ = ["encode_image", "pixels_of", "read_orientation", "refuse_mode", "turn_upright"]

_PLAIN: Final = ("L", "RGB", "RGBA", "I;16", "I;16B")
_CONVERTED: Final = {"1": "L", "LA": "L", "P": "RGB", "PA": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "LAB": "RGB"}
_ORIENTATION: Final = 0x0112


def pixels_of(image: Image.Image, reading: Reading) -> NDArray[Any]:
    """Decode an opened image, converting its mode where ``reading`` allows it.

    Args:
        image: The image.
        reading: The options of reading.

    Returns:
        The pixels.

    Raises:
        ImageError: If the mode is not accepted.
    """
    if image.mode == "I" and image.format == "PNG":  # 16-bit grey in older Pillows
        return np.asarray(image).astype(np.uint16)
    if image.mode not in _PLAIN:
        refuse_mode(image.mode, reading)
        image = image.convert(_CONVERTED[image.mode])
    pixels = np.asarray(image)
    refuse_dtype(pixels.dtype)
    return pixels


def refuse_mode(mode: str, reading: Reading) -> None:
    """Raise ImageError for a mode that is not accepted, or accepted only with ``convert``.

    Args:
        mode: Pillow's name of the mode.
        reading: The options of reading.

    Raises:
        ImageError: The mode is not accepted.
    """
    if reading.convert and mode in _CONVERTED:
        return
    hint = "pass convert=True to turn it into grey or RGB" if mode in _CONVERTED else "convert it first"
    raise ImageError(f"it has mode {mode!r}; accepted are grey, RGB and RGBA: {hint}")


def encode_image(pixels: NDArray[Any], form: str, depths: tuple[int, ...], dtypes: tuple[str, ...], **options: Any) -> bytes:
    """Encode pixels through Pillow, after checking that the format can hold them.

    Args:
        pixels: The pixels, (H, W) or (H, W, C).
        form: Pillow's name of the format.
        depths: Numbers of channels it can hold.
        dtypes: Names of the dtypes it can hold.
        **options: Options of Pillow.

    Returns:
        The bytes of the file.

    Raises:
        ImageError: The format cannot hold the pixels.
    """
    depth = pixels.shape[2] if pixels.ndim == 3 else 1
    if depth not in depths or pixels.dtype.name not in dtypes:
        raise ImageError(f"{form} cannot hold {depth} channel(s) of {pixels.dtype}; write a .tif or .npy instead")
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(pixels.dtype.newbyteorder("="), copy=False)).save(buffer, form, **options)
    return buffer.getvalue()


def read_orientation(exif: bytes) -> int:
    r"""Return the orientation (1 to 8) of an EXIF block; 1 if it is missing or damaged.

    Args:
        exif: The block.

    Returns:
        A number from 1 to 8.

    Example:
        >>> read_orientation(b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0")
        6
    """
    block = exif.removeprefix(b"Exif\0\0")
    order = {b"II": "<", b"MM": ">"}.get(block[:2])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}4xI", block)
        (count,) = struct.unpack_from(f"{order}H", block, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", block, entry)
            if tag == _ORIENTATION and kind == 3:
                return int(value) if 1 <= value <= 8 else 1
    except struct.error:
        return 1
    return 1


def turn_upright(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Undo the orientation of the camera; numbers outside 1 to 8 change nothing.

    Args:
        pixels: The pixels, (H, W) or (H, W, C).
        orientation: The number that EXIF gives.

    Returns:
        The pixels, upright.

    Example:
        >>> turn_upright(np.array([[1, 2]], np.uint8), 6).tolist()
        [[1], [2]]
    """
    if orientation not in range(2, 9):
        return pixels
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)
