"""The numbers of a plan: gains, matrices and offsets from the moments of two images."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.moments import Moments, Pairs
from recolorist.core.options import MatchOptions
from recolorist.core.spaces import Mixing, Rows
from recolorist.errors import StatisticsError

__all__ = ["Flags", "MapNumbers", "Pairs", "by_covariance", "by_mixed_deviation", "diagonal_map", "gain_of", "gains_of"]

Array = NDArray[np.float64]

_PAPER_EPSILON: Final = 1e-8  # equation (1) of the paper
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
        """Whether any channel carries this flag."""
        return any(name in channel for channel in self)

    def __bool__(self) -> bool:
        """Whether anything was flagged."""
        return any(len(channel) for channel in self)


class MapNumbers(NamedTuple):
    """The numbers of a plan."""

    matrix: Array
    offset: Array
    gain: Array
    flags: Flags


def mean_and_variance(moments: Moments, data_range: float | None = None) -> Pairs:
    """The two numbers per channel that mean–std matching in RGB looks at, in the units of another image if its range is given."""
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
    """The means, and the square roots of the variances.

    >>> mean_and_deviation([(1.0, 4.0), (2.0, 9.0)])
    ([1.0, 2.0], [2.0, 3.0])
    """
    return [mean for mean, _ in pairs], [math.sqrt(variance) for _, variance in pairs]


def rescaled_pairs(mean: Array, variance: Array, ratio: float) -> Pairs:
    """Mean and variance per channel in other units: the numbers of ``Moments.rescaled`` without making one."""
    square = ratio * ratio
    return [(m * ratio, v * square) for m, v in zip(mean.tolist(), variance.tolist(), strict=True)]


def gain_of(content_variance: float, style_variance: float, max_gain: float, eps_mode: str) -> tuple[float, tuple[str, ...]]:
    """The factor for one channel and its flags; the rule every route shares.

    >>> gain_of(4.0, 1.0, 10.0, "exact")
    (0.5, ())
    >>> gain_of(0.0, 1.0, 10.0, "exact")
    (0.0, ('flat',))
    """
    if eps_mode == "paper":
        return math.sqrt(style_variance) / (math.sqrt(content_variance) + _PAPER_EPSILON), ()
    if content_variance == 0:
        return 0.0, ("flat",)
    if style_variance == 0:
        return 0.0, ("collapsed",)
    deviation = math.sqrt(content_variance)
    if math.sqrt(style_variance) > max_gain * deviation:
        return max_gain, ("gain_capped",)
    return math.sqrt(style_variance) / deviation, ()


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
    """Gain, offset and flags per channel from (mean, variance) pairs.

    Plain floats, because arrays of three numbers would cost more than the pixels of a small image.

    >>> diagonal_map([(1.0, 1.0)], [(20.0, 100.0)], MatchOptions())
    ([10.0], [10.0], ((),))
    """
    gains, offsets, flags = [], [], []
    strength, max_gain, eps_mode = options.strength, options.max_gain, options.eps_mode
    same = eps_mode == "exact" and content == style  # matched to itself it stays as it is, also where it is flat
    for (mean, variance), (style_mean, style_variance) in zip(content, style, strict=True):
        gain, flag = gain_of(variance, style_variance, max_gain, eps_mode)
        gain, offset = (1.0, 0.0) if same else (gain, style_mean - gain * mean)
        if strength < 1:  # full strength is left untouched by the rounding of this blend
            gain, offset = 1.0 + strength * (gain - 1.0), strength * offset
        gains.append(gain)
        offsets.append(offset)
        flags.append(flag)
    return gains, offsets, Flags(flags)


def clipped_levels(gain: Any, offset: Any, high: int) -> NDArray[np.bool_]:
    """For each channel and level from 0 to ``high``, whether a diagonal map drives it out of that range.

    >>> clipped_levels([2.0], [-1.0], 3).tolist()
    [[True, False, False, True]]
    """
    rounded = np.rint(np.asarray(gain)[:, None] * np.arange(high + 1.0) + np.asarray(offset)[:, None])
    return np.asarray((rounded < 0) | (rounded > high))


def refuse_collapse(flags: Flags) -> None:
    """What ``strict`` does."""
    if "collapsed" in flags:
        raise StatisticsError(
            "the style has a flat channel, so the output would be constant there; choose another style or drop strict"
        )


def by_mixed_deviation(content: Moments, style: Moments, basis: Mixing, options: MatchOptions) -> MapNumbers:
    """Plan mean–std matching in a linear space: ``M⁻¹ D M``, with the gains D of that space.

    Plain floats in a fixed order: library routines for such small matrices give other last bits on other processors.
    """
    rows, inverse = basis.numbers
    r0, r1, r2 = rows
    variances = zip(_variances(content.cov.tolist(), rows), _variances(style.cov.tolist(), rows), strict=True)
    gains, flags = zip(*(gain_of(c, s, options.max_gain, options.eps_mode) for c, s in variances), strict=True)
    d0, d1, d2 = change = [options.strength * (gain - 1.0) for gain in gains]
    # identity plus a change, so that equal deviations give exactly the identity
    matrix = [
        [float(i == j) + (a * d0 * r0[j] + b * d1 * r1[j] + c * d2 * r2[j]) for j in (0, 1, 2)]
        for i, (a, b, c) in enumerate(inverse)
    ]
    offset = _offset(matrix, content, style, options.strength)
    return MapNumbers(np.array(matrix), offset, np.array([1.0 + value for value in change]), Flags(flags))


def _ordered_sum(terms: Iterable[float]) -> float:
    """Add from left to right; `sum` has compensated its rounding since Python 3.12, and must not here."""
    total = 0.0
    for term in terms:
        total += term
    return total


def by_covariance(content: Moments, style: Moments, basis: Mixing | None, strength: float, max_gain: float) -> MapNumbers:
    """Plan the Monge–Kantorovich map: of all linear maps that give the style's covariance, the one that moves least."""
    channels = content.channels
    if basis is None:
        variances = zip(content.cov.diagonal().tolist(), style.cov.diagonal().tolist(), strict=True)
    else:
        rows, _ = basis.numbers
        variances = zip(_variances(content.cov.tolist(), rows), _variances(style.cov.tolist(), rows), strict=True)
    flags = Flags(gain_of(c, s, math.inf, "exact")[1] for c, s in variances)
    identity = np.eye(channels)
    if np.array_equal(content.cov, style.cov):
        move, capped = identity, False
    elif basis is None:
        move, capped = _optimal_transport(content.cov, style.cov, max_gain)
    else:
        move, capped = _optimal_transport(
            _product(basis.rows, content.cov, basis.rows.T), _product(basis.rows, style.cov, basis.rows.T), max_gain
        )
    if capped:
        flags = Flags((*channel, "gain_capped") for channel in flags)
    change = strength * (move - identity)
    matrix = identity + (change if basis is None else _product(basis.inverse, change, basis.rows))
    return MapNumbers(matrix, _offset(matrix.tolist(), content, style, strength), 1.0 + change.diagonal(), flags)


def _product(first: Array, second: Array, third: Array) -> Array:
    """Multiply three 3 x 3 matrices, summed in order: a library would choose its own, by processor."""
    return np.array(kernels.loops.product(*(matrix.ravel().tolist() for matrix in (first, second, third)))).reshape(3, 3)


def _offset(matrix: list[list[float]], content: Moments, style: Moments, strength: float) -> Array:
    """What carries the content's mean to its goal: the style's, or at part strength a point on the way there."""
    mean, goal = content.mean.tolist(), style.mean.tolist()
    if strength < 1:
        goal = [start + strength * (end - start) for start, end in zip(mean, goal, strict=True)]
    if len(mean) == 3:
        x, y, z = mean
        return np.array([end - ((a * x + b * y) + c * z) for end, (a, b, c) in zip(goal, matrix, strict=True)])
    moved = [_ordered_sum(factor * value for factor, value in zip(row, mean, strict=True)) for row in matrix]
    return np.array([end - reached for end, reached in zip(goal, moved, strict=True)])


def _optimal_transport(content: Array, style: Array, max_gain: float) -> tuple[Array, bool]:
    """Σc^-½ (Σc^½ Σs Σc^½)^½ Σc^-½ on the directions in which the content varies, zero on the others."""
    if len(content) == 3:
        numbers, capped = kernels.loops.transport(content.ravel().tolist(), style.ravel().tolist(), max_gain, _NOISE)
        return np.array(numbers).reshape(3, 3), capped
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
    return directions * held @ directions.T, bool((factors > max_gain).any())


def _variances(cov: list[list[float]], rows: Rows) -> list[float]:
    """Return the variance of each channel of the space; what is rounding noise becomes exactly zero."""
    (c00, c01, c02), (c10, c11, c12), (c20, c21, c22) = cov
    d0, d1, d2 = math.sqrt(c00), math.sqrt(c11), math.sqrt(c22)
    variances = []
    for a, b, c in rows:  # added from left to right, term by term: the order is part of the definition
        mixed = (
            a * c00 * a
            + a * c01 * b
            + a * c02 * c
            + b * c10 * a
            + b * c11 * b
            + b * c12 * c
            + c * c20 * a
            + c * c21 * b
            + c * c22 * c
        )
        scale = abs(a) * d0 + abs(b) * d1 + abs(c) * d2
        if not math.isfinite(mixed):
            raise StatisticsError("the variances are too large to be mixed in this space; measure images in a smaller data_range")
        variances.append(mixed if mixed > _NOISE * scale * scale else 0.0)
    return variances
