"""Roots, logarithms, powers and angles in fixed order: the functions of ``_kernels_math.h`` once more, for arrays of float64.

Nothing is left to the machine's library. Only ``+ - * /`` and square roots are used, in the order written here, and the two
halves of a float64. So C, NumPy and JavaScript give the same bits. Relative errors are below 1e-13.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "angle_of",
    "clip",
    "cosine_and_sine",
    "cube_root",
    "inverse_cube_root",
    "inverse_fifth_root",
    "natural_log",
    "polynomial",
    "power_of_e",
]

Array = NDArray[np.float64]

_TWO_52: Final = 4503599627370496.0  # a float64 from here on has no binary places
_THREE_51: Final = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to a whole number, also a negative one
_TAN_EIGHTH: Final = 0.41421356237309503  # of pi / 8

_LOG: Final = (
    *(2.0, 0.6666666666655285, 0.40000000061773056, 0.2857141601597565, 0.22223434921408206),
    *(0.18121922003893642, 0.16837813568898644),
)
_EXP: Final = (
    *(1.0, 1.0, 0.5000000000000001, 0.16666666666615237, 0.041666666666623824, 0.008333333367516108, 0.0013888888917367081),
    *(0.00019841190330031338, 2.4801521057868204e-05, 2.7632791582662333e-06, 2.7620201591031547e-07),
)
_ATAN: Final = (
    *(1.0, -0.3333333327688608, 0.19999993049762435, -0.1428538640718612, 0.11103454236491274, -0.08992528079362637),
    *(0.06974084047595203, -0.03765307369056794),
)
_COS: Final = (
    *(1.0, -0.4999999999934461, 0.04166666654292815, -0.0013888880342838477, 2.479891815008481e-05),
    *(-2.7172666562783097e-07,),
)
_SIN: Final = (
    *(1.0, -0.16666666666616184, 0.008333333323802407, -0.00019841263259141957, 2.755526372174464e-06),
    *(-2.4755970636461245e-08,),
)


def clip(values: Array, low: float, high: float) -> Array:
    """Clip an array in place as C does, which keeps the sign of a zero; what ``np.clip`` does with it depends on its version.

    Args:
        values: The numbers; NaN stays.
        low: The lower limit.
        high: The upper limit.

    Returns:
        The array.

    Example:
        >>> clip(np.array([-0.0, -1.0, 2.0]), 0.0, 1.0)
        array([-0.,  0.,  1.])
    """
    np.copyto(values, low, where=values < low)
    np.copyto(values, high, where=values > high)
    return values


def polynomial(v: Array, coefficients: tuple[float, ...]) -> Array:
    """Return c0 + v (c1 + v (c2 + ...)), from the inside out.

    >>> polynomial(np.array([2.0]), (1.0, 0.0, 3.0)).tolist()
    [13.0]
    """
    total = coefficients[-2] + v * coefficients[-1]
    for coefficient in coefficients[-3::-1]:
        total = coefficient + v * total
    return total


def _guess_root(v: Array, start: float, share: float) -> Array:
    """Guess v**(-1/k) for v > 0: the upper half of the number, taken as a whole number, is close to a logarithm."""
    upper = (v.view(np.uint64) >> np.uint64(32)).astype(np.float64)
    whole = ((start - upper * share) + _TWO_52) - _TWO_52
    return (whole.astype(np.uint64) << np.uint64(32)).view(np.float64)


def inverse_cube_root(v: Array) -> Array:
    """Return v**(-1/3): with h = 1 - v r³, the series of (1 - h)**(-1/3), four terms and then three."""
    r = _guess_root(v, 1430186346.0, 0.3333333333333333)
    h = 1.0 - (r * r) * (v * r)
    r = r + (r * h) * ((0.3333333333333333 + h * 0.2222222222222222) + (h * h) * 0.1728395061728395)
    h = 1.0 - (r * r) * (v * r)
    return r + (r * h) * (0.3333333333333333 + h * 0.2222222222222222)


def cube_root(v: Array) -> Array:
    """Return v**(1/3) for v > 0."""
    r = inverse_cube_root(v)
    return (v * r) * r


def inverse_fifth_root(v: Array) -> Array:
    """Return v**(-1/5), likewise, four terms twice."""
    r = _guess_root(v, 1287167063.0, 0.2)
    for _ in range(2):
        q = r * r
        h = 1.0 - (q * q) * (v * r)
        r = r + (r * h) * ((0.2 + h * 0.12) + (h * h) * 0.088)
    return r


def natural_log(v: Array) -> Array:
    """Return ln v for v > 0: v = 2**e m with m from 0.7071 to 1.4142; ln m = 2 artanh s with s = (m - 1) / (m + 1)."""
    bits = v.view(np.int64)
    power = (bits - (0x3FE6A09E << 32)) >> 52
    m = (bits - (power << 52)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    return power.astype(np.float64) * 0.6931471805599453 + s * polynomial(s * s, _LOG)


def power_of_e(v: Array) -> Array:
    """Return e**v for v from -700 to 700: v = k ln 2 + r, and a polynomial of r."""
    k = (v * 1.4426950408889634 + _THREE_51) - _THREE_51
    r = (v - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    return polynomial(r, _EXP) * ((k.astype(np.int64) + 1023) << 52).view(np.float64)


def angle_of(y: Array, x: Array) -> Array:
    """Return the angle of the point (x, y), from 0 to 2π; 0 at the origin.

    The smaller coordinate over the larger is a tangent below 1. Turned back by π/8 it lies within 0.4142.
    """
    ax, ay = np.abs(x), np.abs(y)
    high, low = np.where(ax > ay, ax, ay), np.where(ax > ay, ay, ax)
    below = high + _TAN_EIGHTH * low
    t = (low - _TAN_EIGHTH * high) / np.where(below > 0.0, below, 1.0)
    a = 0.39269908169872414 + t * polynomial(t * t, _ATAN)
    a = np.where(a > 0.0, a, 0.0)
    a = np.where(ay > ax, 1.5707963267948966 - a, a)
    a = np.where(x < 0.0, 3.141592653589793 - a, a)
    a = np.where(y < 0.0, 6.283185307179586 - a, a)
    return np.where(high > 0.0, a, 0.0)


def cosine_and_sine(angle: Array) -> tuple[Array, Array]:
    """Return cosine and sine: of a multiple of π/2, whose last bits say which way, and a rest within π/4."""
    t = angle * 0.6366197723675814 + _THREE_51
    n, quarter = t - _THREE_51, t.view(np.int64)
    r = (angle - n * 1.5707963267341256) - n * 6.077100506506192e-11
    z = r * r
    c, s = polynomial(z, _COS), r * polynomial(z, _SIN)
    odd = quarter & 1 == 1
    first, second = np.where(odd, s, c), np.where(odd, c, s)
    return np.where((quarter + 1) & 2 == 2, -first, first), np.where(quarter & 2 == 2, -second, second)
