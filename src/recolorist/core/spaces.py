"""The colour spaces. Linear ones are a 3 x 3 matrix; for the others pixels are converted, in an arithmetic of our own.

All conversions start from RGB in [0, 1] (gamma-encoded, as images come) and keep the last axis. Matching happens in the
units of the range given here.

| space | linear | range for RGB in [0, 1] | remarks |
|---|---|---|---|
| rgb | yes | 0…1 each | |
| ycbcr | yes | Y 16…235, Cb and Cr 16…240 | ITU-R BT.601, as scikit-image |
| ypbpr | yes | Y 0…1, Pb and Pr ±0.5 | analogue BT.601 |
| yuv | yes | Y 0…1, U ±0.436, V ±0.615 | PAL |
| yiq | yes | Y 0…1, I ±0.596, Q ±0.523 | NTSC |
| ydbdr | yes | Y 0…1, Db and Dr ±1.333 | SECAM |
| lab | no | L 0…100, a and b about ±110 | CIELAB, D65, 2° |
| luv | no | L 0…100, u −84…176, v −135…108 | CIELUV, D65, 2° |
| lch | no | L 0…100, C 0…134, h 0…2π | CIELAB in cylinder form; hue is matched as a number, not as an angle |
| hsv | no | 0…1 each | hue is matched as a number and wrapped afterwards |
| hsi | no | H 0…1, S 0…1, I 0…1 | Gonzalez and Woods; hue likewise |
| hed | no | about 0…1.9 | haematoxylin, eosin, DAB; colours outside that gamut do not survive the round trip |
| lalphabeta | no | l −9.4…0, α −0.97…0.87, β ±0.21 | Reinhard 2001: log10 of LMS; black is lifted to 2⁻¹⁸ first |

YCbCr, YPbPr and YUV share one basis (Y, B − Y, R − Y) and differ in scale and offset only. Mean–std, histogram and exact
histogram matching do not depend on these, so the three give the same image, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.kernels.fallback_spaces import conversions

__all__ = ["SPACES", "Convert", "Mixing", "Numbers", "Pixels", "Space", "WholeRows", "mix_channels"]

Pixels = NDArray[np.float64]
Convert = Callable[[Pixels], Pixels]
Numbers = tuple[float, ...]


class Mixing(NamedTuple):
    """A 3 x 3 matrix from RGB, and its inverse."""

    rows: Pixels
    inverse: Pixels

    @property
    def numbers(self) -> tuple[Numbers, Numbers]:
        """Both as plain numbers, row by row; a plan is made in less time than arrays of nine numbers take."""
        return _plain_numbers(self.rows.tobytes()), _plain_numbers(self.inverse.tobytes())


@cache
def _plain_numbers(data: bytes) -> Numbers:
    return tuple(np.frombuffer(data).tolist())


class WholeRows(NamedTuple):
    """A basis as whole numbers, so that the channels of integer images are whole numbers too."""

    rows: NDArray[np.int64]
    denominator: int  #: what the rows were multiplied by

    @classmethod
    def from_decimals(cls, basis: Pixels) -> WholeRows:
        """Read coefficients that are published to at most eight digits.

        Example:
            >>> rows, denominator = WholeRows.from_decimals(np.array([[0.299, 0.587, 0.114]]))
            >>> rows.tolist(), denominator
            ([[299, 587, 114]], 1000)
        """
        rows = np.rint(basis * 10**8).astype(np.int64)
        shared = int(np.gcd.reduce(rows, axis=None, initial=10**8))
        return cls(rows // shared, 10**8 // shared)


@dataclass(frozen=True, slots=True)
class Space:
    """One colour space.

    >>> white = np.ones((1, 1, 3))
    >>> [round(float(v), 6) for v in SPACES["ycbcr"].forward(white)[0, 0]]
    [235.0, 128.0, 128.0]
    """

    name: str
    channels: tuple[str, str, str]
    forward: Convert = field(repr=False)  #: RGB in [0, 1] to this space
    inverse: Convert = field(repr=False)  #: and back; the result may leave [0, 1]
    basis: Mixing | None = field(default=None, repr=False)  #: linear: rows up to scale, all that mean–std matching sees
    matrix: Mixing | None = field(default=None, repr=False)  #: linear: the conversion without its offset
    whole: WholeRows | None = field(default=None, repr=False)  #: linear: the basis as whole numbers
    #: not linear: channels of 8-bit images are summed exactly, as whole multiples of two to the power of minus these
    bits: tuple[int, int, int] = field(default=(0, 0, 0), repr=False)

    @property
    def is_linear(self) -> bool:
        """Whether matching here is one 3 x 3 map of RGB."""
        return self.basis is not None


def mix_channels(pixels: Pixels, rows: Pixels) -> Pixels:
    """Return ``rows @ pixel`` for every pixel, summed in channel order: a matrix product would choose its own, by processor.

    Example:
        >>> mix_channels(np.array([1.0, 2.0, 3.0]), np.eye(3)).tolist()
        [1.0, 2.0, 3.0]
    """
    first, second, third = (pixels[..., c] for c in range(3))
    return np.stack([(row[0] * first + row[1] * second) + row[2] * third for row in rows], axis=-1)


def _inverted(rows: Pixels) -> Pixels:
    """The inverse by cofactors, in a fixed order, for the same reason."""
    (a, b, c), (d, e, f), (g, h, i) = rows.tolist()
    cofactors = [
        [e * i - f * h, c * h - b * i, b * f - c * e],
        [f * g - d * i, a * i - c * g, c * d - a * f],
        [d * h - e * g, b * g - a * h, a * e - b * d],
    ]
    determinant = (a * cofactors[0][0] + b * cofactors[1][0]) + c * cofactors[2][0]
    return np.array([[value / determinant for value in row] for row in cofactors])


def _linear(
    name: str,
    channels: tuple[str, str, str],
    basis: Any,
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0),
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Space:
    basis, shift = np.array(basis, dtype=np.float64), np.array(offset)
    rows = np.array(scale)[:, None] * basis
    matrix = Mixing(rows, _inverted(rows))
    return Space(
        name,
        channels,
        lambda rgb: mix_channels(rgb, matrix.rows) + shift,
        lambda values: mix_channels(values - shift, matrix.inverse),
        Mixing(basis, _inverted(basis)),
        matrix,
        WholeRows.from_decimals(basis),
    )


def _converted(name: str, channels: tuple[str, str, str]) -> Space:
    """A space that is not linear; the loops hold its conversions."""

    def convert(pixels: Pixels, *, inverse: bool) -> Pixels:
        source = np.ascontiguousarray(pixels, dtype=np.float64)
        target = np.empty_like(source)
        kernels.loops.convert(source, target, name, inverse)
        return target

    ways = partial(convert, inverse=False), partial(convert, inverse=True)
    return Space(name, channels, *ways, bits=conversions[name].bits)


_LUMA: Final = (0.299, 0.587, 0.114)
_DIFFERENCES: Final = [_LUMA, (-0.299, -0.587, 0.886), (0.701, -0.587, -0.114)]  # Y, B - Y, R - Y
_YIQ: Final = [_LUMA, (0.59590059, -0.27455667, -0.32134392), (0.21153661, -0.52273617, 0.31119955)]
_YDBDR: Final = [_LUMA, (-0.45, -0.883, 1.333), (-1.333, 1.116, 0.217)]

#: Every space by its name: the paper's eleven, then SECAM's and Reinhard's.
SPACES: Final = MappingProxyType(
    {
        space.name: space
        for space in (
            _linear("rgb", ("R", "G", "B"), np.eye(3)),
            _converted("lab", ("L", "a", "b")),
            _converted("hed", ("H", "E", "D")),
            _converted("hsi", ("H", "S", "I")),
            _converted("hsv", ("H", "S", "V")),
            _converted("lch", ("L", "C", "h")),
            _converted("luv", ("L", "u", "v")),
            _linear(
                "ycbcr",
                ("Y", "Cb", "Cr"),
                _DIFFERENCES,
                (219.0, 112.0 / 0.886, 112.0 / 0.701),
                (16.0, 128.0, 128.0),
            ),
            _linear("yiq", ("Y", "I", "Q"), _YIQ),
            _linear("ypbpr", ("Y", "Pb", "Pr"), _DIFFERENCES, (1.0, 0.5 / 0.886, 0.5 / 0.701)),
            _linear("yuv", ("Y", "U", "V"), _DIFFERENCES, (1.0, 0.43601035 / 0.886, 0.61497538 / 0.701)),
            _linear("ydbdr", ("Y", "Db", "Dr"), _YDBDR),
            _converted("lalphabeta", ("l", "α", "β")),
        )
    }
)
