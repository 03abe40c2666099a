"""The pixels of a Pillow image where Pillow keeps them, without a copy, through the Arrow C data interface.

Pillow stores RGB as four bytes a pixel, the last one padding. Copying a decoded JPEG into three costs a tenth of decoding it.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image


class _Array(ctypes.Structure):
    """Where an array lies; the fields are Arrow's."""


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
]


class _Shared:
    """Tells NumPy where the pixels are; the array refers to it, and it to the owner of the memory."""

    def __init__(self, address: int, shape: tuple[int, ...], owner: object) -> None:
        read_only = True
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": shape, "data": (address, read_only)}
        self.owner = owner


def padded_pixels(image: Image.Image) -> NDArray[np.uint8] | None:
    """A decoded RGB image as a read-only array (H, W, 4), the last channel meaningless; None where that takes a copy.

    Older Pillows do not offer it, and large images lie in several pieces.

    >>> pixels = padded_pixels(Image.new("RGB", (5, 4), "red"))
    >>> pixels is None or (pixels.shape, pixels[0, 0, :3].tolist()) == ((4, 5, 4), [255, 0, 0])
    True
    """
    if image.mode != "RGB" or _pointer is None:
        return None
    try:
        _, array = image.__arrow_c_array__()  # type: ignore[attr-defined,unused-ignore]  # since Pillow 11.2
    except (AttributeError, ValueError):
        return None
    place = _Array.from_address(_pointer(array, b"arrow_array"))
    if place.n_children != 1:
        return None
    width, height = image.size
    values = place.children[0].contents
    if values.length != 4 * width * height or values.n_buffers != 2 or place.offset or values.offset:
        return None  # not the lists of four bytes that are expected
    return np.asarray(_Shared(values.buffers[1], (height, width, 4), array))


def _capsule_reader() -> Any:
    """CPython's way to look into a capsule; None on a Python without it."""
    try:
        return ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    except AttributeError:
        return None


_pointer: Final = _capsule_reader()
