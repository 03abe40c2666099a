"""Arrays nobody would send on purpose, and the options that come with them. Seeded: the same number, the same array."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import recolorist as rc

FLOATS = (np.float16, np.float32, np.float64)
GOOD = (np.uint8, np.uint16, *FLOATS)
STRANGE = ("bool", "object", "complex64", "complex128", "int8", "int16", "int32", "int64", "uint32", "uint64", "longdouble",
           "U3", "S2", "datetime64[s]", "timedelta64[s]", "i4,f4")  # fmt: skip
POISON = (math.nan, math.inf, -math.inf, 5e-324, 1e-310, -0.0, 1e308, -1e308, 1e155, 65504.0, 3e38, 1e-45, -1.0, 2.0, 256.0)
SIDES = (1, 1, 2, 3, 4, 5, 7, 9)
CHANNELS = (1, 2, 3, 3, 3, 4, 9)
SLOW_SPACES = frozenset({"lab", "hed", "hsv", "lch", "luv"})  # through scikit-image; drawn seldom, for speed


class TensorLike:
    """What an image of another framework looks like from here."""

    shape = (4, 4, 3)
    dtype = "float32"

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.zeros(self.shape, dtype or np.float32)


JUNK: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: "image.png",
    lambda: b"\x89PNG",
    lambda: 3.5,
    list,
    lambda: [[0, 1], [2, 3]],
    lambda: {"image": 1},
    lambda: range(4),
    object,
    TensorLike,
    lambda: np.float64(0.5),
    lambda: np.ma.masked_array(np.zeros((3, 4, 3)), mask=True),
    lambda: np.ones((2, 2), np.uint8).view(np.matrix),
    lambda: np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    lambda: memoryview(b"abcd"),
    lambda: np.uint8,
    lambda: (np.zeros((2, 2), np.uint8), np.zeros((2, 2), np.uint8)),
)


def shape(draw: random.Random) -> tuple[int, ...]:
    """Mostly a small image; now and then a batch, an empty one, or no image at all."""
    fate = draw.random()
    height, width, channels = draw.choice(SIDES), draw.choice(SIDES), draw.choice(CHANNELS)
    if fate < 0.15:
        return height, width
    if fate < 0.75:
        return height, width, channels
    if fate < 0.85:
        return draw.choice((0, 1, 2)), height, width, channels
    if fate < 0.93:
        sides = [height, width, channels]
        sides[draw.randrange(3)] = 0
        return tuple(sides)
    return tuple(draw.choice(SIDES) for _ in range(draw.choice((0, 1, 5, 6))))


def values(draw: random.Random, numbers: np.random.Generator, dtype: Any, wanted: tuple[int, ...]) -> NDArray[Any]:
    """Values of a good dtype: noise, one level, the ends of the range, or poison."""
    fate = draw.random()
    if np.dtype(dtype).kind == "u":
        high = int(np.iinfo(dtype).max)
        if fate < 0.2:
            return np.full(wanted, draw.choice((0, 1, high)), dtype)
        return numbers.integers(0, draw.choice((1, 2, 100, high)), wanted, dtype, endpoint=True)
    array = numbers.random(wanted)
    if fate < 0.2:
        array = np.full(wanted, draw.choice((0.0, 0.5, 1.0, 1e-3)))
    elif fate < 0.3:
        array *= draw.choice((1e-300, 1e-40, 1e-7, 255.0, 1e30, 1e300))
    elif fate < 0.5 and array.size:
        for _ in range(draw.choice((1, 1, 2, array.size))):
            array.flat[draw.randrange(array.size)] = draw.choice(POISON)
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def disturbed(draw: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in awkward memory."""
    fate = draw.random()
    if fate < 0.6:
        return array
    if fate < 0.7:
        return np.asfortranarray(array)
    if fate < 0.8:
        return array[::-1] if array.ndim else array
    if fate < 0.9:
        return array.astype(array.dtype.newbyteorder())
    array.flags.writeable = False
    return array


def image(draw: random.Random, numbers: np.random.Generator) -> Any:
    """One hostile image."""
    fate = draw.random()
    if fate < 0.05:
        return draw.choice(JUNK)()
    wanted = shape(draw)
    if fate < 0.12:
        return np.zeros(wanted, draw.choice(STRANGE))
    return disturbed(draw, values(draw, numbers, draw.choice(GOOD), wanted))


def companion(draw: random.Random, numbers: np.random.Generator, content: Any) -> Any:
    """A style: often one that could go with the content, sometimes anything."""
    if isinstance(content, np.ndarray) and content.dtype in GOOD and content.ndim in (2, 3, 4) and draw.random() < 0.8:
        fate = draw.random()
        if fate < 0.15:
            return content
        dtype = draw.choice(GOOD) if fate < 0.4 else content.dtype.newbyteorder("=").type
        return values(draw, numbers, dtype, (*content.shape[:-1], content.shape[-1]))
    return image(draw, numbers)


def mask(draw: random.Random, content: Any) -> Any:
    """Usually none; else one that fits, one that selects nothing, or one that is none."""
    fate = draw.random()
    if fate < 0.8 or not isinstance(content, np.ndarray):
        return None
    fitting = content.shape[:2] if content.ndim == 2 else content.shape[:-1]
    if fate < 0.92:
        return np.array([draw.random() < 0.7 for _ in range(math.prod(fitting))], bool).reshape(fitting)
    return draw.choice(
        (np.zeros(fitting, bool), np.ones((2, 9), np.uint8), np.ones(fitting), [[True]], "mask", np.ones(fitting, ">u2"))
    )


def options(draw: random.Random, **choices: tuple[tuple[Any, ...], tuple[Any, ...]]) -> dict[str, Any]:
    """A few of the options, at random: of each the usual values, and one time in ten those nobody should pass."""
    taken = [name for name in choices if draw.random() < 0.3]
    return {name: draw.choice(choices[name][draw.random() < 0.1]) for name in taken}


def space(draw: random.Random) -> str:
    """Any space, the slow ones seldom."""
    name = draw.choice((*rc.SPACES, *["rgb"] * 6))
    return "rgb" if name in SLOW_SPACES and draw.random() < 0.75 else name


def opening(draw: random.Random) -> dict[str, Any]:
    """Options of everything that takes an image."""
    return options(
        draw,
        data_range=((None, 1.0, 1, 255, 4095, 65535.0, math.inf), (1e308, 1e-308, 5e-324, 10**400, -1, 0, math.nan, "255", True)),
        alpha=((None, True, False), ("yes", 1.5)),
        on_nonfinite=(("raise", "mask", "mask"), ("ignore", None, ["mask"])),
    )


def planning(draw: random.Random) -> dict[str, Any]:
    """Options of everything that plans."""
    return options(
        draw,
        strength=((0, 0.0, 0.3, 1, 1.0, np.float32(0.5)), (-0.1, 1.5, math.nan, "1", None, True, 10**400)),
        max_gain=((0, 1.0, 10, np.int64(3), math.inf, 1e6), (1e-300, 1e300, math.nan, -1, 10**400, None)),
        eps_mode=(("exact", "paper", "paper"), ("none", None, 1)),
        strict=((True, False), ("no",)),
    )
