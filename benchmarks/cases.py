"""The one pair of images every arm works on, in each size and dtype, and the answer the formula gives for it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from recolorist.demo import synthetic

__all__ = ["DTYPES", "SIZES", "Case", "DType", "levels", "pair", "textbook"]

DType = Literal["uint8", "float32"]
Pixels = npt.NDArray[Any]

DTYPES: Final[tuple[DType, ...]] = ("uint8", "float32")
SIZES: Final = (64, 128, 224, 256, 512, 1024, 2048, 4096)
PAIR: Final = ((1, "north"), (2, "valley"))  # seed and scanner of the content and of the style; little is clipped
DRAWN: Final = 512  # edge of the tile that is drawn; smaller cases are cut out of it, larger ones repeat it mirrored


@dataclass(frozen=True)
class Case:
    """A content and a style image of one size and dtype: uint8 in 0…255, float32 in 0…1."""

    dtype: DType
    size: int
    content: Pixels
    style: Pixels

    @cached_property
    def jpeg(self) -> bytes:
        """The content tile as a JPEG of quality 90."""
        stream = io.BytesIO()
        Image.fromarray(_as_uint8(self.content)).save(stream, format="JPEG", quality=90)
        return stream.getvalue()

    @cached_property
    def style_mean(self) -> Pixels:
        """The style's mean per channel, in float64."""
        return np.asarray(self.style.mean((0, 1), dtype=np.float64))

    @cached_property
    def style_std(self) -> Pixels:
        """The style's population standard deviation per channel, in float64."""
        return np.asarray(self.style.std((0, 1), dtype=np.float64))

    @cached_property
    def expected(self) -> Pixels:
        """What the formula gives in float64, rounded half to even and clipped."""
        return textbook(self.content, self.style_mean, self.style_std)


def pair(dtype: DType, size: int) -> Case:
    """Draw the pair: the same tissue generator, two scanners, two seeds."""
    images = [_sized(_drawn(seed, scanner), size) for seed, scanner in PAIR]
    if dtype == "float32":
        images = [(image / np.float32(255)).astype(np.float32) for image in images]
    content, style = (np.ascontiguousarray(image) for image in images)
    return Case(dtype, size, content, style)


def textbook(content: Pixels, style_mean: Pixels, style_std: Pixels) -> Pixels:
    """Mean-and-deviation matching as a textbook writes it, in float64; same dtype out as in."""
    x = content.astype(np.float64)
    y = (x - x.mean((0, 1))) * (style_std / x.std((0, 1))) + style_mean
    if content.dtype == np.uint8:
        return np.asarray(np.clip(np.rint(y), 0, 255), np.uint8)
    return np.asarray(np.clip(y, 0, 1), content.dtype)


def levels(dtype: DType) -> float:
    """Return what turns a difference in image units into levels of 255."""
    return 1.0 if dtype == "uint8" else 255.0


@cache
def _drawn(seed: int, scanner: str) -> Pixels:
    """Draw a tile once: drawing takes longer than most of what is timed on it."""
    return synthetic.tile(seed, scanner, DRAWN)


def _sized(tile: Pixels, size: int) -> Pixels:
    """Cut a tile to `size`, or grow it by mirroring it at its edges."""
    extra = max(0, size - DRAWN)
    return np.pad(tile[:size, :size], ((0, extra), (0, extra), (0, 0)), mode="symmetric")


def _as_uint8(image: Pixels) -> Pixels:
    return image if image.dtype == np.uint8 else np.rint(image * 255).astype(np.uint8)
