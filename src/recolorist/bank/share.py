"""Banks for sharing: rounded numbers, no keys, and only styles that several images, or patients, have in common.

Exact moments identify an image: whoever holds it can tell whether it is in a bank. Styles are rounded to steps that are small
compared with the spread of a hospital's images. Several images then share one style, and the bank still has the same colours.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.style_bank import StyleBank
from recolorist.errors import OptionError, StatisticsError

__all__ = ["Shared", "describe_sharing", "refuse_shared", "share"]

Array = NDArray[np.float64]

_LEVELS: Final = 255.0  # steps are given in 8-bit levels, whatever the images were
#: What the preprocessing of a bank says after :func:`share` or :func:`recolorist.bank.gaussian.share_gaussian`.
_FORMS: Final = re.compile(
    r"rounded to [\d.]+ levels, \d+ (?:images|patients) a style or more|the Gaussian of \d+ images or patients"
)


class Shared(NamedTuple):
    """A bank for sharing, and how many of its styles belong to one image, or patient, only."""

    bank: StyleBank
    alone_before: float  #: share of styles that no other image (patient) had, before rounding
    alone_after: float  #: the same among the styles of ``bank``
    left_out: int  #: styles that too few shared


def share(
    bank: StyleBank,
    step: float = 8.0,
    at_least: int = 5,
    *,
    patients: NDArray[np.str_] | None = None,
    keep_labels: bool = False,
    keep_domains: bool = True,
    keep_name: bool = False,
) -> Shared:
    """Round a bank for sharing.

    Keys become numbers in the order of the rounded values. Sizes, histograms, name and preprocessing are dropped.

    Args:
        bank: The exact bank.
        step: Means and standard deviations become multiples of this many levels of 255, correlations of ``step / 40``.
        at_least: Styles that fewer patients share, or images without patients, are left out.
        patients: The patient of each style, where there are several images of each.
        keep_labels: Keep the labels.
        keep_domains: Keep the domains.
        keep_name: Keep the name and the preprocessing.

    Returns:
        The bank, and the share of styles that belong to one image only, before and after.

    Raises:
        OptionError: ``step`` or ``at_least`` lies outside its limits, or there are more or fewer patients than styles.
        StatisticsError: No style is left.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> images = rng.integers(rng.integers(0, 60, (50, 1, 1, 1)), 200, (50, 8, 8, 3), dtype=np.uint8)
        >>> bank = StyleBank.build(images, split="train")
        >>> given = share(bank, step=16.0, at_least=2)
        >>> given.alone_before, given.alone_after, len(given.bank) + given.left_out, given.bank.keys[0]
        (1.0, 0.0, 50, '0')
    """
    if not 0 < step <= 64 or at_least < 1:
        raise OptionError(f"step={step:g} and at_least={at_least}; accepted are steps up to 64 levels, and at least one image")
    if patients is not None and len(patients) != len(bank):
        raise OptionError(f"there are {len(patients)} patients for {len(bank)} styles; give one for each")
    labels = [bank.label(row) if keep_labels else None for row in range(len(bank))]
    domains = [bank.domain(row) if keep_domains else None for row in range(len(bank))]
    mean, std, correlation = _round_moments(bank, step)
    upper = correlation[:, *np.triu_indices(bank.channels, 1)]
    codes = np.array([_code(name, (*bank.labels, *bank.domains)) for name in zip(labels, domains, strict=True)])
    cells = np.column_stack([codes, mean, std, upper])
    counts = _count_sharers(cells, patients)
    shared_cells = np.flatnonzero(counts >= at_least)
    if not len(shared_cells):
        kind = "images" if patients is None else "patients"
        raise StatisticsError(f"no style is shared by {at_least} {kind} at step {step:g}; raise the step or ask for fewer")
    rounding = f"rounded to {step:g} levels, {at_least} {'images' if patients is None else 'patients'} a style or more"
    order = shared_cells[np.lexsort(cells[shared_cells].T[::-1])]
    rounded = StyleBank(
        mean[order],
        _covariance(std[order], correlation[order]),
        np.full(len(order), int(np.median(bank.pixels)), np.int64),
        [str(number) for number in range(len(order))],
        [labels[row] for row in order] if keep_labels else None,
        [domains[row] for row in order] if keep_domains else None,
        name=bank.name if keep_name else "",
        split=bank.split,
        preprocessing="; ".join(filter(None, [bank.preprocessing if keep_name else "", rounding])),
        space=bank.space,
        mask=bank.mask,
        blank=bank.blank,
    )
    exact = np.column_stack([bank.mean, bank.cov.reshape(len(bank), -1)])
    counts_of_one = _count_sharers(exact, patients)
    return Shared(rounded, _share_of_ones(counts_of_one), _share_of_ones(counts[shared_cells]), len(bank) - len(shared_cells))


def describe_sharing(bank: StyleBank) -> str | None:
    """Return how a bank was changed for sharing.

    Args:
        bank: The bank.

    Returns:
        Words for a message; None for a bank of measured images.

    Example:
        >>> images = np.random.default_rng(0).integers(0, 256, (9, 8, 8, 3), dtype=np.uint8)
        >>> bank = StyleBank.build(images, split="train")
        >>> describe_sharing(bank), describe_sharing(share(bank, 64, 2).bank)
        (None, 'rounded to 64 levels, 2 images a style or more')
    """
    form = _FORMS.search(bank.preprocessing)
    return form[0] if form else None


def refuse_shared(bank: StyleBank, remedy: str) -> None:
    """Refuse a bank made for sharing where new images are compared with its spread.

    Its styles are rounded or made up. They vary otherwise than images do, and all images may seem to lie outside.

    Args:
        bank: The bank.
        remedy: What to do instead.

    Raises:
        StatisticsError: The bank was made for sharing.

    Example:
        >>> images = np.random.default_rng(0).integers(0, 256, (9, 8, 8, 3), dtype=np.uint8)
        >>> refuse_shared(StyleBank.build(images, split="train"), "")  # a bank of images
    """
    form = describe_sharing(bank)
    if form is not None:
        raise StatisticsError(f"the bank was made for sharing ({form}): its spread is not that of images; {remedy}")


def _round_moments(bank: StyleBank, step: float) -> tuple[Array, Array, Array]:
    """Round means, deviations and correlations; a deviation that is not zero never becomes zero."""
    grid = step / _LEVELS
    mean = np.clip(np.round(bank.mean / grid) * grid, 0.0, 1.0)
    std = np.where(bank.std > 0, np.maximum(np.round(bank.std / grid), 0.5) * grid, 0.0)
    scale = np.where(bank.std > 0, bank.std, 1.0)
    correlation = bank.cov / (scale[:, :, None] * scale[:, None, :])
    return mean, std, np.clip(np.round(correlation / (step / 40)) * (step / 40), -1.0, 1.0)


def _covariance(std: Array, correlation: Array) -> Array:
    """Return covariances; rounded correlations that no image can have are corrected by raising eigenvalues below zero."""
    diagonal = np.arange(std.shape[1])
    correlation[:, diagonal, diagonal] = 1.0
    values, axes = np.linalg.eigh(correlation)
    lifted = np.einsum("nij,nj,nkj->nik", axes, np.maximum(values, 1e-6), axes)
    root = np.sqrt(np.einsum("nii->ni", lifted))
    near = lifted / (root[:, :, None] * root[:, None, :])
    products = near * std[:, :, None] * std[:, None, :]
    return np.asarray((products + np.swapaxes(products, 1, 2)) / 2)  # symmetric to the last bit, as moments must be


def _code(names: tuple[str | None, str | None], table: tuple[str, ...]) -> int:
    label, domain = (table.index(name) + 1 if name is not None else 0 for name in names)
    return label * (len(table) + 1) + domain


def _count_sharers(cells: Array, patients: NDArray[np.str_] | None) -> NDArray[np.int64]:
    """Return for each row how many images, or patients, have rows equal to it, itself included."""
    cell_numbers = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
    owners = np.arange(len(cells)) if patients is None else np.unique(patients, return_inverse=True)[1]
    pairs = np.unique(np.column_stack([cell_numbers, owners]), axis=0)
    return np.asarray(np.bincount(pairs[:, 0])[cell_numbers])


def _share_of_ones(counts: NDArray[np.int64]) -> float:
    return float(np.mean(counts == 1))
