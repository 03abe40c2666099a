"""The tables of the properties study, from rows of the ledger to Markdown. Pure: rows in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from recolorist_lab.paper.numbers import PROPERTIES
from recolorist_lab.report.pages import GAP, has_result, markdown
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.properties.cell import NO_CAP

__all__ = ["LIMITS", "comparison", "family", "limits", "spaces", "tables", "titled"]

Row: TypeAlias = Mapping[str, Json]

#: Grids whose rows hold the transform back, in the order of the table.
LIMITS: Final = ("gain", "clip", "mask")
_FIGURES: Final = (
    "min. r before",
    "mean r after clipping",
    "95 % interval",
    "r in 8 bits",
    "values clipped",
    "95 % interval",
    "in 8 bits",
    "pixels clipped",
    "channels unclipped",
    "in 8 bits",
    "pooled r",
)


def titled(dataset: str) -> str:
    """A dataset's name without its recipe.

    >>> titled("synthetic:size=224"), titled("here/blood.parquet")
    ('synthetic', 'blood')
    """
    return dataset.partition(":")[0].rpartition("/")[2].removesuffix(".parquet")


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Every table of the page, by its mark."""
    return {"comparison": comparison(rows), "limits": limits(rows), "spaces": spaces(rows)}


def comparison(rows: Iterable[Row]) -> str:
    """Every dataset under the paper's equation, below the paper's own figures."""
    printed = [
        "**the paper:** PathMNIST, training split, 224 px",
        "400",
        f"{PROPERTIES['pearson_before_clipping_min']:.6f}",
        f"{PROPERTIES['pearson_after_clipping_mean']:.4f}",
        "",
        "",
        _percent(PROPERTIES["clipped_share_mean"]),
        "",
        "",
        "",
        f"{100 * PROPERTIES['channel_instances_unclipped']:.1f} %",
        "",
        f"{PROPERTIES['pearson_pooled_channels']:.3f}",
    ]
    chosen = _of(rows, ("paper", "native"))
    several = len({row["seed"] for row in chosen}) > 1
    body = [[_label(row, seed=several), str(row["pairs"]), *_figures(row)] for row in chosen]
    return markdown(["data", "pairs", *_FIGURES], [printed, *body])


def limits(rows: Iterable[Row]) -> str:
    """What holding the transform back changes."""
    body = [
        [
            titled(str(row["dataset"])),
            _limit(row),
            *(_limited(row) if has_result(row) else [GAP] * 7),
        ]
        for row in sorted(_of(rows, LIMITS), key=_order)
    ]
    head = [
        "data",
        "limit",
        "mean r after",
        "lowest r",
        "8-bit values clipped",
        "channels unclipped",
        "pooled r",
        "mean strength",
    ]
    return markdown([*head, "pairs with a gain held"], body, left=2)


def spaces(rows: Iterable[Row]) -> str:
    """The same in other colour spaces: only in RGB is each channel an affine map of itself."""
    body = [
        [
            titled(str(row["dataset"])),
            str(row["space"]),
            *(_in_space(row) if has_result(row) else [GAP] * 4),
        ]
        for row in _of(rows, ("space",))
    ]
    return markdown(["data", "space", "lowest r before", "mean r after", "values clipped", "pooled r"], body, left=2)


def _limited(row: Row) -> list[str]:
    return [
        f"{_get(row, 'pearson_after_mean'):.4f}",
        f"{_get(row, 'pearson_after_min'):.4f}",
        _percent(_get(row, "clipped_levels")),
        _share(_get(row, "unclipped_instances_levels")),
        f"{_get(row, 'pooled_after'):.3f}",
        f"{_get(row, 'strength_mean'):.3f}",
        str(_get(row, "pairs_gain_capped")),
    ]


def _in_space(row: Row) -> list[str]:
    return [
        f"{_get(row, 'pearson_before_min'):.4f}",
        f"{_get(row, 'pearson_after_mean'):.4f}",
        _percent(_get(row, "clipped_values")),
        f"{_get(row, 'pooled_after'):.3f}",
    ]


def _figures(row: Row) -> Sequence[str]:
    if not has_result(row):
        return [GAP] * len(_FIGURES)
    low, high = _get(row, "pearson_after_interval")
    least, most = _get(row, "clipped_interval")
    return (
        f"{_get(row, 'pearson_before_min'):.6f}",
        f"{_get(row, 'pearson_after_mean'):.4f}",
        f"{low:.4f} – {high:.4f}",
        f"{_get(row, 'pearson_written_mean'):.4f}",
        _percent(_get(row, "clipped_values")),
        f"{100 * least:.2f} – {100 * most:.2f}",
        _percent(_get(row, "clipped_levels")),
        _percent(_get(row, "clipped_pixels")),
        _share(_get(row, "unclipped_instances")),
        _share(_get(row, "unclipped_instances_levels")),
        f"{_get(row, 'pooled_after'):.3f}",
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
    place = LIMITS.index(family(row))
    return titled(str(row["dataset"])), place, -float(str(row["max_gain"])), -float(str(row["max_clip"]))


def _of(rows: Iterable[Row], grids: Sequence[str]) -> list[Row]:
    return [row for row in rows if family(row) in grids]


def family(row: Row) -> str:
    """Grids of one kind differ in what follows the hyphen: datasets with other splits or masks.

    >>> family({"grid": "gain-pathmnist"})
    'gain'
    """
    return str(row["grid"]).partition("-")[0]


def _get(row: Row, name: str) -> Any:
    return row[f"result.{name}"]


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"
