"""The numbers of a plan: gains, matrices and offsets from the moments of two images."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.moments import Moments
from recolorist.core.options import MatchOptions
from recolorist.core.spaces import Mixing
from recolorist.core.sums import Pairs
from recolorist.errors import StatisticsError

__all__ = [
    "Flags",
    "MapNumbers",
    "Pairs",
    "by_covariance",
    "by_mixed_deviation",
    "clipped_levels",
    "diagonal_map",
    "gain_of",
    "gains_of",
    "mean_and_deviation",
    "mean_and_variance",
    "refuse_collapse",
    "rescaled_pairs",
]

Array = NDArray[np.float64]

_PAPER_EPSILON: Final = 1e-8  # equation (1) of the paper
_IDENTITY: Final = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_NOISE: Final = 1e-13  # a mixed channel with this small a share of its terms' variance is flat but for rounding


class Flags(tuple[Any, ...]):  # of tuples of names; Any, or type checkers would refuse `"flat" in flags`
    """What was unusual, per channel of the matching space; ``"flat" in flags`` asks for any channel.

    ``flat``: the content has one value there and is moved to the style's mean. ``collapsed``: the style has one value
    there, so the output has too. ``gain_capped``: the content was nearly flat and the gain was held at ``max_gain``.
    ``blank``: the whole content has nothing in it; see :mod:`recolorist.core.blank`.

    >>> flags = Flags([("flat",), (), ()])
    >>> "flat" in flags, flags[1], bool(flags)
    (True, (), True)
    """

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        """Return whether any channel carries this flag."""
        return any(name in channel for channel in self)

    def __bool__(self) -> bool:
        """Return whether anything was flagged."""
        return any(len(channel) for channel in self)


class MapNumbers(NamedTuple):
    """The numbers of a plan, the matrix row by row."""

    matrix: list[float]
    offset: list[float]
    gain: list[float]
    flags: Flags


def mean_and_variance(moments: Moments, data_range: float | None = None) -> Pairs:
    """Return mean and variance per channel, in the units of another image if its range is given."""
    if data_range is None or data_range == moments.data_range:
        return moments.pairs
    if math.isinf(data_range) or math.isinf(moments.data_range):
        moments.rescaled(data_range)  # refuses, with the reason
    ratio = data_range / moments.data_range
    square = ratio * ratio
    pairs = [(mean * ratio, variance * square) for mean, variance in moments.pairs]
    if not all(math.isfinite(mean) and math.isfinite(variance) for mean, variance in pairs):
        moments.rescaled(data_range)  # refuses, with the reason
    return pairs


def mean_and_deviation(pairs: Pairs) -> tuple[list[float], list[float]]:
    """Return the means, and the square roots of the variances.

    Example:
        >>> mean_and_deviation([(1.0, 4.0), (2.0, 9.0)])
        ([1.0, 2.0], [2.0, 3.0])
    """
    return [mean for mean, _ in pairs], [math.sqrt(variance) for _, variance in pairs]


def rescaled_pairs(mean: Array, variance: Array, ratio: float) -> Pairs:
    """Return mean and variance per channel in other units: the numbers of ``Moments.rescaled`` without making one."""
    square = ratio * ratio
    return [(m * ratio, v * square) for m, v in zip(mean.tolist(), variance.tolist(), strict=True)]


def gain_of(content_variance: float, style_variance: float, max_gain: float, eps_mode: str) -> tuple[float, tuple[str, ...]]:
    """Return the factor for one channel and its flags; the rule every route shares.

    Example:
        >>> gain_of(4.0, 1.0, 10.0, "exact")
        (0.5, ())
        >>> gain_of(0.0, 1.0, 10.0, "exact")
        (0.0, ('flat',))
    """
    deviation, style_deviation = sqrt(content_variance), sqrt(style_variance)
    if eps_mode == "paper":
        return style_deviation / (deviation + _PAPER_EPSILON), ()
    if 0.0 < style_deviation <= max_gain * deviation:
        return style_deviation / deviation, ()
    if content_variance == 0:
        return 0.0, ("flat",)
    return (0.0, ("collapsed",)) if style_variance == 0 else (max_gain, ("gain_capped",))


def gains_of(content_std: Array, style_std: Array, max_gain: float) -> tuple[Array, NDArray[np.bool_]]:
    """:func:`gain_of` in exact mode for arrays of deviations: the factors, and where they were capped.

    >>> [part.tolist() for part in gains_of(np.array([2.0, 0.0, 0.1]), np.array([1.0, 1.0, 5.0]), 10.0)]
    [[0.5, 0.0, 10.0], [False, False, True]]
    """
    varies = content_std > 0
    zeros = np.zeros(np.broadcast_shapes(content_std.shape, style_std.shape))
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite limit times a flat channel; ratios beyond any float
        capped = varies & (style_std > max_gain * content_std)
        ratio = np.divide(style_std, content_std, out=zeros, where=varies)
    return np.where(capped, max_gain, ratio), capped


def diagonal_map(
    content: Sequence[tuple[float, float]],
    style: Sequence[tuple[float, float]],
    options: MatchOptions,
) -> tuple[list[float], list[float], Flags]:
    """Return gain, offset and flags per channel from (mean, variance) pairs.

    Plain floats, because arrays of three numbers would cost more than the pixels of a small image.

    >>> diagonal_map([(1.0, 1.0)], [(20.0, 100.0)], MatchOptions())
    ([10.0], [10.0], ((),))
    """
    gains, offsets, flags = [], [], []
    strength, max_gain, eps_mode = options.strength, options.max_gain, options.eps_mode
    for (mean, variance), (style_mean, style_variance) in zip(content, style, strict=True):
        gain, flag = gain_of(variance, style_variance, max_gain, eps_mode)
        gains.append(gain)
        offsets.append(style_mean - gain * mean)
        flags.append(flag)
    if eps_mode == "exact" and content == style:  # matched to itself it stays as it is, also where it is flat
        gains, offsets = [1.0] * len(gains), [0.0] * len(gains)
    if strength < 1:  # full strength is left untouched by the rounding of this blend
        gains = [1.0 + strength * (gain - 1.0) for gain in gains]
        offsets = [strength * offset for offset in offsets]
    return gains, offsets, Flags(flags)


def clipped_levels(gain: Any, offset: Any, high: int) -> NDArray[np.bool_]:
    """Return, for each channel and level from 0 to ``high``, whether a diagonal map drives it out of that range.

    >>> clipped_levels([2.0], [-1.0], 3).tolist()
    [[True, False, False, True]]
    """
    rounded = np.rint(np.asarray(gain)[:, None] * np.arange(high + 1.0) + np.asarray(offset)[:, None])
    return np.asarray((rounded < 0) | (rounded > high))


def refuse_collapse(flags: Flags) -> None:
    """Refuse a style with a flat channel, for ``strict``."""
    if "collapsed" in flags:
        raise StatisticsError(
            "the style has a flat channel, so the output would be constant there; choose another style or drop strict"
        )


def by_mixed_deviation(content: Moments, style: Moments, basis: Mixing, options: MatchOptions) -> MapNumbers:
    """Plan mean–std matching in a linear space: ``M⁻¹ D M``, with the gains D of that space.

    Plain floats in a fixed order: library routines for such small matrices give other last bits on other processors. Arrays of
    nine numbers would also take longer than the pixels of a small image.

    Args:
        content: The moments of the content, in RGB.
        style: Those of the style, in the content's units.
        basis: The rows of the space, up to scale.
        options: How to match.

    Returns:
        The numbers of the plan.

    Raises:
        StatisticsError: The variances are too large to be mixed.
    """
    rows, inverse = basis.numbers
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = rows
    changes, flags, strength = [], [], options.strength
    for content_variance, style_variance in zip(_variances(content, rows), _variances(style, rows), strict=True):
        gain, flag = gain_of(content_variance, style_variance, options.max_gain, options.eps_mode)
        changes.append(strength * (gain - 1.0))
        flags.append(flag)
    d0, d1, d2 = changes
    matrix = []
    for a, b, c in (inverse[:3], inverse[3:6], inverse[6:]):
        a, b, c = a * d0, b * d1, c * d2  # noqa: PLW2901 - from here on times the change
        matrix += [a * a0 + b * b0 + c * c0, a * a1 + b * b1 + c * c1, a * a2 + b * b2 + c * c2]
    # identity plus a change, so that equal deviations give exactly the identity
    matrix = [unit + change for unit, change in zip(_IDENTITY, matrix, strict=True)]
    offset = _offset(matrix, content, style, strength)
    return MapNumbers(matrix, offset, [1.0 + change for change in changes], Flags(flags))


def _ordered_sum(terms: Iterable[float]) -> float:
    """Add from left to right; `sum` has compensated its rounding since Python 3.12, and must not here."""
    total = 0.0
    for term in terms:
        total += term
    return total


def by_covariance(content: Moments, style: Moments, basis: Mixing | None, strength: float, max_gain: float) -> MapNumbers:
    """Plan the Monge–Kantorovich map: of all linear maps that give the style's covariance, the one that moves least.

    Args:
        content: The moments of the content.
        style: Those of the style, in the content's units.
        basis: The matrix of a linear space; None for the channels themselves.
        strength: 0 leaves the image as it is, 1 matches it fully.
        max_gain: Largest factor on any direction.

    Returns:
        The numbers of the plan.

    Raises:
        StatisticsError: The variances are too large to be mixed.
    """
    channels = content.channels
    start, end = [value for row in content.rows for value in row], [value for row in style.rows for value in row]
    rows, inverse = ((), ()) if basis is None else basis.numbers
    if basis is None:
        variances = zip(start[:: channels + 1], end[:: channels + 1], strict=True)
    else:
        variances = zip(_variances(content, rows), _variances(style, rows), strict=True)
    flags = Flags([gain_of(c, s, math.inf, "exact")[1] for c, s in variances])
    is_same, capped = start == end, False
    change = [0.0] * len(start)
    if not is_same:
        if basis is not None:
            transposed = (*rows[::3], *rows[1::3], *rows[2::3])
            start, end = (kernels.loops.product(rows, cov, transposed) for cov in (start, end))
        move, capped = _optimal_transport(start, end, channels, max_gain)
        diagonal = channels + 1
        change = [strength * (value - 1.0 if k % diagonal == 0 else value) for k, value in enumerate(move)]
    if capped:
        flags = Flags((*channel, "gain_capped") for channel in flags)
    gain = [1.0 + value for value in change[:: channels + 1]]
    if basis is not None:
        change = kernels.loops.product(inverse, change, rows)
    matrix = [(1.0 if k % (channels + 1) == 0 else 0.0) + value for k, value in enumerate(change)]
    return MapNumbers(matrix, _offset(matrix, content, style, strength), gain, flags)


def _offset(matrix: Sequence[float], content: Moments, style: Moments, strength: float) -> list[float]:
    """Return what carries the content's mean to the style's, or at part strength to a point on the way there."""
    start, end = [mean for mean, _ in content.pairs], [mean for mean, _ in style.pairs]
    if strength < 1:
        end = [before + strength * (after - before) for before, after in zip(start, end, strict=True)]
    if len(start) == 3:
        (x, y, z), (a, b, c, d, e, f, g, h, i) = start, matrix
        return [end[0] - ((a * x + b * y) + c * z), end[1] - ((d * x + e * y) + f * z), end[2] - ((g * x + h * y) + i * z)]
    channels = len(start)
    rows = [matrix[k : k + channels] for k in range(0, len(matrix), channels)]
    moved = [_ordered_sum(factor * value for factor, value in zip(row, start, strict=True)) for row in rows]
    return [after - reached for after, reached in zip(end, moved, strict=True)]


def _optimal_transport(
    start: Sequence[float], end: Sequence[float], channels: int, max_gain: float
) -> tuple[Sequence[float], bool]:
    """Σc^-½ (Σc^½ Σs Σc^½)^½ Σc^-½ on the directions in which the content varies, zero on the others."""
    if channels == 3:
        numbers, capped = kernels.loops.transport(start, end, max_gain, _NOISE)
        return numbers, capped
    content, style = (np.array(cov).reshape(channels, channels) for cov in (start, end))
    spread, axes = np.linalg.eigh((content + content.T) / 2)
    varies = spread > spread[-1] * _NOISE
    root = np.where(varies, np.sqrt(np.maximum(spread, 0.0)), 0.0)
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=varies)
    half, unhalf = axes * root @ axes.T, axes * inverse @ axes.T
    middle_spread, middle_axes = np.linalg.eigh(half @ style @ half)
    middle_root = np.where(middle_spread > middle_spread[-1] * _NOISE, np.sqrt(np.maximum(middle_spread, 0.0)), 0.0)
    middle = middle_axes * middle_root @ middle_axes.T
    move = unhalf @ middle @ unhalf
    factors, directions = np.linalg.eigh((move + move.T) / 2)
    held = np.clip(factors, 0.0, max_gain)
    return (directions * held @ directions.T).ravel().tolist(), bool((factors > max_gain).any())


def _variances(moments: Moments, rows: Sequence[float]) -> Sequence[float]:
    """Return the variance of each channel of a linear space; what is rounding noise becomes exactly zero."""
    first, second, third = moments.rows
    variances: Sequence[float] | None = kernels.loops.mixed_variances([*first, *second, *third], rows, _NOISE)
    if variances is None:
        raise StatisticsError("the variances are too large to be mixed in this space; measure images in a smaller data_range")
    return variances
