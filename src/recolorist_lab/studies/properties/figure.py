"""The figures of the properties study: clipping against correlation, and the effect of limits."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab.paper.numbers import PROPERTIES
from recolorist_lab.report import figures
from recolorist_lab.report.rows import has_result
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.properties.cell import NO_CAP
from recolorist_lab.studies.properties.table import family, titled

__all__ = ["clipping", "instances", "limits"]

Array: TypeAlias = NDArray[np.float64]
Instances: TypeAlias = Mapping[str, Array]
Row: TypeAlias = Mapping[str, Json]

_LOSS_FLOOR: Final = 1e-6  # correlations nearer to 1 than this are drawn on the floor
_NAMES: Final = ("red", "green", "blue")


def instances(data: bytes) -> dict[str, Array]:
    """Read the file that a cell of the study keeps.

    Args:
        data: The bytes of the file.

    Returns:
        Columns by name.
    """
    lines = list(csv.DictReader(io.StringIO(data.decode())))
    return {name: np.array([float(line[name] or "nan") for line in lines]) for name in lines[0]}


def clipping(instances_by_name: Mapping[str, Instances], columns: int = 3) -> Any:
    """Draw the clipped share against the correlation that is left, for every channel of every pair.

    Args:
        instances_by_name: Columns of each dataset.
        columns: Panels in a row.

    Returns:
        The figure, one panel per dataset.

    Raises:
        OptionError: There is nothing to draw.
    """
    if not instances_by_name:
        raise OptionError("there is no dataset to draw")
    columns = min(columns, len(instances_by_name))
    rows = -(-len(instances_by_name) // columns)
    picture, axes = figures.figure(2.75 * columns, 2.45 * rows + 0.5, rows, columns, sharex=True, sharey=True, squeeze=False)
    with figures.house():
        for number, (name, column) in enumerate(instances_by_name.items()):
            _panel(axes.flat[number], name, column)
        for empty in list(axes.flat)[len(instances_by_name) :]:
            empty.set_visible(False)
        for row in axes:
            row[0].set_ylabel("1 − r after clipping")
        for number in range(max(0, len(instances_by_name) - columns), len(instances_by_name)):
            axes.flat[number].set_xlabel("values clipped, %")
            axes.flat[number].xaxis.set_tick_params(labelbottom=True)
        handles = [
            axes.flat[0].scatter([], [], s=18, color=colour, label=name)
            for name, colour in zip(_NAMES, figures.CHANNELS, strict=True)
        ]
        wide = columns > 2  # a narrow figure has no space for a title beside the legend
        corner = "outside upper right" if wide else "outside lower center"
        picture.legend(handles=handles, loc=corner, ncols=3, handletextpad=0.1, columnspacing=1.2)
        if wide:
            picture.suptitle("Correlation lost to clipping, per channel of a pair", x=0.01, ha="left")
    return picture


def _panel(axes: Any, name: str, column: Instances) -> None:
    share, loss = 100.0 * column["clipped"], np.maximum(1.0 - column["after"], _LOSS_FLOOR)
    clipped = share > 0
    for channel, colour in enumerate(figures.CHANNELS):
        is_shown = clipped & (column["channel"] == channel) & np.isfinite(loss)
        axes.scatter(share[is_shown], loss[is_shown], s=5, color=colour, alpha=0.45, linewidths=0, rasterized=True)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1e-3, 100)
    axes.set_ylim(_LOSS_FLOOR / 2, 40)  # space for words above what is possible
    axes.set_yticks([10.0**power for power in range(-6, 1, 2)], minor=False)
    axes.minorticks_off()
    axes.set_title(name, fontsize=9)
    free = 100.0 * float((~clipped).mean())
    words = f"{free:.0f} % of channels unclipped\nmean r {np.nanmean(column['after']):.4f}"
    axes.text(0.04, 0.97, words, transform=axes.transAxes, va="top", fontsize=7.5, color=figures.INK)


def limits(rows: Sequence[Row]) -> Any:
    """Draw how limits on gain and clipping change correlation and clipped share.

    Args:
        rows: Results, one for each cell.

    Returns:
        The figure, one line per dataset.
    """
    picture, axes = figures.figure(7.6, 5.4, 2, 2, sharey="row")
    with figures.house():
        for column, (grid, field, label) in enumerate(
            (("gain", "max_gain", "largest gain allowed"), ("clip", "max_clip", "largest clipped share allowed, %"))
        ):
            _lines(axes[0, column], rows, grid, field, "pearson_after_mean")
            _lines(axes[1, column], rows, grid, field, "clipped_levels")
            axes[1, column].set_xlabel(label)
        axes[0, 0].set_ylabel("mean r after clipping")
        axes[1, 0].set_ylabel("8-bit values clipped, %")
        axes[0, 0].set_title("max_gain")
        axes[0, 1].set_title("max_clip")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=3)
    return picture


def _lines(axes: Any, rows: Iterable[Row], grid: str, field: str, figure: str) -> None:
    of_grid = [row for row in rows if family(row) == grid and has_result(row)]
    values = sorted({float(str(row[field])) for row in of_grid})
    names = sorted({titled(str(row["dataset"])) for row in of_grid})
    for number, name in enumerate(names):
        points = sorted(
            (values.index(float(str(row[field]))), float(str(row[f"result.{figure}"])))
            for row in of_grid
            if titled(str(row["dataset"])) == name
        )
        scale = 100.0 if figure == "clipped_levels" else 1.0
        heights = [scale * height for _, height in points]
        axes.plot([x for x, _ in points], heights, marker="o", color=figures.PALETTE[number], label=name)
    printed = {
        "pearson_after_mean": PROPERTIES["pearson_after_clipping_mean"],
        "clipped_levels": 100 * PROPERTIES["clipped_share_mean"],
    }
    axes.axhline(
        printed[figure], color=figures.MUTED, linewidth=1.0, linestyle=(0, (4, 3)), label="the paper, PathMNIST, no limit"
    )
    axes.set_xticks(range(len(values)), [_tick(value, field) for value in values])


def _tick(value: float, field: str) -> str:
    if field == "max_clip":
        return "none" if value >= 1 else f"{100 * value:g}"
    return "none" if value >= NO_CAP else f"{value:g}"
