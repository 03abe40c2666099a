"""Decode plain JPEG files without building Pillow's file object.

Most files of a dataset are plain: 8-bit colour with nothing beside the image but a JFIF header or a comment. The decoder and the
pixels are Pillow's own; skipping the file object saves about a tenth of decoding an image of 224 × 224.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist.io.images import refuse_huge

__all__ = ["plain_size", "read_plain_jpeg"]

_START: Final = b"\xff\xd8\xff"
_FRAMES: Final = frozenset((0xC0, 0xC1, 0xC2))  # baseline, extended and progressive, each decoded to eight bits
_SKIPPED: Final = frozenset((0xE0, 0xFE, 0xDB, 0xC4, 0xDD))  # JFIF header, comment, tables, restart interval
_BITS: Final = 8


def read_plain_jpeg(data: bytes, max_pixels: int) -> NDArray[Any] | None:
    """Decode a plain JPEG to an array (H, W, 3).

    Returns None for any other JPEG and for a damaged one. The caller then opens it with Pillow's file object, which applies the
    orientation and the profile, and whose error messages are more precise.
    """
    size = plain_size(data)
    if size is None:
        return None
    refuse_huge(size[0] * size[1], max_pixels)
    image = Image.new("RGB", size, None)  # type: ignore[arg-type,unused-ignore]  # None: not filled
    try:
        image.frombytes(data, "jpeg", "RGB", "", 1, 0)
    except (ValueError, OSError):
        return None
    return np.asarray(image)


def plain_size(data: bytes) -> tuple[int, int] | None:
    r"""Return width and height of a plain JPEG, and None for one with an orientation, a profile or other segments.

    >>> plain_size(b"\xff\xd8\xff\xc0\x00\x11\x08\x00\x04\x00\x05\x03" + bytes(9))
    (5, 4)
    """
    place, last = 2, len(data) - 10
    if not data.startswith(_START):
        return None
    while place < last and data[place] == 0xFF:
        marker = data[place + 1]
        if marker in _FRAMES:
            bits, channels = data[place + 4], data[place + 9]
            height, width = data[place + 5] << 8 | data[place + 6], data[place + 7] << 8 | data[place + 8]
            return (width, height) if (bits, channels) == (_BITS, 3) and width and height else None
        if marker not in _SKIPPED:
            return None
        place += 2 + (data[place + 2] << 8 | data[place + 3])
    return None
