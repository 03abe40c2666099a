"""The functions of :mod:`~recolorist.core.kernels.fallback_math` for float32, which 8-bit images are converted in.

They are those of ``_kernels_single.h``, in the same order: C, NumPy and WebAssembly give the same bits. Relative errors are
below 3e-7.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["angle_of", "cosine_and_sine", "cube_root", "natural_log", "power_of_e"]

Array = NDArray[Any]  # of float32

_THREE_22: Final = 12582912.0  # 1.5 * 2**23: adding it rounds to a whole number, also a negative one
_TAN_EIGHTH: Final = 0.4142135679721832  # of pi / 8

_LOG: Final = (2.0, 0.666668176651001, 0.3997473418712616, 0.29927122592926025)
_EXP: Final = (1.0, 1.0, 0.5, 0.16666576266288757, 0.04166637361049652, 0.008363183587789536, 0.001394112710841)
_ATAN: Final = (1.0, -0.3333280682563782, 0.1997472494840622, -0.13854457437992096, 0.0799364224076271)
_COS: Final = (1.0, -0.5, 0.04166664928197861, -0.0013887601671740413, 2.44649618252879e-05)
_SIN: Final = (1.0, -0.166666641831398, 0.008332748897373676, -0.00019588008581195027)


def _polynomial(v: Array, coefficients: tuple[float, ...]) -> Array:
    total = coefficients[-2] + v * coefficients[-1]
    for coefficient in coefficients[-3::-1]:
        total = coefficient + v * total
    return total


def cube_root(v: Array) -> Array:
    """Return v**(1/3) for v > 0: v r² for a guess r of v**(-1/3) that is improved twice."""
    third = (v.view(np.int32).astype(np.float32) * 0.3333333432674408).astype(np.int32)
    r: Array = (np.int32(0x54A22800) - third).view(np.float32)
    h: Array = 1.0 - (r * r) * (v * r)
    r = r + (r * h) * (0.3333333432674408 + h * 0.2222222238779068)
    c = (v * r) * r
    h = 1.0 - c * r
    return c + (c * h) * (0.6666666865348816 + h * 0.5555555820465088)


def natural_log(v: Array) -> Array:
    """Return ln v for v > 0: v = 2**e m with m from 0.7071 to 1.4142; ln m = 2 artanh s with s = (m - 1) / (m + 1)."""
    bits = v.view(np.int32)
    power = (bits - np.int32(0x3F3504F3)) >> np.int32(23)
    m: Array = (bits - (power << np.int32(23))).view(np.float32)
    s = (m - 1.0) / (m + 1.0)
    return power.astype(np.float32) * 0.6931471824645996 + s * _polynomial(s * s, _LOG)


def power_of_e(v: Array) -> Array:
    """Return e**v for v from -87 to 88: v = k ln 2 + r, and a polynomial of r."""
    k = (v * 1.4426950216293335 + _THREE_22) - _THREE_22
    r = (v - k * 0.693145751953125) - k * 1.4286068202862268e-06
    return _polynomial(r, _EXP) * ((k.astype(np.int32) + np.int32(127)) << np.int32(23)).view(np.float32)


def angle_of(y: Array, x: Array) -> Array:
    """Return the angle of the point (x, y), from 0 to 2π; 0 at the origin."""
    ax, ay = np.abs(x), np.abs(y)
    high, low = np.where(ax > ay, ax, ay), np.where(ax > ay, ay, ax)
    below = high + _TAN_EIGHTH * low
    t = (low - _TAN_EIGHTH * high) / np.where(below > 0.0, below, np.float32(1.0))
    a = 0.39269909262657166 + t * _polynomial(t * t, _ATAN)
    a = np.where(a > 0.0, a, np.float32(0.0))
    a = np.where(ay > ax, 1.5707963705062866 - a, a)
    a = np.where(x < 0.0, 3.1415927410125732 - a, a)
    a = np.where(y < 0.0, 6.2831854820251465 - a, a)
    return np.where(high > 0.0, a, np.float32(0.0))


def cosine_and_sine(angle: Array) -> tuple[Array, Array]:
    """Return cosine and sine: of a multiple of π/2, whose last bits say which way, and a rest within π/4."""
    t = angle * 0.6366197466850281 + _THREE_22
    n, quarter = t - _THREE_22, t.view(np.int32)
    r = ((angle - n * 1.5703125) - n * 0.00048351287841796875) - n * 3.138547639787314e-07
    z = r * r
    c, s = _polynomial(z, _COS), r * _polynomial(z, _SIN)
    odd = quarter & 1 == 1
    first, second = np.where(odd, s, c), np.where(odd, c, s)
    return np.where((quarter + 1) & 2 == 2, -first, first), np.where(quarter & 2 == 2, -second, second)
