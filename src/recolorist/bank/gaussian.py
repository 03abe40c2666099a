"""Sharing the Gaussian of a bank alone: the mean and covariance of its features, and no style of any image.

The Gaussian is written as a bank of made-up styles whose features have exactly this mean and covariance. So it is read wherever a
bank is, and the sampler ``gaussian`` draws from the same distribution as from the bank it was made of. With a privacy budget the
two are measured by the Gaussian mechanism, which makes them differentially private.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from recolorist.bank.features import LEAST_DEVIATION, moments_of_features, style_features
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import OptionError, StatisticsError

__all__ = ["LEAST_IMAGES", "Budget", "SharedGaussian", "share_gaussian"]

Array = NDArray[np.float64]

#: Fewer images (patients) give no Gaussian: a mean and covariance of a few are nearly those few.
LEAST_IMAGES: Final = 50
#: Bounds of the features, known without looking at any image: means, logarithms of deviations, other entries of the factor.
_BOUNDS: Final = ((0.0, 1.0), (math.log(LEAST_DEVIATION), math.log(0.5)), (-0.5, 0.5))
_RADIUS: Final = 0.3  # of the ball round the centre to which features, scaled to their bounds, are clipped for the covariance


class Budget(NamedTuple):
    """A budget of differential privacy: replacing one patient changes any probability by at most e^epsilon, but for delta."""

    epsilon: float
    delta: float = 1e-6


class SharedGaussian(NamedTuple):
    """A bank that holds a Gaussian, how many it was fitted to, and the budget spent."""

    bank: StyleBank
    fitted_to: int  #: patients, or images without them
    budget: Budget | None


def share_gaussian(
    bank: StyleBank,
    budget: Budget | None = None,
    patients: NDArray[np.str_] | None = None,
    rng: np.random.Generator | None = None,
) -> SharedGaussian:
    """Make a bank that holds the Gaussian of another one and nothing else of it.

    With patients each counts once: its features are averaged. Keys, labels, domains, name, preprocessing, sizes and histograms
    are dropped; the split, the mask rule and the space stay.

    Args:
        bank: A bank of RGB or grey styles.
        budget: Makes mean and covariance differentially private; None writes them as they are.
        patients: The patient of each style.
        rng: Generator of the noise. By default one seeded by the operating system; pass one in tests only.

    Returns:
        The bank, the number of patients, or images without them, and the budget.

    Raises:
        StatisticsError: There are fewer than :data:`LEAST_IMAGES`, or the bank is of another space.
        OptionError: The budget lies outside its limits.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> images = rng.integers(rng.integers(0, 99, (60, 1, 1, 1)), 200, (60, 8, 8, 3), dtype=np.uint8)
        >>> shared = share_gaussian(StyleBank.build(images, split="train"))
        >>> len(shared.bank), shared.fitted_to, shared.bank.keys[0]
        (16, 60, 'gaussian 0')
    """
    if bank.space != "rgb":
        raise StatisticsError(f"the bank holds moments of {bank.space!r}; a Gaussian is shared of those of RGB")
    features = style_features(bank.mean, bank.cov)
    if patients is not None:
        _, codes = np.unique(patients, return_inverse=True)
        features = np.stack([features[codes == code].mean(axis=0) for code in range(int(codes.max()) + 1)])
    if len(features) < LEAST_IMAGES:
        kind = "images" if patients is None else "patients"
        raise StatisticsError(
            f"the bank has {len(features)} {kind}; a Gaussian of fewer than {LEAST_IMAGES} reveals much about each. "
            "Build a larger bank"
        )
    if budget is None:
        centre, cov = features.mean(axis=0), np.cov(features.T)
    else:
        centre, cov = _private_moments(features, bank.channels, _check(budget), rng or np.random.default_rng())
    samples = _bank_of(centre, cov, bank, len(features))
    return SharedGaussian(samples, len(features), budget)


def _check(budget: Budget) -> Budget:
    if not (0 < budget.epsilon <= 20 and 0 < budget.delta < 1e-2):
        raise OptionError(
            f"epsilon={budget.epsilon:g} and delta={budget.delta:g}; accepted are an epsilon up to 20 and a delta below 0.01, "
            "well below one over the number of patients"
        )
    return budget


def _private_moments(features: Array, channels: int, budget: Budget, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return mean and covariance with the noise of the Gaussian mechanism, half of the budget each.

    Features are scaled to [-1, 1] by bounds that do not depend on the images. The mean is measured first; features are then
    clipped to a ball round it, so that one patient changes the covariance by little. The budget is turned into one of
    zero-concentrated differential privacy, rho = (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))². Noise of deviation
    s / sqrt(2 r) costs r of it, where s is the largest change that replacing one patient makes.
    """
    low, high = _bounds_of(channels)
    scaled = np.clip((features - low) / (high - low) * 2 - 1, -1.0, 1.0)
    count, size = scaled.shape
    log = math.log(1 / budget.delta)
    rho = (math.sqrt(log + budget.epsilon) - math.sqrt(log)) ** 2 / 2
    mean = scaled.mean(axis=0) + rng.standard_normal(size) * (2 * math.sqrt(size) / count) / math.sqrt(2 * rho)
    away = scaled - mean
    length = np.linalg.norm(away, axis=1, keepdims=True)
    away *= np.minimum(1.0, _RADIUS / np.maximum(length, 1e-12))
    noise = rng.standard_normal((size, size)) * (math.sqrt(2) * _RADIUS**2 / count) / math.sqrt(2 * rho)
    noisy = away.T @ away / count + (np.triu(noise) + np.triu(noise, 1).T)
    values, axes = np.linalg.eigh(noisy)
    half = (high - low) / 2
    centre = (np.clip(mean, -1.0, 1.0) + 1) * half + low
    return centre, np.asarray((axes * np.maximum(values, 0.0)) @ axes.T * np.outer(half, half))


def _bounds_of(channels: int) -> tuple[Array, Array]:
    rows, columns = np.tril_indices(channels)
    kinds = [_BOUNDS[0]] * channels + [_BOUNDS[1 if row == column else 2] for row, column in zip(rows, columns, strict=True)]
    low, high = np.array(kinds).T
    return low, high


def _bank_of(centre: Array, cov: Array, bank: StyleBank, count: int) -> StyleBank:
    """Return made-up styles whose features have this mean and covariance.

    The rows of a Hadamard matrix without its constant column have mean zero and are uncorrelated. Each is one deviation away in
    every direction, so that the styles stay usual ones.
    """
    size = len(centre)
    many = 2 ** math.ceil(math.log2(size + 1))
    signs = hadamard(many)[:, 1 : size + 1] * math.sqrt((many - 1) / many)
    values, axes = np.linalg.eigh(cov)
    root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    mean, covs = moments_of_features(centre + signs @ root, bank.channels)
    facts: dict[str, Any] = {"split": bank.split, "mask": bank.mask, "blank": bank.blank, "space": bank.space}
    return StyleBank(
        np.clip(mean, 0.0, 1.0),
        covs,
        np.full(many, int(np.median(bank.pixels)), np.int64),
        [f"gaussian {number}" for number in range(many)],
        preprocessing=f"the Gaussian of {count} images or patients; use the sampler gaussian",
        **facts,
    )
