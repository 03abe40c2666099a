"""The figure of the probability sweep: two panels on one scale, bands over seeds, a line at the paper's 30 %."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np

from recolorist.errors import OptionError
from recolorist_lab.data.registry import CARDS
from recolorist_lab.report import figures
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.classify.table import MEDMNIST, OOD, Value, value_of

__all__ = ["CHOSEN", "Curve", "CurvePanel", "aggregate", "curve", "draw", "hospitals", "sweep"]

Row: TypeAlias = Mapping[str, Json]
CHOSEN: Final = 0.30


class Curve(NamedTuple):
    """Values by probability, one per seed."""

    title: str
    points: Mapping[float, Sequence[float]]

    def arrays(self) -> tuple[Any, Any, Any]:
        """Return probabilities, means, and deviations over seeds.

        Returns:
            Three arrays; deviations are zero for one seed.
        """
        p = sorted(self.points)
        means = np.array([np.mean(self.points[probability]) for probability in p])
        spread = np.array(
            [np.std(self.points[probability], ddof=1) if len(self.points[probability]) > 1 else 0.0 for probability in p]
        )
        return np.array(p), means, spread


class CurvePanel(NamedTuple):
    """Thin lines for single sets, and bold lines with a band for their means."""

    title: str
    single: Sequence[Curve]
    bold: Sequence[Curve]


def curve(rows: Sequence[Row], title: str, dataset: str, value: Value = value_of) -> Curve:
    """Collect the points of one dataset.

    Args:
        rows: Results, one for each cell.
        title: Its name in the legend.
        dataset: The dataset.
        value: Reads the number from a row.

    Returns:
        Values by probability.
    """
    points: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        if row["dataset"] == dataset:
            points[_probability(row)].append(value(row))
    return Curve(title, points)


def aggregate(rows: Sequence[Row], title: str, datasets: Sequence[str]) -> Curve:
    """Average over datasets within each seed; a seed that lacks one of them is left out.

    Args:
        rows: Results, one for each cell.
        title: Its name in the legend.
        datasets: The datasets.

    Returns:
        Values by probability.
    """
    by_run: dict[tuple[float, int], dict[str, float]] = defaultdict(dict)
    for row in rows:
        by_run[_probability(row), int(cast("int", row["seed"]))][str(row["dataset"])] = value_of(row)
    points: dict[float, list[float]] = defaultdict(list)
    for (p, _), values in by_run.items():
        if all(name in values for name in datasets):
            points[p].append(float(np.mean([values[name] for name in datasets])))
    return Curve(title, points)


def sweep(rows: Sequence[Row]) -> Any:
    """Draw the paper's figure: MedMNIST+ on the left; the sets with a shift, and both aggregates, on the right.

    Args:
        rows: Results, one for each cell.

    Returns:
        The figure.
    """
    medmnist = [curve(rows, CARDS[name].title, name) for name in MEDMNIST]
    right = [curve(rows, CARDS[name].title, name) for name in OOD.values()]
    bold = [aggregate(rows, "MedMNIST+ (12)", MEDMNIST), aggregate(rows, "OOD (7)", tuple(OOD.values()))]
    return draw([CurvePanel("In distribution", medmnist, []), CurvePanel("Covariate shift", right, bold)])


def hospitals(rows: Sequence[Row]) -> Any:
    """Draw held-out tiles of the source on the left, and unseen hospitals on the right.

    Args:
        rows: Results, one for each cell.

    Returns:
        The figure.
    """
    dataset = str(rows[0]["dataset"])
    source = curve(rows, "source", dataset, lambda row: value_of(row, "source"))
    unseen = [
        curve(rows, title, dataset, lambda row, scored=scored: value_of(row, scored))  # type: ignore[misc]
        for title, scored in (("hospital 1", "val_split"), ("hospital 2", "test"))
    ]
    mean_of_both = curve(rows, "mean of both", dataset, lambda row: (value_of(row, "val_split") + value_of(row, "test")) / 2)
    return draw([CurvePanel("Source, held out", [], [source]), CurvePanel("Unseen hospitals", unseen, [mean_of_both])])


def draw(panels: Sequence[CurvePanel]) -> Any:
    """Draw panels side by side on one vertical scale, so that slopes can be compared.

    Args:
        panels: What to draw.

    Returns:
        The figure.

    Raises:
        OptionError: No panel has a point.
    """
    if not any(curve.points for panel in panels for curve in (*panel.single, *panel.bold)):
        raise OptionError("no row has a probability and a result; run the sweep first")
    picture, grid = figures.figure(7.2, 3.8, columns=len(panels), sharey=True, squeeze=False)
    with figures.house():
        for number, (panel, axes) in enumerate(zip(panels, grid[0], strict=True)):
            _fill(axes, panel)
            axes.axvline(CHOSEN, color=figures.MUTED, linestyle=":", linewidth=1.0)
            axes.set_xlabel("probability of the augmentation")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
            axes.set_title(panel.title)
            if number == 0:
                axes.set_ylabel("balanced accuracy")
    return picture


def _fill(axes: Any, panel: CurvePanel) -> None:
    for number, curve in enumerate(panel.single):
        if curve.points:
            p, mean, _ = curve.arrays()
            colour = figures.PALETTE[number % len(figures.PALETTE)]
            axes.plot(p, mean, color=colour, linewidth=1.0, alpha=0.8, label=curve.title)
    for number, curve in enumerate(panel.bold):
        if curve.points:
            p, mean, spread = curve.arrays()
            axes.fill_between(p, mean - spread, mean + spread, color=figures.INK, alpha=0.12, linewidth=0)
            axes.plot(p, mean, color=figures.INK, linestyle="-" if number == 0 else "--", linewidth=2.0, label=curve.title)
    axes.legend(ncols=2, fontsize=6.5)


def _probability(row: Row) -> float:
    return float(cast("float", row["probability"]))
