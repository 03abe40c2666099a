"""Images for tests: deliberately non-square, of awkward sizes and contents, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Image = NDArray[Any]

DTYPES: Final = ("uint8", "uint16", "float32", "float64")
INTEGERS: Final = ("uint8", "uint16")
FLOATS: Final = ("float32", "float64")
HIGHEST: Final = {"uint8": 255.0, "uint16": 65535.0, "float16": 1.0, "float32": 1.0, "float64": 1.0}
CHANNELS: Final = (1, 2, 3, 4, 9)
# no square but the single pixel, so that exchanged axes cannot hide; 32, 33, 96 and 97 lie round the lanes of the loops
SHAPES: Final = ((1, 1), (1, 2), (1, 33), (97, 1), (2, 3), (3, 32), (7, 5), (5, 19), (8, 12), (13, 29), (31, 17))
PATTERNS: Final = ("uniform", "narrow", "dark", "bright", "skewed", "ramp", "extremes", "nearly_flat", "flat")


def build(pattern: str, shape: tuple[int, ...], dtype: str, seed: int) -> Image:
    """One image, values within the natural range of the dtype."""
    rng = np.random.default_rng(seed)
    values = _share(pattern, shape, rng)
    if dtype in INTEGERS:
        return np.asarray(np.rint(values * HIGHEST[dtype]), dtype=dtype)
    return values.astype(dtype)


def _share(pattern: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """The pattern as shares of the range."""
    values = rng.random(shape)
    if pattern in {"flat", "nearly_flat"}:
        values[...] = rng.random()
    if pattern == "nearly_flat":
        values.flat[rng.integers(values.size)] = rng.random()
    shaped: dict[str, Callable[[], Any]] = {
        "narrow": lambda: rng.uniform(0.1, 0.8) + 0.1 * values,
        "dark": lambda: values * 0.05,
        "bright": lambda: 1.0 - values * 0.05,
        "skewed": lambda: values**6,
        "ramp": lambda: np.linspace(0.0, 1.0, values.size).reshape(shape),
        "extremes": lambda: np.rint(values),
    }
    return np.asarray(shaped[pattern]() if pattern in shaped else values)


def flat_image(level: float, shape: tuple[int, ...], dtype: str) -> Image:
    return np.full(shape, level, dtype=dtype)


@st.composite
def images(
    draw: st.DrawFn,
    dtype: str,
    channels: int | None = None,
    shapes: tuple[tuple[int, int], ...] = SHAPES,
    patterns: tuple[str, ...] = PATTERNS,
) -> Image:
    """Images of one dtype; the channel count is drawn unless given."""
    depth = draw(st.sampled_from(CHANNELS)) if channels is None else channels
    shape = (*draw(st.sampled_from(shapes)), depth)
    return build(draw(st.sampled_from(patterns)), shape, dtype, draw(st.integers(0, 2**32 - 1)))


@st.composite
def pairs(
    draw: st.DrawFn,
    dtype: str,
    channels: int | None = None,
    shapes: tuple[tuple[int, int], ...] = SHAPES,
    patterns: tuple[str, ...] = PATTERNS,
) -> tuple[Image, Image]:
    """A content and a style with equally many channels and independent sizes."""
    depth = draw(st.sampled_from(CHANNELS)) if channels is None else channels
    content = draw(images(dtype, depth, shapes, patterns))
    return content, draw(images(dtype, depth, shapes, patterns))
