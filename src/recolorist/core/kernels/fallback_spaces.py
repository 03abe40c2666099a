"""The colour spaces that are not linear in RGB: the conversions of ``_kernels_spaces.h`` once more, for planes.

A conversion has two steps: what concerns one channel alone (gamma, or the logarithm of a stain), and what mixes the channels.
``docs/method.md`` describes each. The same numbers in the same order give the same bits as the C code, for planes of float64 and,
of 8-bit images, of float32.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core.kernels import fallback_math, fallback_single
from recolorist.core.kernels.fallback_math import inverse_cube_root, inverse_fifth_root, natural_log, polynomial, power_of_e

__all__ = ["DENSITY", "LIGHT", "UNIT", "Conversion", "conversions", "from_start", "to_start"]

Array = NDArray[Any]  # of float64 or float32
Planes = tuple[Array, Array, Array]
Rows = tuple[tuple[float, float, float], ...]

UNIT: Final = 0  #: a conversion starts from RGB as it is,
LIGHT: Final = 1  #: from linear light,
DENSITY: Final = 2  #: or from optical density

_EPSILON: Final = 2.220446049250313e-16
_WHITE_U: Final = 0.19783982482140774
_WHITE_V: Final = 0.4683363029324097
_ONE_116: Final = 0.008620689655172414
_ROOT_ZERO: Final = 0.13793103448275862  # 16 / 116

_RELATIVE: Final = (  # light to XYZ relative to the white of D65
    (0.4339463633781182, 0.3762138731364483, 0.1898250339305817),
    (0.212671, 0.71516, 0.072169),
    (0.017756674595666908, 0.10946887943939826, 0.8727046462716861),
)
_GAPS: Final = (  # differences of the rows above, for (red - green, blue - green, green)
    (0.2212753633781182, 0.1176560339305817, -1.4729554851836135e-05),
    (0.1949143254043331, -0.800535646271686, 6.979969324875587e-05),
)
_FROM_RELATIVE: Final = (
    (3.0799803022718044, -1.5371515162713185, -0.5428213080224702),
    (-0.9212477523232383, 1.8759900014898907, 0.04524733951446598),
    (0.05289046109881183, -0.20404133836651125, 1.1512320119619404),
)
_XYZ: Final = ((0.412453, 0.35758, 0.180423), (0.212671, 0.71516, 0.072169), (0.019334, 0.119193, 0.950227))
_FROM_XYZ: Final = (
    (3.2404813432005266, -1.5371515162713185, -0.49853632616888793),
    (-0.9692549499965684, 1.8759900014898907, 0.04155592655829283),
    (0.05564663913517716, -0.20404133836651125, 1.0573110696453445),
)
_STAINS: Final = (
    (1.8779827368521356, -0.06590806222356332, -0.6019073634392892),
    (-1.0076786862855645, 1.1347303724996625, -0.48041418849705797),
    (-0.5561158181996246, -0.13552179862837116, 1.5735880719641926),
)
_FROM_STAINS: Final = ((0.65, 0.07, 0.27), (0.7, 0.99, 0.57), (0.29, 0.11, 0.78))
_CONES: Final = ((0.3811, 0.5783, 0.0402), (0.1967, 0.7244, 0.0782), (0.0241, 0.1288, 0.8444))
_FROM_CONES: Final = (
    (4.468669863496255, -3.5886759034721263, 0.11960436657860116),
    (-1.2197166276177633, 2.3830879129554567, -0.16263011175140057),
    (0.0585084769385459, -0.26107843902769373, 1.205665908525623),
)
_AXES: Final = (
    (0.5773502691896257, 0.5773502691896257, 0.5773502691896257),
    (0.408248290463863, 0.408248290463863, -0.816496580927726),
    (0.7071067811865476, -0.7071067811865476, 0.0),
)
_FROM_AXES: Final = (
    (0.5773502691896257, 0.408248290463863, 0.7071067811865476),
    (0.5773502691896257, 0.408248290463863, -0.7071067811865476),
    (0.5773502691896257, -0.816496580927726, 0.0),
)
_TO_ANGLE: Final = (
    *(0.5513288954217779, -0.06125876615453284, 0.012251753092960073, -0.002917081914265611, 0.0007562632278756543),
    *(-0.00020617292237474352, 5.79163645400366e-05, -1.6292021375910857e-05, 4.2640852843572784e-06),
    *(-8.782764855507976e-07, 9.909660760875363e-08),
)
_FROM_ANGLE: Final = (
    *(0.45344984105856667, 0.04143861617380965, 0.004544252814532186, 0.0005042650797484723, 5.602449790798775e-05),
    *(6.216809556084562e-06, 7.043996369593237e-07, 6.477236888609178e-08, 1.4393859379485293e-08),
)
_TO_ANGLE_SINGLE: Final = (
    *(0.5513288974761963, -0.061257898807525635, 0.012241121381521225, -0.0028688085731118917, 0.0006538291927427053),
    *(-9.714000043459237e-05,),
)
_FROM_ANGLE_SINGLE: Final = (
    *(0.4534498453140259, 0.041437774896621704, 0.00455082394182682, 0.0004865191294811666, 7.500789070036262e-05),
)


def _is_single(v: Array) -> bool:
    return v.dtype == np.float32


def _functions(v: Array) -> ModuleType:
    """Return the roots, logarithms, powers and angles for the type of a plane."""
    return fallback_single if _is_single(v) else fallback_math


def to_start(v: Array, start: int) -> Array:
    """Convert one channel from RGB in [0, 1] to what a conversion starts from."""
    if start == LIGHT:
        y = np.where(v > 0.04045, (v + 0.055) * 0.9478672985781991, 1.0)
        t = y * inverse_fifth_root(y)
        return np.where(v > 0.04045, (t * t) * t, v * 0.07739938080495357)
    if start == DENSITY:
        return natural_log(np.where(v > 1e-6, v, 1e-6)) * -0.07238241365054197
    return v


def from_start(v: Array, start: int) -> Array:
    """Convert one channel back to RGB in [0, 1]; the result may lie outside."""
    if start == LIGHT:
        s = np.sqrt(np.where(v > 0.0031308, v, 1.0))
        r = inverse_cube_root(s)
        return np.where(v > 0.0031308, 1.055 * (np.sqrt(s) * ((s * r) * r)) - 0.055, v * 12.92)
    if start == DENSITY:
        w = v * -13.815510557964274
        w = np.where(w > -700.0, w, -700.0)
        return power_of_e(np.where(w < 700.0, w, 700.0))
    return v


def _mix(planes: Planes, rows: Rows) -> Planes:
    x, y, z = planes
    first, second, third = ((a * x + b * y) + c * z for a, b, c in rows)
    return first, second, third


def _to_lab(light: Planes) -> Planes:
    fx, fy, fz = map(_to_root, _mix(light, _RELATIVE))
    return 116.0 * fy - 16.0, 500.0 * (fx - fy), 200.0 * (fy - fz)


def _from_lab(lab: Planes) -> Planes:
    fy = (lab[0] + 16.0) * _ONE_116
    fx, fz = lab[1] * 0.002 + fy, fy - lab[2] * 0.005
    return _mix((_from_root(fx), _from_root(fy), _from_root(np.where(fz > 0.0, fz, 0.0))), _FROM_RELATIVE)


def _to_root(v: Array) -> Array:
    """Return the cube root, and a line near black."""
    return np.where(v > 0.008856, _functions(v).cube_root(np.where(v > 0.008856, v, 1.0)), v * 7.787 + _ROOT_ZERO)


def _from_root(f: Array) -> Array:
    return np.where(f > 0.2068966, (f * f) * f, (f - _ROOT_ZERO) * 0.1284191601386927)


def _to_lch(light: Planes) -> Planes:
    """Take a and b from differences of the channels: a grey has a hue too, which would be lost in rounding."""
    white = _mix(light, _RELATIVE)
    fx, fy, fz = map(_to_root, white)
    red, blue = light[0] - light[1], light[2] - light[1]
    xy, yz = ((p * red + q * blue) + r * light[1] for p, q, r in _GAPS)
    a = 500.0 * _root_gap(white[0], white[1], fx, fy, xy)
    b = 200.0 * _root_gap(white[1], white[2], fy, fz, yz)
    return 116.0 * fy - 16.0, np.sqrt(a * a + b * b), _functions(a).angle_of(b, a)


def _root_gap(u: Array, v: Array, fu: Array, fv: Array, gap: Array) -> Array:
    """Return the difference of two roots from that of their arguments."""
    curved, straight, mixed = gap / ((fu * fu + fu * fv) + fv * fv), 7.787 * gap, fu - fv
    return np.where(u > 0.008856, np.where(v > 0.008856, curved, mixed), np.where(v > 0.008856, mixed, straight))


def _from_lch(lch: Planes) -> Planes:
    chroma = np.where(lch[1] > 0.0, lch[1], 0.0)  # below zero it is no colour and becomes grey
    cosine, sine = _functions(chroma).cosine_and_sine(lch[2])
    return _from_lab((lch[0], chroma * cosine, chroma * sine))


def _to_luv(light: Planes) -> Planes:
    x, y, z = _mix(light, _XYZ)
    root = _functions(y).cube_root(np.where(y > 0.008856, y, 1.0))
    lightness = np.where(y > 0.008856, 116.0 * root - 16.0, 903.3 * y)
    scale, share = 13.0 * lightness, 1.0 / (((x + 15.0 * y) + 3.0 * z) + _EPSILON)
    return lightness, scale * ((4.0 * x) * share - _WHITE_U), scale * ((9.0 * y) * share - _WHITE_V)


def _from_luv(luv: Planes) -> Planes:
    lightness = np.where(luv[0] > 0.0, luv[0], 0.0)  # zero or less is black
    root = (lightness + 16.0) * _ONE_116
    y = np.where(lightness > 7.999625, (root * root) * root, lightness * 0.0011070519207350825)
    scale = 1.0 / (13.0 * lightness + _EPSILON)
    u, v = _WHITE_U + luv[1] * scale, _WHITE_V + luv[2] * scale
    share = y / (4.0 * np.where(v == 0.0, _EPSILON, v))
    return _mix(((9.0 * u) * share, y, ((12.0 - 3.0 * u) - 20.0 * v) * share), _FROM_XYZ)


class _Hexagon(NamedTuple):
    """Where a colour lies: the nearest corner (0 red, 2 green, 4 blue), and how far beside it, from -1 to 1."""

    high: Array
    low: Array
    span: Array
    corner: Array
    beside: Array


def _hexagon(rgb: Planes) -> _Hexagon:
    red, green, blue = rgb
    high, low = np.where(red > green, red, green), np.where(red > green, green, red)
    high, low = np.where(high > blue, high, blue), np.where(low > blue, blue, low)
    span = high - low
    real = high.dtype.type  # three plain numbers would make float64 of float32
    corner = np.where(blue == high, real(4.0), np.where(green == high, real(2.0), real(0.0)))
    gap = np.where(blue == high, red - green, np.where(green == high, blue - red, green - blue))
    return _Hexagon(high, low, span, corner, gap / np.where(span > 0.0, span, 1.0))


def _turns(sixths: Array, span: Array) -> Array:
    """Return sixths of a turn, from -1 to 5, as turns; 0 where grey."""
    hue = sixths * 0.16666666666666666
    return np.where(span > 0.0, np.where(hue < 0.0, hue + 1.0, hue), 0.0)


def _below_largest(sixths: Array, channel: float) -> Array:
    """Say how far red, green or blue (5, 3, 1) lies below the largest, as a share of the span."""
    t = sixths + channel
    t = np.where(t >= 6.0, t - 6.0, t)
    t = np.where(t < 4.0 - t, t, 4.0 - t)
    t = np.where(t < 1.0, t, 1.0)
    return np.where(t > 0.0, t, 0.0)


def _held(v: Array) -> Array:
    v = np.where(v > 0.0, v, 0.0)
    return np.where(v < 1.0, v, 1.0)


def _to_hsv(rgb: Planes) -> Planes:
    at = _hexagon(rgb)
    return _turns(at.corner + at.beside, at.span), at.span / np.where(at.high == 0.0, 1.0, at.high), at.high


def _from_hsv(hsv: Planes) -> Planes:
    sixths, value = 6.0 * (hsv[0] - np.floor(hsv[0])), hsv[2]
    span = value * _held(hsv[1])
    red, green, blue = (value - span * _below_largest(sixths, channel) for channel in (5.0, 3.0, 1.0))
    return red, green, blue


def _to_hsi(rgb: Planes) -> Planes:
    """Gonzalez and Woods: between a corner and the next half corner the angle is 30° + atan(u/√3); HSV has a line there."""
    at = _hexagon(rgb)
    u = 2.0 * np.abs(at.beside) - 1.0
    angle = 0.5 + u * polynomial(u * u, _TO_ANGLE_SINGLE if _is_single(u) else _TO_ANGLE)
    angle = np.where(angle > 0.0, angle, 0.0)
    intensity = ((rgb[0] + rgb[1]) + rgb[2]) / 3.0
    saturation = _held(1.0 - at.low / np.where(intensity > 0.0, intensity, 1.0))
    hue = _turns(at.corner + np.where(at.beside < 0.0, -angle, angle), at.span)
    return hue, np.where(intensity > 0.0, saturation, 0.0), intensity


def _from_hsi(hsi: Planes) -> Planes:
    sixths = 6.0 * (hsi[0] - np.floor(hsi[0]))
    corner = np.floor(sixths)
    u = 2.0 * (sixths - corner) - 1.0
    share = 0.5 + u * polynomial(u * u, _FROM_ANGLE_SINGLE if _is_single(u) else _FROM_ANGLE)
    odd = corner - 2.0 * np.floor(corner * 0.5)
    saturation, intensity = _held(hsi[1]), hsi[2]
    low = intensity * (1.0 - saturation)
    span = (3.0 * (intensity * saturation)) / (1.0 + np.where(odd > 0.0, 1.0 - share, share))
    red, green, blue = (low + span * (1.0 - _below_largest(corner + share, channel)) for channel in (5.0, 3.0, 1.0))
    return red, green, blue


def _to_hed(density: Planes) -> Planes:
    h, e, d = (np.where(stain > 0.0, stain, 0.0) for stain in _mix(density, _STAINS))
    return h, e, d


def _from_hed(hed: Planes) -> Planes:
    return _mix(hed, _FROM_STAINS)


def _to_lalphabeta(rgb: Planes) -> Planes:
    """Reinhard 2001: decimal logarithms of the responses of the eye's cones, which are lifted to 2**-18 first."""
    lifted = (np.where(cone > 2.0**-18, cone, 2.0**-18) for cone in _mix(rgb, _CONES))
    x, y, z = (_functions(cone).natural_log(cone) * 0.4342944819032518 for cone in lifted)
    return _mix((x, y, z), _AXES)


def _from_lalphabeta(values: Planes) -> Planes:
    # a matched logarithm may be any number; beyond 10**3 everything is white, so nothing is lost and nothing overflows
    least, take = -37.0 if _is_single(values[0]) else -300.0, _functions(values[0]).power_of_e
    held = (np.where(cone > least, cone, least) for cone in _mix(values, _FROM_AXES))
    x, y, z = (take(np.where(cone < 3.0, cone, 3.0) * 2.302585092994046) for cone in held)
    return _mix((x, y, z), _FROM_CONES)


class Conversion(NamedTuple):
    """What a space starts from, the way there and back, and in which steps 8-bit images are summed."""

    start: int
    forward: Callable[[Planes], Planes]
    inverse: Callable[[Planes], Planes]
    bits: tuple[int, int, int]  #: a channel is rounded to whole multiples of 2**-bits


#: Every space that is not linear, by its name.
conversions: Final = {
    "lab": Conversion(LIGHT, _to_lab, _from_lab, (15, 15, 15)),
    "luv": Conversion(LIGHT, _to_luv, _from_luv, (15, 14, 14)),
    "lch": Conversion(LIGHT, _to_lch, _from_lch, (15, 14, 19)),
    "hsv": Conversion(UNIT, _to_hsv, _from_hsv, (21, 21, 21)),
    "hsi": Conversion(UNIT, _to_hsi, _from_hsi, (21, 21, 21)),
    "hed": Conversion(DENSITY, _to_hed, _from_hed, (21, 21, 21)),
    "lalphabeta": Conversion(UNIT, _to_lalphabeta, _from_lalphabeta, (18, 21, 21)),
}
