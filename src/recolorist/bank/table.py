"""The content of a bank as plain arrays: rows are stacked, chosen and merged here, and files store exactly this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.names import Names, format_names
from recolorist.core.options import MatchOptions
from recolorist.errors import ImageError, OptionError, StatisticsError

__all__ = [
    "BankTable",
    "Row",
    "join_triangles",
    "merge_tables",
    "refuse_bad_arrays",
    "resolve_rows",
    "split_triangles",
    "stack_rows",
    "take_rows",
]

Array = NDArray[np.float64]

_BINS: Final = 256


class Row(NamedTuple):
    """The statistics of one image in unit range.

    Lists of numbers, not arrays: those would cost more to send between processes than to measure.
    """

    mean: list[float]
    cov: list[list[float]]
    pixels: int
    size: tuple[int, int]
    histogram: NDArray[np.uint32] | None = None


class BankTable(NamedTuple):
    """What a bank holds, one row per image; the fields are the arguments of :class:`recolorist.StyleBank`."""

    mean: Array
    cov: Array
    pixels: NDArray[np.int64]
    keys: Sequence[str]
    labels: Names = None
    domains: Names = None
    name: str = ""
    split: str | None = None
    preprocessing: str = ""
    size: tuple[int, int] | None = None
    space: str = "rgb"
    histograms: NDArray[np.uint32] | None = None


def stack_rows(
    rows: Sequence[Row],
    keys: Sequence[str],
    labels: Sequence[object] | None = None,
    domains: Sequence[object] | None = None,
    *,
    name: str = "",
    split: str | None = None,
    preprocessing: str = "",
    space: str = "rgb",
) -> BankTable:
    """Make the table of a bank from measured images.

    Args:
        rows: One for each image, all with the same number of channels.
        keys: A name for each image that no other one has.
        labels: A label for each image, or None.
        domains: A domain for each image, or None.
        name: Name of the bank.
        split: The split the images belong to.
        preprocessing: What was done to the images before, in the words of the user.
        space: The space to match in; the rows hold moments of RGB if it is linear.

    Returns:
        The table; its size is that of all images, or None if they differ.

    Raises:
        ImageError: There is no row.
    """
    if not rows:
        raise ImageError("there was no image to measure; a bank needs at least one")
    sizes = {row.size for row in rows}
    return BankTable(
        np.array([row.mean for row in rows]),
        np.array([row.cov for row in rows]),
        np.array([row.pixels for row in rows]),
        keys,
        format_names(labels),
        format_names(domains),
        name=name,
        split=split,
        preprocessing=preprocessing,
        size=sizes.pop() if len(sizes) == 1 else None,
        space=MatchOptions(space=space).measured_space,
        histograms=None if rows[0].histogram is None else np.array([row.histogram for row in rows]),
    )


def refuse_bad_arrays(
    mean: Array, cov: Array, pixels: NDArray[np.int64], keys: Sequence[str], histograms: NDArray[Any] | None
) -> None:
    """Refuse arrays that do not fit together or hold numbers that no image has.

    Raises:
        StatisticsError: They do.
    """
    n, channels = len(keys), mean.shape[-1] if mean.ndim == 2 else 0
    shapes = (mean.shape, cov.shape, pixels.shape)
    if not n or not channels or shapes != ((n, channels), (n, channels, channels), (n,)):
        raise StatisticsError(f"a bank needs at least one style and one row per key; shapes are {shapes} for {n} keys")
    if histograms is not None and histograms.shape != (n, channels, _BINS):
        raise StatisticsError(f"histograms have shape {histograms.shape}; accepted is {(n, channels, _BINS)}")
    finite = np.isfinite(mean).all() and np.isfinite(cov).all()
    if not finite or (np.diagonal(cov, axis1=1, axis2=2) < 0).any() or (pixels < 1).any():
        raise StatisticsError("a bank's numbers must be finite, its variances and pixel counts positive")
    if (cov != cov.swapaxes(1, 2)).any():
        raise StatisticsError("a bank's covariances must be symmetric; average each matrix with its transpose")
    if len(set(keys)) < n:
        raise StatisticsError("two styles share a key; keys tell images apart, so that none is matched to itself")


def resolve_rows(rows: Sequence[int] | NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return rows of a table of ``count`` as numbers from 0; they may come as truth values, or counted from the end.

    Raises:
        OptionError: A row does not exist or came twice.

    Example:
        >>> resolve_rows([-1, 0], 3).tolist(), resolve_rows([True, False, True], 3).tolist()
        ([2, 0], [0, 2])
    """
    wanted = np.asarray(rows)
    if wanted.dtype == bool and wanted.shape == (count,):
        return np.flatnonzero(wanted)
    if not wanted.size:
        return np.zeros(0, np.int64)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
        raise OptionError(
            f"rows has shape {wanted.shape} and dtype {wanted.dtype}; accepted are whole numbers, or {count} truth values"
        )
    if wanted.min() < -count or wanted.max() >= count:
        raise OptionError(f"rows goes from {wanted.min()} to {wanted.max()}; the bank has rows 0 to {count - 1}")
    positive = np.where(wanted < 0, wanted + count, wanted).astype(np.int64)
    if len(np.unique(positive)) < len(positive):
        raise OptionError("a row came twice; a bank holds every style once, so name each row once")
    return positive


def take_rows(table: BankTable, rows: NDArray[np.int64]) -> BankTable:
    """Return a table of some of the rows, in the order given.

    Raises:
        StatisticsError: No row is left.
    """
    if not len(rows):
        raise StatisticsError("no style is left; choose other conditions")

    def take(names: Names) -> Names:
        return None if names is None else [names[row] for row in rows]

    return table._replace(
        mean=table.mean[rows],
        cov=table.cov[rows],
        pixels=table.pixels[rows],
        keys=[table.keys[row] for row in rows],
        labels=take(table.labels),
        domains=take(table.domains),
        histograms=None if table.histograms is None else table.histograms[rows],
    )


def merge_tables(tables: Sequence[BankTable]) -> BankTable:
    """Join tables; where keys collide, each gets the name or the number of its table in front.

    Raises:
        StatisticsError: The tables differ in channels, space or split.
    """
    first = tables[0]
    if len({(table.mean.shape[1], table.space) for table in tables}) > 1:
        raise StatisticsError("the banks differ in channels or colour space; such styles cannot share a bank")
    splits, prepared = {table.split for table in tables}, {table.preprocessing for table in tables}
    if len(splits) > 1:
        raise StatisticsError(f"the banks are of different splits ({sorted(map(str, splits))}); merging would hide that")
    histograms = [table.histograms for table in tables if table.histograms is not None]
    return BankTable(
        np.concatenate([table.mean for table in tables]),
        np.concatenate([table.cov for table in tables]),
        np.concatenate([table.pixels for table in tables]),
        _merge_keys(tables),
        [name for table in tables for name in table.labels or [None] * len(table.keys)],
        [name for table in tables for name in table.domains or [None] * len(table.keys)],
        name="+".join(dict.fromkeys(table.name for table in tables if table.name)),
        split=first.split,
        preprocessing=first.preprocessing if len(prepared) == 1 else " | ".join(sorted(prepared)),
        size=first.size if len({table.size for table in tables}) == 1 else None,
        space=first.space,
        histograms=np.concatenate(histograms) if len(histograms) == len(tables) else None,
    )


def _merge_keys(tables: Sequence[BankTable]) -> list[str]:
    keys = [key for table in tables for key in table.keys]
    if len(set(keys)) == len(keys):
        return keys
    names = [table.name for table in tables]
    prefixes = names if all(names) and len(set(names)) == len(names) else [str(i) for i in range(len(tables))]
    return [f"{prefix}/{key}" for prefix, table in zip(prefixes, tables, strict=True) for key in table.keys]


def split_triangles(cov: Array) -> Array:
    """Return the upper triangles (N, C (C + 1) / 2) of symmetric matrices (N, C, C), row by row."""
    rows, columns = np.triu_indices(cov.shape[-1])
    return np.asarray(cov[:, rows, columns])


def join_triangles(triangles: Array) -> Array:
    """Undo :func:`split_triangles`.

    Example:
        >>> join_triangles(np.array([[1.0, 2.0, 3.0]])).tolist()
        [[[1.0, 2.0], [2.0, 3.0]]]
    """
    channels = int((np.sqrt(8 * triangles.shape[1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(channels)
    cov = np.empty((len(triangles), channels, channels))
    cov[:, rows, columns] = cov[:, columns, rows] = triangles
    return cov
