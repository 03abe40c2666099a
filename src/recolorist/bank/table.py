"""The content of a bank as plain arrays: rows are stacked, chosen and merged here, and files store exactly this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.making import BlankStyles, LeftOut
from recolorist.bank.names import Names, format_names
from recolorist.core.blank import are_blank_styles
from recolorist.core.options import MatchOptions
from recolorist.errors import ImageError, OptionError, StatisticsError

__all__ = [
    "BankTable",
    "Row",
    "join_triangles",
    "leave_out_blank",
    "merge_tables",
    "refuse_bad_arrays",
    "resolve_rows",
    "split_triangles",
    "stack_rows",
    "take_rows",
]

Array = NDArray[np.float64]

_BINS: Final = 256
_ROUNDING: Final = 1e-6  # relative; that of float64 statistics is far smaller, that of banks written elsewhere may not be


class Row(NamedTuple):
    """The statistics of one image in unit range.

    Lists of numbers, not arrays: those would cost more to send between processes than to measure.
    """

    mean: list[float]
    cov: list[list[float]]
    pixels: int
    size: tuple[int, int]
    histogram: NDArray[np.uint32] | None = None
    is_blank: bool = False


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
    mask: str | None = None
    blank: BlankStyles | None = None
    left_out: tuple[LeftOut, ...] = ()


def stack_rows(
    rows: Sequence[Row],
    keys: Sequence[str],
    labels: Sequence[object] | None = None,
    domains: Sequence[object] | None = None,
    *,
    with_blank: bool = False,
    space: str = "rgb",
    **facts: Any,
) -> BankTable:
    """Make the table of a bank from measured images.

    Args:
        rows: One for each image, all with the same number of channels.
        keys: A name for each image that no other one has.
        labels: A label for each image, or None.
        domains: A domain for each image, or None.
        with_blank: Keep the rows of blank images, which are left out otherwise.
        space: The space to match in; the rows hold moments of RGB if it is linear.
        **facts: ``name``, ``split``, ``preprocessing`` and ``mask``, as :class:`BankTable` has them.

    Returns:
        The table; its size is that of all images, or None if they differ.

    Raises:
        ImageError: There is no row, or all images are blank.
        OptionError: There are more or fewer keys, labels or domains than images.
    """
    if not rows:
        raise ImageError("there was no image to measure; a bank needs at least one")
    for kind, names in (("keys", keys), ("labels", labels), ("domains", domains)):
        if names is not None and len(names) != len(rows):
            raise OptionError(f"there are {len(names)} {kind} for {len(rows)} images; give one for each")
    all_labels, all_domains = format_names(labels), format_names(domains)
    used = [i for i, row in enumerate(rows) if with_blank or not row.is_blank]
    if not used:
        raise ImageError(
            f"all {len(rows)} image(s) are blank, so they have no style; check their range, or keep them with with_blank=True "
            "(--with-blank)"
        )

    def take(names: Names) -> Names:
        return None if names is None else [names[i] for i in used]

    left_out = tuple(
        LeftOut(keys[i], *(None if names is None else names[i] for names in (all_labels, all_domains)))
        for i in sorted(set(range(len(rows))) - set(used))
    )
    rows = [rows[i] for i in used]
    sizes = {row.size for row in rows}
    return BankTable(
        np.array([row.mean for row in rows]),
        np.array([row.cov for row in rows]),
        np.array([row.pixels for row in rows]),
        [keys[i] for i in used],
        take(all_labels),
        take(all_domains),
        size=sizes.pop() if len(sizes) == 1 else None,
        space=MatchOptions(space=space).measured_space,
        histograms=None if rows[0].histogram is None else np.array([row.histogram for row in rows]),
        blank="kept" if with_blank else "left out",
        left_out=left_out,
        **facts,
    )


def refuse_bad_arrays(
    mean: Array, cov: Array, pixels: NDArray[np.int64], keys: Sequence[str], histograms: NDArray[Any] | None, space: str = "rgb"
) -> None:
    """Refuse arrays that do not fit together or hold numbers that no image has.

    Args:
        mean: Means (N, C) in unit range.
        cov: Covariances (N, C, C).
        pixels: Pixels measured in each image.
        keys: The name of each image.
        histograms: Counts (N, C, 256), or None.
        space: The space of the moments; outside RGB means have other ranges and are not checked.

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
    _refuse_impossible_moments(mean if space == "rgb" else None, cov)
    if len(set(keys)) < n:
        raise StatisticsError("two styles share a key; give every image its own, so that none is matched to itself")


def _refuse_impossible_moments(mean: Array | None, cov: Array) -> None:
    """Refuse covariances that are not positive semi-definite, and means outside the unit range, beyond rounding."""
    variances = np.diagonal(cov, axis1=1, axis2=2)
    lowest = np.linalg.eigvalsh(cov)[:, 0]
    bad = np.flatnonzero(lowest < -_ROUNDING * (variances.sum(1) + 1e-9))
    if bad.size:
        raise StatisticsError(
            f"the covariance of style {bad[0]} is not positive semi-definite (lowest eigenvalue {lowest[bad[0]]:.3g}), "
            "and that of any image is; build the bank again"
        )
    if mean is not None and ((mean < -_ROUNDING) | (mean > 1 + _ROUNDING)).any():
        raise StatisticsError(f"the means reach from {mean.min():.6g} to {mean.max():.6g}; a bank's are on a scale of 0 to 1")


def resolve_rows(rows: Sequence[int] | NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return rows of a table of ``count`` as numbers from 0; they may come as truth values, or counted from the end.

    Args:
        rows: Numbers, or one truth value for each row.
        count: The number of rows.

    Returns:
        Numbers from 0 on.

    Raises:
        OptionError: A row does not exist or came twice.

    Example:
        >>> resolve_rows([-1, 0], 3).tolist(), resolve_rows([True, False, True], 3).tolist()
        ([2, 0], [0, 2])
    """
    selection = np.asarray(rows)
    if selection.dtype == bool and selection.shape == (count,):
        return np.flatnonzero(selection)
    if not selection.size:
        return np.zeros(0, np.int64)
    if selection.ndim != 1 or selection.dtype.kind not in "iu":
        raise OptionError(
            f"rows has shape {selection.shape} and dtype {selection.dtype}; accepted are whole numbers, or {count} truth values"
        )
    if selection.min() < -count or selection.max() >= count:
        raise OptionError(f"rows goes from {selection.min()} to {selection.max()}; the bank has rows 0 to {count - 1}")
    positive = np.where(selection < 0, selection + count, selection).astype(np.int64)
    if len(np.unique(positive)) < len(positive):
        raise OptionError("a row was given twice; a bank holds every style once, so name each row once")
    return positive


def take_rows(table: BankTable, rows: NDArray[np.int64]) -> BankTable:
    """Return a table of some of the rows, in the order given.

    Args:
        table: The content of a bank.
        rows: Their numbers.

    Returns:
        A table of these rows.

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


def leave_out_blank(table: BankTable) -> BankTable:
    """Leave out the blank styles of a bank in RGB; those of other spaces cannot be recognised.

    Args:
        table: The content of a bank.

    Returns:
        The table without its blank rows, which it names in ``left_out``; the same table if there are none.

    Raises:
        StatisticsError: All styles are blank.

    Example:
        >>> cov = np.array([[[0.0]], [[0.04]]])
        >>> table = BankTable(np.full((2, 1), 0.5), cov, np.array([9, 9]), ["a", "b"], None, None)
        >>> leave_out_blank(table).left_out
        (LeftOut(key='a', label=None, domain=None),)
    """
    blank = are_blank_styles(table.cov) if table.space == "rgb" else np.zeros(len(table.keys), bool)
    if not blank.any():
        return table
    if blank.all():
        raise StatisticsError(
            f"all {len(table.keys)} styles of the bank are blank; build it from other images, or pass blank='match' to draw them"
        )
    names = [table.labels or [None] * len(table.keys), table.domains or [None] * len(table.keys)]
    left_out = [LeftOut(table.keys[row], *(name[row] for name in names)) for row in np.flatnonzero(blank).tolist()]
    used = take_rows(table, np.flatnonzero(~blank))
    return used._replace(blank="left out", left_out=(*table.left_out, *left_out))


def merge_tables(tables: Sequence[BankTable]) -> BankTable:
    """Join tables; where keys collide, each gets the name or the number of its table in front.

    Args:
        tables: At least one table.

    Returns:
        One table with all rows.

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
    masks, blanks = {table.mask for table in tables}, {table.blank for table in tables}
    prefixes = _prefixes(tables)
    return BankTable(
        np.concatenate([table.mean for table in tables]),
        np.concatenate([table.cov for table in tables]),
        np.concatenate([table.pixels for table in tables]),
        [f"{prefix}{key}" for prefix, table in zip(prefixes, tables, strict=True) for key in table.keys],
        [name for table in tables for name in table.labels or [None] * len(table.keys)],
        [name for table in tables for name in table.domains or [None] * len(table.keys)],
        name="+".join(dict.fromkeys(table.name for table in tables if table.name)),
        split=first.split,
        preprocessing=first.preprocessing if len(prepared) == 1 else " | ".join(sorted(prepared)),
        size=first.size if len({table.size for table in tables}) == 1 else None,
        space=first.space,
        histograms=np.concatenate(histograms) if len(histograms) == len(tables) else None,
        mask=first.mask if len(masks) == 1 else None if None in masks else " | ".join(sorted(map(str, masks))),
        blank=first.blank if len(blanks) == 1 else None if None in blanks else "kept",
        left_out=tuple(
            entry._replace(key=f"{prefix}{entry.key}")
            for prefix, table in zip(prefixes, tables, strict=True)
            for entry in table.left_out
        ),
    )


def _prefixes(tables: Sequence[BankTable]) -> list[str]:
    """Return what goes before the keys of each table: nothing, or its name or number where keys collide."""
    keys = [key for table in tables for key in (*table.keys, *(entry.key for entry in table.left_out))]
    if len(set(keys)) == len(keys):
        return [""] * len(tables)
    names = [table.name for table in tables]
    return [f"{name}/" for name in (names if all(names) and len(set(names)) == len(names) else range(len(tables)))]


def split_triangles(cov: Array) -> Array:
    """Return the upper triangles (N, C (C + 1) / 2) of symmetric matrices (N, C, C), row by row.

    Args:
        cov: Covariances, (N, C, C).

    Returns:
        Their upper triangles, (N, C (C + 1) / 2).
    """
    rows, columns = np.triu_indices(cov.shape[-1])
    return np.asarray(cov[:, rows, columns])


def join_triangles(triangles: Array) -> Array:
    """Undo :func:`split_triangles`.

    Args:
        triangles: Upper triangles, (N, C (C + 1) / 2).

    Returns:
        Covariances, (N, C, C).

    Example:
        >>> join_triangles(np.array([[1.0, 2.0, 3.0]])).tolist()
        [[[1.0, 2.0], [2.0, 3.0]]]
    """
    channels = int((np.sqrt(8 * triangles.shape[1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(channels)
    cov = np.empty((len(triangles), channels, channels))
    cov[:, rows, columns] = cov[:, columns, rows] = triangles
    return cov
