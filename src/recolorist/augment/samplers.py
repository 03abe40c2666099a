"""Choosing a style: which one, or one between, beyond or like those of the bank."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.features import style_features
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.core.moments import Moments, trusted_moments
from recolorist.errors import OptionError

__all__ = [
    "SAMPLERS",
    "Content",
    "Sampler",
    "Style",
    "balanced_domain",
    "beyond",
    "beyond_by",
    "extrapolate",
    "extrapolate_by",
    "gaussian",
    "interpolate",
    "other_domain",
    "other_label",
    "same_label",
    "style_features",
    "uniform",
]

Array = NDArray[np.float64]

SPREAD: Final = 0.15  #: deviation of the entries of a camera's matrix in :func:`beyond`
_LEAST: Final = 1e-300  # stands for a variance of zero where it divides
_UNSEEN: Final = -2  # the code of a label or domain that the bank does not have: every style is another's


class Content(NamedTuple):
    """What is known of the image to be changed; None where nothing is."""

    row: int | None = None  #: its row in the bank, so that it is not matched to itself
    label: str | None = None
    domain: str | None = None


class Style(NamedTuple):
    """A chosen style: how to name it in a log, its row if it is one image's, and its moments in unit range."""

    name: str
    row: int | None
    moments: Moments
    is_capped: bool = False  #: whether a mean or variance was drawn that no image can have, and was reduced to one that it can


Sampler = Callable[[StyleBank, np.random.Generator, Content], Style]


def uniform(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw any other image of the bank, all equally likely: the paper's choice.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), labels=list("xxyy"), domains=list("aabb"))
        >>> uniform(bank, np.random.default_rng(1), Content(row=0)).row in (1, 2, 3)
        True
    """
    return _style(bank, _any_row(bank, rng, content.row))


def other_domain(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw an image of another hospital, scanner or camera; any other image if the bank has one domain only.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Raises:
        OptionError: The domain of the image is not known.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), labels=list("xxyy"), domains=list("aabb"))
        >>> bank.domain(other_domain(bank, np.random.default_rng(1), Content(row=0)).row)
        'b'
    """
    return _style(bank, _outside_group(bank, rng, content, "domain"))


def same_label(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw another image of the same class; the image itself only if it is the only one.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Raises:
        OptionError: The label of the image is not known, or not in the bank.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), labels=list("xxyy"), domains=list("aabb"))
        >>> same_label(bank, np.random.default_rng(1), Content(row=0)).row
        1
    """
    code = _code(bank, content, "label")
    if code == _UNSEEN:
        raise OptionError(
            f"label={content.label!r} is not in the bank, which has {', '.join(map(repr, bank.labels))}; "
            "build the bank with it, or use another sampler"
        )
    return _style(bank, _inside_group(bank, rng, code, content.row, "label"))


def other_label(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw an image of another class; any other image if the bank has one class only.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Raises:
        OptionError: The label of the image is not known.
    """
    return _style(bank, _outside_group(bank, rng, content, "label"))


def balanced_domain(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw a domain, all equally likely, then another image of it: small hospitals count as much as large ones.

    Images without a domain are not drawn. The domain of an image that is alone in it is not drawn for that image.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Raises:
        OptionError: The bank has no domains.
    """
    codes = bank.groups("domain").codes
    codes = codes[codes >= 0]
    if not len(codes):
        raise OptionError("this sampler needs domains, and the bank has none: build it with domains, or use another sampler")
    if len(codes) > 1 and content.row is not None:
        own = int(bank.domain_codes[content.row])
        start, stop = bank.groups("domain").bounds(own)
        codes = codes[codes != own] if stop - start == 1 else codes
    code = int(codes[rng.integers(len(codes))])
    return _style(bank, _inside_group(bank, rng, code, content.row, "domain"))


def interpolate(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw a style on the way between two images.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.
    """
    first = _any_row(bank, rng, content.row)
    second = _any_row(bank, rng, first)
    share = float(rng.random())
    mean = bank.mean[first] + share * (bank.mean[second] - bank.mean[first])
    cov = bank.cov[first] + share * (bank.cov[second] - bank.cov[first])
    name = f"interpolate({bank.keys[first]}, {bank.keys[second]}, {share:.4f})"
    return Style(name, None, trusted_moments(int(bank.pixels[first]), mean, cov, 1.0, bank.space))


def gaussian(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:  # noqa: ARG001 - the common signature
    """Draw a new style from the normal distribution fitted to the bank's means and log-Cholesky covariances.

    The logarithm makes every covariance positive definite. In RGB a mean outside the range, or a variance above m (1 - m), which
    no image of mean m can have, is reduced to the limit (``is_capped``). A bank of several hospitals is one distribution here,
    which also fills the gaps between them; draw from ``bank.subset(domain=...)`` where that is not wanted.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.
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
    """
    row = _any_row(bank, rng, content.row)
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


def beyond(bank: StyleBank, rng: np.random.Generator, content: Content, spread: float = SPREAD) -> Style:
    """Draw an image's style as another camera would give it: outside the bank in every direction.

    With the mean m and covariance C of another image of the bank, the style has the mean M m + o and the covariance M C Mᵀ.
    M is the identity plus normal numbers of deviation ``spread``; the offset o has a third of it. What no image can have is
    reduced to the limit, as in :func:`gaussian`. The mathematics is in docs/samplers.md.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.
        spread: Deviation of the entries of M.

    Returns:
        The style.

    Raises:
        OptionError: The bank is of another space than RGB.
    """
    if bank.space != "rgb":
        raise OptionError(
            f"sampler='beyond' changes a camera, which has RGB values, and the bank holds {bank.space!r}; use space='rgb'"
        )
    row = _any_row(bank, rng, content.row)
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


#: Every sampler by its name; a callable of the same signature serves as well.
SAMPLERS: Final = MappingProxyType(
    {
        "uniform": uniform,
        "other_domain": other_domain,
        "same_label": same_label,
        "other_label": other_label,
        "balanced_domain": balanced_domain,
        "interpolate": interpolate,
        "gaussian": gaussian,
        "extrapolate": extrapolate,
        "beyond": beyond,
    }
)


def _style(bank: StyleBank, row: int) -> Style:
    moments = trusted_moments(int(bank.pixels[row]), bank.mean[row], bank.cov[row], 1.0, bank.space)
    return Style(bank.keys[row], row, moments)


def _any_row(bank: StyleBank, rng: np.random.Generator, own: int | None) -> int:
    if own is None or len(bank) == 1:
        return int(rng.integers(len(bank)))
    row = int(rng.integers(len(bank) - 1))
    return row + (row >= own)


def _inside_group(bank: StyleBank, rng: np.random.Generator, code: int, own: int | None, by: str) -> int:
    groups = bank.groups(by)
    start, stop = groups.bounds(code)
    members = groups.order[start:stop]
    place = None if own is None else int(np.searchsorted(members, own))  # rows of one group are in order
    if place is None or place >= len(members) or members[place] != own or len(members) == 1:
        return int(members[rng.integers(len(members))])
    drawn = int(rng.integers(len(members) - 1))
    return int(members[drawn + (drawn >= place)])


def _outside_group(bank: StyleBank, rng: np.random.Generator, content: Content, by: str) -> int:
    groups = bank.groups(by)
    start, stop = groups.bounds(_code(bank, content, by))
    others = len(bank) - (stop - start)
    if others == 0:
        return _any_row(bank, rng, content.row)
    drawn = int(rng.integers(others))
    return int(groups.order[drawn if drawn < start else drawn + (stop - start)])


def _code(bank: StyleBank, content: Content, by: str) -> int:
    """The content's own label or domain: as given, else as the bank knows it."""
    table, codes = (bank.domains, bank.domain_codes) if by == "domain" else (bank.labels, bank.label_codes)
    given = content.domain if by == "domain" else content.label
    if given is None and content.row is not None:
        return int(codes[content.row])
    if not table or given is None:
        raise OptionError(
            f"this sampler needs the {by} of each image, and it is not known: build the bank with {by}s and pass key=, or "
            f"pass {by}= in the call"
        )
    return table.index(given) if given in table else _UNSEEN


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


def _capped(mean: Array, cov: Array, count: int, bank: StyleBank) -> tuple[Moments, bool]:
    """Reduce a mean and a covariance in RGB to what an image can have, and say whether that changed them."""
    is_capped = False
    if bank.space == "rgb":
        inside = np.clip(mean, 0.0, 1.0)
        scale = np.sqrt(np.minimum(1.0, inside * (1.0 - inside) / np.maximum(cov.diagonal(), _LEAST)))
        is_capped = bool((inside != mean).any() or scale.min() < 1.0)
        mean, cov = inside, cov * np.outer(scale, scale)
    return trusted_moments(count, mean, (cov + cov.T) / 2, 1.0, bank.space), is_capped
