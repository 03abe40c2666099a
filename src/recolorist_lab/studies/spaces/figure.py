"""The figures of the colour-space study: structure against colour, ranks with their critical difference, and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from recolorist.core.spaces import SPACES
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report import figures
from recolorist_lab.studies.spaces.statistics import Significance
from recolorist_lab.studies.spaces.table import CALLED, ORDER, SpaceScores

__all__ = ["costs", "methods", "ranks"]

_NAMES: Final = {
    "mean_std": "mean–std",
    "histogram": "histogram",
    "exact_histogram": "exact histogram",
    "covariance": "covariance",
}


def ranks(tests: Significance) -> Any:
    """Draw which spaces differ significantly under mean–std matching.

    Args:
        tests: The tests of the study.

    Returns:
        The figure.
    """
    name = CALLED[tests.metric]
    title = f"{name} of mean–std matching in {len(tests.ranks.ranks)} colour spaces"
    return figures.critical_difference(tests.ranks, title, f"the lowest {name}")


def methods(scores: SpaceScores, metric: str = "artfid", title: str = "ArtFID, mean over datasets (lower is better)") -> Any:
    """Draw one metric for every space and method; the spaces in order of mean–std matching.

    Args:
        scores: The results of the study.
        metric: The metric.
        title: The title of the axis.

    Returns:
        The figure.
    """
    spaces = [space for space in scores.spaces if scores.mean(metric, space, "mean_std") is not None]
    spaces.sort(key=lambda space: scores.mean(metric, space, "mean_std") or 0.0, reverse=True)
    picture, axes = figures.figure(7.2, 1.3 + 0.28 * len(spaces))
    with figures.house():
        for number, method in enumerate(scores.methods):
            points = [(scores.mean(metric, space, method), row) for row, space in enumerate(spaces)]
            defined = [(value, row) for value, row in points if value is not None]
            axes.scatter(
                [value for value, _ in defined],
                [row for _, row in defined],
                s=34,
                marker="osD^"[number],
                color=figures.PALETTE[number],
                label=_NAMES[method],
                zorder=3,
            )
        axes.set_yticks(range(len(spaces)), [_label_of(space) for space in spaces])
        axes.set_ylim(-0.6, len(spaces) - 0.4)
        axes.grid(visible=False, axis="y")
        for row in range(len(spaces)):
            axes.axhline(row, color=figures.LINE, linewidth=0.6, zorder=0)
        axes.set_xlabel(title)
        picture.legend(loc="outside upper center", ncols=4, handletextpad=0.2)
    return picture


def costs(milliseconds: Mapping[str, Mapping[str, Mapping[str, float]]], size: int) -> Any:
    """Draw the processor time of one transfer in every space, mean–std matching, on a logarithmic scale.

    Args:
        milliseconds: Median and quartiles by space and method.
        size: Side of the images.

    Returns:
        The figure.
    """
    spaces = sorted(milliseconds, key=lambda space: (milliseconds[space]["mean_std"]["median"], ORDER.index(space)), reverse=True)
    picture, axes = figures.figure(7.2, 1.1 + 0.26 * len(spaces))
    with figures.house():
        for row, space in enumerate(spaces):
            quartiles = milliseconds[space]["mean_std"]
            colour = figures.PALETTE[0] if SPACES[space].is_linear else figures.PALETTE[1]
            axes.axhline(row, color=figures.LINE, linewidth=0.6, zorder=0)
            axes.plot([quartiles["low"], quartiles["high"]], [row, row], color=colour, linewidth=3.0, solid_capstyle="round")
            axes.scatter(quartiles["median"], row, s=34, color=colour, zorder=3)
            axes.text(quartiles["median"] * 1.35, row, _format_value(quartiles["median"]), va="center", fontsize=8.5, zorder=4)
        axes.set_xscale("log")
        low = min(milliseconds[space]["mean_std"]["median"] for space in spaces)
        high = max(milliseconds[space]["mean_std"]["median"] for space in spaces)
        axes.set_xlim(low / 3, high * 4)
        axes.set_yticks(range(len(spaces)), [_label_of(space) for space in spaces])
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"milliseconds of one core for one transfer of {size} × {size} pixels: median and quartiles")
        for colour, label in ((figures.PALETTE[0], "linear: no pixel is converted"), (figures.PALETTE[1], "not linear")):
            axes.scatter([], [], s=34, color=colour, label=label)
        axes.set_ylim(-0.6, len(spaces) - 0.4)
        picture.legend(loc="outside upper center", ncols=2)
    return picture


def _label_of(space: str) -> str:
    return paper.TITLES[space] if space in paper.SPACES else f"{paper.TITLES[space]} †"


def _format_value(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"
