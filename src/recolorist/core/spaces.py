"""The colour spaces. Linear ones are a 3 x 3 matrix; for the others pixels are converted, by scikit-image where it can.

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

YCbCr, YPbPr and YUV share one basis (Y, B − Y, R − Y) and differ in scale and offset only, to which mean–std matching is
blind: they give the same image, bit for bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["SPACES", "Convert", "Mixing", "Pixels", "Space"]

Pixels = NDArray[np.float64]
Convert = Callable[[Pixels], Pixels]


class Mixing(NamedTuple):
    """A 3 x 3 matrix from RGB, and its inverse."""

    rows: Pixels
    inverse: Pixels


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

    @property
    def is_linear(self) -> bool:
        """Whether matching here is one 3 x 3 map of RGB."""
        return self.basis is not None


def _mixed(pixels: Pixels, rows: Pixels) -> Pixels:
    """``rows @ pixel`` for every pixel, summed in channel order: a matrix product would choose its own, by processor."""
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
        lambda rgb: _mixed(rgb, matrix.rows) + shift,
        lambda values: _mixed(values - shift, matrix.inverse),
        Mixing(basis, _inverted(basis)),
        matrix,
    )


def _skimage(name: str) -> Convert:
    """A conversion of scikit-image, imported when first used; its warnings about clipped colours are ours to report."""

    def convert(pixels: Pixels) -> Pixels:
        from skimage import color  # heavy; `import recolorist` must stay light

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result: Pixels = getattr(color, name)(pixels)
        return result

    return convert


def _after(first: Convert, then: Convert) -> Convert:
    return lambda pixels: then(first(pixels))


def _wrap_hue(pixels: Pixels) -> Pixels:
    """Hue is an angle in turns; saturation and value live in [0, 1]."""
    result = np.clip(pixels, 0.0, 1.0)
    result[..., 0] = pixels[..., 0] - np.floor(pixels[..., 0])
    return result


def _valid_lch(pixels: Pixels) -> Pixels:
    result = pixels.copy()
    result[..., 0] = np.clip(pixels[..., 0], 0.0, 100.0)
    result[..., 1] = np.maximum(pixels[..., 1], 0.0)
    return result


def _valid_lightness(pixels: Pixels) -> Pixels:
    result = pixels.copy()
    result[..., 0] = np.clip(pixels[..., 0], 0.0, 100.0)
    return result


def _rgb_to_hsi(rgb: Pixels) -> Pixels:
    """Hue in turns (0 where grey), saturation 1 − min/mean (0 where black), intensity the mean."""
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    intensity = rgb.mean(axis=-1)
    safe = np.where(intensity > 0, intensity, 1.0)
    saturation = np.where(intensity > 0, np.clip(1.0 - rgb.min(axis=-1) / safe, 0.0, 1.0), 0.0)
    hue = np.arctan2(np.sqrt(3.0) * (green - blue), 2.0 * red - green - blue) / (2.0 * np.pi)
    return np.stack([hue - np.floor(hue), saturation, intensity], axis=-1)


def _hsi_to_rgb(hsi: Pixels) -> Pixels:
    """Three sectors of a third of a turn; in each, one channel is the minimum and one carries the hue."""
    valid = _wrap_hue(hsi)
    sector = np.floor(valid[..., 0] * 3.0).astype(int) % 3
    angle = (valid[..., 0] - sector / 3.0) * (2.0 * np.pi)
    saturation, intensity = valid[..., 1], valid[..., 2]
    lowest = intensity * (1.0 - saturation)
    leading = intensity * (1.0 + saturation * np.cos(angle) / np.cos(np.pi / 3.0 - angle))
    middle = 3.0 * intensity - lowest - leading
    order = np.stack([leading, middle, lowest], axis=-1)
    place = (np.arange(3) - sector[..., None]) % 3  # red leads in the first sector, green in the second, blue in the third
    return np.take_along_axis(order, place, axis=-1)


_DARKEST: Final = 2.0**-18  # logarithms need a floor; this one is below half a level even in 16 bits
_RGB_TO_LMS: Final = np.array([[0.3811, 0.5783, 0.0402], [0.1967, 0.7244, 0.0782], [0.0241, 0.1288, 0.8444]])
_LMS_TO_LAB: Final = np.array([[3**-0.5], [6**-0.5], [2**-0.5]]) * np.array([[1.0, 1, 1], [1, 1, -2], [1, -1, 0]])
_LMS_TO_RGB: Final = _inverted(_RGB_TO_LMS)
_LAB_TO_LMS: Final = _inverted(_LMS_TO_LAB)


def _rgb_to_lalphabeta(rgb: Pixels) -> Pixels:
    return _mixed(np.log10(np.maximum(_mixed(rgb, _RGB_TO_LMS), _DARKEST)), _LMS_TO_LAB)


def _lalphabeta_to_rgb(values: Pixels) -> Pixels:
    # a matched logarithm may be any number; beyond 10**3 everything is white, so nothing is lost and nothing overflows
    return _mixed(np.power(10.0, np.clip(_mixed(values, _LAB_TO_LMS), -300.0, 3.0)), _LMS_TO_RGB)


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
            Space("lab", ("L", "a", "b"), _skimage("rgb2lab"), _after(_valid_lightness, _skimage("lab2rgb"))),
            Space("hed", ("H", "E", "D"), _skimage("rgb2hed"), _skimage("hed2rgb")),
            Space("hsi", ("H", "S", "I"), _rgb_to_hsi, _hsi_to_rgb),
            Space("hsv", ("H", "S", "V"), _skimage("rgb2hsv"), _after(_wrap_hue, _skimage("hsv2rgb"))),
            Space(
                "lch",
                ("L", "C", "h"),
                _after(_skimage("rgb2lab"), _skimage("lab2lch")),
                _after(_valid_lch, _after(_skimage("lch2lab"), _skimage("lab2rgb"))),
            ),
            Space("luv", ("L", "u", "v"), _skimage("rgb2luv"), _after(_valid_lightness, _skimage("luv2rgb"))),
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
            Space("lalphabeta", ("l", "α", "β"), _rgb_to_lalphabeta, _lalphabeta_to_rgb),
        )
    }
)
