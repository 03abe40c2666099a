"""The tables of the properties study, from rows of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from recolorist_lab.paper.numbers import PROPERTIES
from recolorist_lab.report.rows import has_result
from recolorist_lab.report.table import GAP, Cell, Column, Digits, Number, Range, Strong, Table, label
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.properties.cell import NO_CAP

__all__ = ["LIMITS", "comparison", "family", "limits", "spaces", "tables", "titled"]

Row: TypeAlias = Mapping[str, Json]

#: Grids whose rows hold the transform back, in the order of the table.
LIMITS: Final = ("gain", "clip", "mask")
_FIGURES: Final = (
    Column("min. r before", digits=Digits(6)),
    Column("mean r after clipping", digits=Digits(4)),
    Column("95 % interval", digits=Digits(4)),
    Column("r in 8 bits", digits=Digits(4)),
    Column("values clipped", digits=Digits(2)),
    Column("95 % interval", digits=Digits(2)),
    Column("in 8 bits", digits=Digits(2)),
    Column("pixels clipped", digits=Digits(2)),
    Column("channels unclipped", digits=Digits(1)),
    Column("in 8 bits", digits=Digits(1)),
    Column("pooled r", digits=Digits(3)),
)
_LIMITED: Final = (
    label("data"),
    label("limit"),
    Column("mean r after", digits=Digits(4)),
    Column("lowest r", digits=Digits(4)),
    Column("8-bit values clipped", digits=Digits(2)),
    Column("channels unclipped", digits=Digits(1)),
    Column("pooled r", digits=Digits(3)),
    Column("mean strength", digits=Digits(3)),
    Column("pairs with a gain held"),
)
_SPACES: Final = (
    label("data"),
    label("space"),
    Column("lowest r before", digits=Digits(4)),
    Column("mean r after", digits=Digits(4)),
    Column("values clipped", digits=Digits(2)),
    Column("pooled r", digits=Digits(3)),
)


def titled(dataset: str) -> str:
    """Return a dataset's name without its recipe.

    Args:
        dataset: The dataset as a configuration names it.

    Returns:
        The name.

    Example:
        >>> titled("synthetic:size=224"), titled("here/blood.parquet")
        ('synthetic', 'blood')
    """
    return dataset.partition(":")[0].rpartition("/")[2].removesuffix(".parquet")


def tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Make every table of the page.

    Args:
        rows: Results, one for each cell.

    Returns:
        Tables by their mark on the page.
    """
    return {"comparison": comparison(rows), "limits": limits(rows), "spaces": spaces(rows)}


def comparison(rows: Iterable[Row]) -> Table:
    """List every dataset under the paper's equation, below the paper's own figures.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    printed: list[Cell] = [
        (Strong("the paper:"), " PathMNIST, training split, 224 px"),
        400,
        Number(PROPERTIES["pearson_before_clipping_min"]),
        Number(PROPERTIES["pearson_after_clipping_mean"]),
        "",
        "",
        _percent(PROPERTIES["clipped_share_mean"]),
        "",
        "",
        "",
        _percent(PROPERTIES["channel_instances_unclipped"]),
        "",
        Number(PROPERTIES["pearson_pooled_channels"]),
    ]
    compared = _of(rows, ("paper", "native"))
    several = len({row["seed"] for row in compared}) > 1
    body = [[_label(row, seed=several), str(row["pairs"]), *_figures(row)] for row in compared]
    return Table([label("data"), Column("pairs"), *_FIGURES], [printed, *body])


def limits(rows: Iterable[Row]) -> Table:
    """List what limits on the transform change.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    body = [
        [titled(str(row["dataset"])), _limit(row), *(_limit_cells(row) if has_result(row) else [GAP] * 7)]
        for row in sorted(_of(rows, LIMITS), key=_order)
    ]
    return Table(_LIMITED, body)


def spaces(rows: Iterable[Row]) -> Table:
    """List the same figures in other colour spaces: only in RGB is each channel an affine map of itself.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    body = [
        [titled(str(row["dataset"])), str(row["space"]), *(_in_space(row) if has_result(row) else [GAP] * 4)]
        for row in _of(rows, ("space",))
    ]
    return Table(_SPACES, body)


def _limit_cells(row: Row) -> list[Cell]:
    return [
        Number(_get(row, "pearson_after_mean")),
        Number(_get(row, "pearson_after_min")),
        _percent(_get(row, "clipped_levels")),
        _percent(_get(row, "unclipped_instances_levels")),
        Number(_get(row, "pooled_after")),
        Number(_get(row, "strength_mean")),
        int(_get(row, "pairs_gain_capped")),
    ]


def _in_space(row: Row) -> list[Cell]:
    return [
        Number(_get(row, "pearson_before_min")),
        Number(_get(row, "pearson_after_mean")),
        _percent(_get(row, "clipped_values")),
        Number(_get(row, "pooled_after")),
    ]


def _figures(row: Row) -> Sequence[Cell]:
    if not has_result(row):
        return [GAP] * len(_FIGURES)
    least, most = _get(row, "clipped_interval")
    return (
        Number(_get(row, "pearson_before_min")),
        Number(_get(row, "pearson_after_mean")),
        Range(*_get(row, "pearson_after_interval")),
        Number(_get(row, "pearson_written_mean")),
        _percent(_get(row, "clipped_values")),
        Range(100 * least, 100 * most),
        _percent(_get(row, "clipped_levels")),
        _percent(_get(row, "clipped_pixels")),
        _percent(_get(row, "unclipped_instances")),
        _percent(_get(row, "unclipped_instances_levels")),
        Number(_get(row, "pooled_after")),
    )


def _label(row: Row, *, seed: bool = False) -> str:
    size = f"{row['size']} px" if row["size"] else "own size"
    seeded = f", seed {row['seed']}" if seed else ""
    name = f"{titled(str(row['dataset']))}, {row['split']}, {size}{seeded}"
    if not has_result(row):
        return name
    repeats = ", with repeats" if _get(row, "repeats") else ""
    return f"{name} ({_get(row, 'images')} images{repeats})"


def _limit(row: Row) -> str:
    gain, clip = float(str(row["max_gain"])), float(str(row["max_clip"]))
    words = [f"mask {row['mask']}"] if row["mask"] != "none" else []
    words += [f"clip ≤ {100 * clip:g} %"] if clip < 1 else []
    words += ["gain free" if gain >= NO_CAP else f"gain ≤ {gain:g}"]
    return ", ".join(words)


def _order(row: Row) -> tuple[str, int, float, float]:
    position = LIMITS.index(family(row))
    return titled(str(row["dataset"])), position, -float(str(row["max_gain"])), -float(str(row["max_clip"]))


def _of(rows: Iterable[Row], grids: Sequence[str]) -> list[Row]:
    return [row for row in rows if family(row) in grids]


def family(row: Row) -> str:
    """Return the family of a row's grid: its name up to the hyphen. What follows are datasets with other splits or masks.

    Args:
        row: A row of the study's table.

    Returns:
        The name of the family.

    Example:
        >>> family({"grid": "gain-pathmnist"})
        'gain'
    """
    return str(row["grid"]).partition("-")[0]


def _get(row: Row, name: str) -> Any:
    return row[f"result.{name}"]


def _percent(share: float) -> Number:
    return Number(100 * share, unit="%")
