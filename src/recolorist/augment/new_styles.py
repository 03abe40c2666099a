"""Samplers that make new styles: between those of the bank, beyond them, like them, or near the image's own."""

from __future__ import annotations

import math
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.row_samplers import any_row
from recolorist.augment.styles import Content, Sampler, Style
from recolorist.bank.features import style_features
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.core import kernels
from recolorist.core.kernels.fallback_math import natural_log
from recolorist.core.kernels.fallback_transport import compose, decompose
from recolorist.core.moments import Moments, trusted_moments
from recolorist.core.style_change import LEAST_MEAN, MOST_LOGARITHM, MOST_MEAN, StyleChange
from recolorist.errors import OptionError

__all__ = [
    "beyond",
    "beyond_by",
    "change_sizes",
    "extrapolate",
    "extrapolate_by",
    "gaussian",
    "interpolate",
    "own_style",
    "own_style_by",
    "refuse_other_space",
]

Array = NDArray[np.float64]

_SPREAD: Final = 0.15  # deviation of the entries of a camera's matrix in `beyond`
_LEAST: Final = 1e-300  # stands for a variance of zero where it divides
_FLAT: Final = 1e-6  # smallest deviation whose logarithm is taken, in a range from 0 to 1


def interpolate(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw a style on the way between two images.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3))
        >>> interpolate(bank, np.random.default_rng(1), Content(row=0)).name
        'interpolate(2, 1, 0.9505)'
    """
    first = any_row(bank, rng, content.row)
    second = any_row(bank, rng, first)
    share = float(rng.random())
    mean = bank.mean[first] + share * (bank.mean[second] - bank.mean[first])
    cov = bank.cov[first] + share * (bank.cov[second] - bank.cov[first])
    name = f"interpolate({bank.keys[first]}, {bank.keys[second]}, {share:.4f})"
    return Style(name, None, trusted_moments(int(bank.pixels[first]), mean, cov, 1.0, bank.space))


def gaussian(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:  # noqa: ARG001 - the common signature
    """Draw a new style from the normal distribution fitted to the bank's means and log-Cholesky covariances.

    The logarithm makes every covariance positive definite. In RGB a mean below 0.02 or above 0.98 is reduced to that limit,
    unless an image of the bank has such a mean. So is a variance above m (1 - m), which no image of mean m can have
    (``is_capped``). A bank of several hospitals is one distribution here, which also fills the gaps between
    them. Draw from ``bank.subset(domain=...)`` where that is not wanted.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3))
        >>> gaussian(bank, np.random.default_rng(1), Content(row=0)).name
        'gaussian'
    """
    centre, spread = _fit_gaussian(bank)
    features = centre + spread @ rng.standard_normal(len(centre))
    return Style("gaussian", None, *_moments_of(features, bank))


def extrapolate(bank: StyleBank, rng: np.random.Generator, content: Content, factor: float = 1.5) -> Style:
    """Draw an image's style and carry it on from the bank's centre by a factor: outside the hull for those at its edge.

    What no image can have is reduced to the limit, as in :func:`gaussian`.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.
        factor: How far the style is carried; 1 leaves it where it is.

    Returns:
        The style.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3))
        >>> extrapolate(bank, np.random.default_rng(1), Content(row=0)).name
        'extrapolate(2, 1.5)'
    """
    row = any_row(bank, rng, content.row)
    centre, _ = _fit_gaussian(bank)
    features = centre + factor * (style_features(bank.mean[row : row + 1], bank.cov[row : row + 1])[0] - centre)
    return Style(f"extrapolate({bank.keys[row]}, {factor:g})", None, *_moments_of(features, bank))


def extrapolate_by(factor: float) -> Sampler:
    """Return :func:`extrapolate` with another factor.

    Args:
        factor: From 0 to 100.

    Returns:
        The sampler.

    Example:
        >>> extrapolate_by(2.0).keywords
        {'factor': 2.0}
    """
    return partial(extrapolate, factor=check.number(factor, 0, 100, "factor"))


def beyond(bank: StyleBank, rng: np.random.Generator, content: Content, spread: float = _SPREAD) -> Style:
    """Draw an image's style as another camera would give it: outside the bank in every direction.

    Another image of the bank has the mean m and the covariance C; the style has the mean M m + o and the covariance M C Mᵀ. M is
    the identity plus normal numbers of deviation ``spread``; the offset o has a third of it. What no image can have is reduced
    to the limit, as in :func:`gaussian`. The mathematics is in docs/samplers.md.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.
        spread: Deviation of the entries of M.

    Returns:
        The style.

    Raises:
        OptionError: The bank is of another space than RGB.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3))
        >>> beyond(bank, np.random.default_rng(1), Content(row=0)).name
        'beyond(2, 0.15)'
    """
    refuse_other_space(bank, "beyond")
    row = any_row(bank, rng, content.row)
    matrix = np.eye(bank.channels) + spread * rng.standard_normal((bank.channels, bank.channels))
    mean = matrix @ bank.mean[row] + spread / 3.0 * rng.standard_normal(bank.channels)
    moments, is_capped = _capped(mean, matrix @ bank.cov[row] @ matrix.T, int(bank.pixels[row]), bank)
    return Style(f"beyond({bank.keys[row]}, {spread:g})", None, moments, is_capped)


def beyond_by(spread: float) -> Sampler:
    """Return :func:`beyond` with another spread.

    Args:
        spread: From 0 to 100.

    Returns:
        The sampler.

    Example:
        >>> beyond_by(0.3).keywords
        {'spread': 0.3}
    """
    return partial(beyond, spread=check.number(spread, 0, 100, "spread"))


def own_style(
    bank: StyleBank,
    rng: np.random.Generator,
    content: Content,  # noqa: ARG001 - the common signature
    scale: float = 1.0,
    least: float = 0.1,
    mix: float = 0.1,
) -> Style:
    """Draw a change of the image's own style, as large as the images of the bank differ.

    With the image's own mean m and covariance C, its style becomes m + d and T C T. The step d is normal with the covariance of
    the bank's means. T is the exponential of a symmetric matrix of normal numbers; those of its diagonal have the deviations of
    the bank's logarithmic deviations. With ``method="mean_std"`` channels do not mix, and T is the exponential of the diagonal
    alone. What no image can have is reduced to the limit when the image is known. The mathematics is in docs/samplers.md.

    Args:
        bank: The bank that gives the size of the change.
        rng: The generator of this draw.
        content: What is known of the image to be changed.
        scale: Factor on the deviations of the bank.
        least: Smallest deviation of the step and of the diagonal, because a bank of one laboratory has hardly any.
        mix: Deviation of the entries beside the diagonal, by which channels mix.

    Returns:
        The style, whose ``goal`` is a :class:`~recolorist.core.style_change.StyleChange`.

    Raises:
        OptionError: The bank is of another space than RGB.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), split="train")
        >>> style = own_style(bank, np.random.default_rng(1), Content())
        >>> style.name, len(style.goal.step), style.row
        ('own_style(1, 0.1, 0.1)', 3, None)
    """
    refuse_other_space(bank, "own_style")
    channels = bank.channels
    root, deviations = change_sizes(bank, scale, least)
    numbers = rng.standard_normal(2 * channels + channels * (channels - 1) // 2)
    step = _sum_rows((root * numbers[:channels]).T)
    exponents, above = (deviations * numbers[channels : 2 * channels]).tolist(), (mix * numbers[2 * channels :]).tolist()
    gains, matrix = _exponential(_symmetric(exponents, [0.0] * len(above))), _exponential(_symmetric(exponents, above))
    change = StyleChange(tuple(step.tolist()), tuple(row[i] for i, row in enumerate(gains)), matrix)
    return Style(f"own_style({scale:g}, {least:g}, {mix:g})", None, change)


def own_style_by(scale: float = 1.0, least: float = 0.1, mix: float = 0.1) -> Sampler:
    """Return :func:`own_style` with changes of another size.

    Args:
        scale: Factor on the deviations of the bank, from 0 to 100.
        least: Smallest deviation, from 0 to 100.
        mix: Deviation of the entries by which channels mix, from 0 to 10.

    Returns:
        The sampler.

    Raises:
        OptionError: A number lies outside its limits.

    Example:
        >>> own_style_by(scale=2.0).keywords
        {'scale': 2.0, 'least': 0.1, 'mix': 0.1}
    """
    return partial(
        own_style,
        scale=check.number(scale, 0, 100, "scale"),
        least=check.number(least, 0, 100, "least"),
        mix=check.number(mix, 0, 10, "mix"),
    )


def refuse_other_space(bank: StyleBank, name: str) -> None:
    """Refuse a bank of another space than RGB, for the samplers that change RGB values.

    Args:
        bank: The bank.
        name: The name of the sampler.

    Raises:
        OptionError: It is of another space.
    """
    if bank.space != "rgb":
        raise OptionError(f"sampler={name!r} changes RGB values, and the bank holds {bank.space!r}; use space='rgb'")


_fits: WeakKeyDictionary[StyleBank, tuple[Array, Array]] = WeakKeyDictionary()


def _fit_gaussian(bank: StyleBank) -> tuple[Array, Array]:
    """Centre of the features and a square root of their covariance; fitted once per bank."""
    if bank not in _fits:
        features = style_features(bank.mean, bank.cov)
        centre = features.mean(axis=0)
        deviations = features - centre
        spread, axes = np.linalg.eigh(deviations.T @ deviations / max(1, len(features) - 1))
        _fits[bank] = centre, axes * np.sqrt(np.maximum(spread, 0.0))
    return _fits[bank]


_sizes: WeakKeyDictionary[StyleBank, dict[tuple[float, float], tuple[Array, Array]]] = WeakKeyDictionary()


def change_sizes(bank: StyleBank, scale: float = 1.0, least: float = 0.1) -> tuple[Array, Array]:
    """Return how large the changes of :func:`own_style` are; worked out once per bank.

    Args:
        bank: The bank.
        scale: Factor on its deviations.
        least: Smallest deviation.

    Returns:
        A matrix (C, C) that turns independent normal numbers into a step, and the deviation of the logarithm of each gain (C,).

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), split="train")
        >>> root, deviations = change_sizes(bank, scale=0.0, least=0.5)
        >>> root.round(12).tolist() == np.diag(deviations).tolist() == [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]]
        True
    """
    known = _sizes.setdefault(bank, {})
    if (scale, least) not in known:
        means, logarithms = (_deviations(rows) for rows in (bank.mean, natural_log(np.maximum(bank.std, _FLAT))))
        products = _sum_rows(means[:, :, None] * means[:, None, :]) / max(1, len(bank) - 1)
        spread = np.sqrt(_sum_rows(logarithms * logarithms) / len(bank))
        known[scale, least] = _root(products, scale, least), np.maximum(scale * spread, least)
    return known[scale, least]


def _deviations(rows: Array) -> Array:
    return rows - _sum_rows(rows) / len(rows)


def _sum_rows(rows: Array) -> Array:
    """Sum the rows in their order, which a sum would choose by the layout in memory: same bits everywhere, and in the Studio."""
    total: Array = np.add.accumulate(rows)[-1]
    return total


def _root(products: Array, scale: float, least: float) -> Array:
    """Return the square root of a covariance with each deviation scaled, and at least ``least``."""
    if len(products) != 3:
        values, axes = np.linalg.eigh(products)
        root: Array = (axes * np.maximum(scale * np.sqrt(np.maximum(values, 0.0)), least)) @ axes.T
        return root
    spread, vectors = decompose(products.tolist())  # in a fixed order: a library would choose its own, by processor
    return np.array(compose(vectors, [max(scale * math.sqrt(max(value, 0.0)), least) for value in spread]))


def _symmetric(diagonal: list[float], above: list[float]) -> list[list[float]]:
    """Return a symmetric matrix from its diagonal and, row by row, what is above it."""
    rows, others = [[value] * len(diagonal) for value in diagonal], iter(above)
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            rows[i][j] = rows[j][i] = next(others)
    return rows


def _exponential(symmetric: list[list[float]]) -> tuple[tuple[float, ...], ...]:
    """Return the exponential of a symmetric matrix, symmetric to the last bit; its eigenvalues are limited."""
    if len(symmetric) == 3:
        numbers = kernels.loops.exponential([*symmetric[0], *symmetric[1], *symmetric[2]], MOST_LOGARITHM)
        return numbers[:3], numbers[3:6], numbers[6:]
    values, directions = np.linalg.eigh(np.array(symmetric))
    matrix = (directions * np.exp(np.clip(values, -MOST_LOGARITHM, MOST_LOGARITHM))) @ directions.T
    return tuple(map(tuple, ((matrix + matrix.T) / 2).tolist()))


def _moments_of(features: Array, bank: StyleBank) -> tuple[Moments, bool]:
    """Return the style of features, made one that an image can have, and whether that changed it."""
    channels = bank.channels
    rows, columns = np.tril_indices(channels)
    flat = features[channels:].copy()
    diagonal = rows == columns
    flat[diagonal] = np.exp(np.clip(flat[diagonal], -20.0, 20.0))
    factor = np.zeros((channels, channels))
    factor[rows, columns] = flat
    return _capped(features[:channels], factor @ factor.T, int(np.median(bank.pixels)), bank)


_limits: WeakKeyDictionary[StyleBank, tuple[Array, Array]] = WeakKeyDictionary()


def _mean_limits(bank: StyleBank) -> tuple[Array, Array]:
    """Return the least and the largest mean of new styles: at 0 and 1 no variance is possible, and a channel would be flat."""
    if bank not in _limits:
        _limits[bank] = np.minimum(LEAST_MEAN, bank.mean.min(axis=0)), np.maximum(MOST_MEAN, bank.mean.max(axis=0))
    return _limits[bank]


def _capped(mean: Array, cov: Array, count: int, bank: StyleBank) -> tuple[Moments, bool]:
    """Reduce a mean and a covariance in RGB to what an image can have, and say whether that changed them."""
    is_capped = False
    if bank.space == "rgb":
        inside = np.clip(mean, *_mean_limits(bank))
        scale = np.sqrt(np.minimum(1.0, inside * (1.0 - inside) / np.maximum(cov.diagonal(), _LEAST)))
        is_capped = bool((inside != mean).any() or scale.min() < 1.0)
        mean, cov = inside, cov * np.outer(scale, scale)
    return trusted_moments(count, mean, (cov + cov.T) / 2, 1.0, bank.space), is_capped
