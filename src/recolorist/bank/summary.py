"""What a bank holds, in numbers ready to print or to write as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.names import encode_names
from recolorist.bank.table import BankTable
from recolorist.core import image as check

__all__ = ["find_outliers", "summarise"]

Array = NDArray[np.float64]


def summarise(table: BankTable) -> dict[str, Any]:
    """Return counts, mean colours and how the bank was made.

    Args:
        table: The content of a bank.

    Returns:
        Plain values.
    """
    std = np.sqrt(np.diagonal(table.cov, axis1=1, axis2=2))
    domain_codes, domains = encode_names(table.domains, len(table.keys))
    label_codes, labels = encode_names(table.labels, len(table.keys))

    def describe(rows: NDArray[np.bool_]) -> dict[str, Any]:
        means = (values[rows].mean(axis=0).tolist() for values in (table.mean, std))
        return {"styles": int(rows.sum()), **dict(zip(("mean", "std"), means, strict=True))}

    return {
        "name": table.name,
        "split": table.split,
        "styles": len(table.keys),
        "channels": table.mean.shape[1],
        "preprocessing": table.preprocessing,
        "size": table.size,
        "mask": table.mask,
        "blank": table.blank,
        "blank_left_out": len(table.left_out),
        "mean": table.mean.mean(axis=0).tolist(),
        "std": std.mean(axis=0).tolist(),
        "domains": {name: describe(domain_codes == i) for i, name in enumerate(domains)},
        "labels": {name: int((label_codes == i).sum()) for i, name in enumerate(labels)},
        "outliers": len(find_outliers(table.mean, std)),
    }


def find_outliers(mean: Array, std: Array, threshold: float = 6.0) -> NDArray[np.int64]:
    """Return the rows whose mean or deviation lies over ``threshold`` robust deviations from the median of all.

    Args:
        mean: Means (N, C) in unit range.
        std: Standard deviations (N, C).
        threshold: Number of robust deviations.

    Returns:
        The numbers of the rows.

    Raises:
        OptionError: The threshold is no number from 0 on.

    Example:
        >>> mean = np.array([[0.5], [0.51], [0.49], [0.9]])
        >>> find_outliers(mean, np.full((4, 1), 0.1)).tolist()
        [3]
    """
    check.number(threshold, 0, np.inf, "threshold")
    features = np.concatenate([mean, std], axis=1)
    distance = np.abs(features - np.median(features, axis=0))
    spread = 1.4826 * np.median(distance, axis=0)  # the median absolute deviation as a standard deviation
    far = distance > threshold * np.maximum(spread, 1.0 / 255.0)
    return np.flatnonzero(far.any(axis=1))
