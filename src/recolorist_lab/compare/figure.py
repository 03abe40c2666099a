"""The picture of a comparison: accuracy of every method on every unseen hospital, and the differences with their intervals."""

from __future__ import annotations

from typing import Any, Final

from recolorist_lab.compare.results import Comparison
from recolorist_lab.report import figures

__all__ = ["draw"]

_NAMED: Final = 8  # targets that the legend can hold
_ACROSS: Final = 3  # entries in a line of the legend


def draw(comparison: Comparison) -> Any:
    """Draw a comparison.

    Args:
        comparison: The results.

    Returns:
        A figure with two panels: a dot for each target, and the mean difference to no augmentation with its interval.
    """
    methods = comparison.methods
    picture, (left, right) = figures.figure(8.4, 1.5 + 0.42 * len(methods), columns=2, sharey=True, width_ratios=[3, 2])
    with figures.house():
        _accuracies(left, comparison)
        _differences(right, comparison)
        left.set_yticks(range(len(methods)), [_literal(method.title) for method in methods])
        left.set_ylim(len(methods) - 0.3, -0.5)
        for axes in (left, right):
            axes.grid(visible=False, axis="y")
        handles, labels = left.get_legend_handles_labels()
        across = min(len(labels), _ACROSS)
        order = [
            number for column in range(across) for number in range(column, len(labels), across)
        ]  # legends fill columns first
        picture.legend(
            [handles[number] for number in order], [labels[number] for number in order], loc="outside lower center", ncols=across
        )
    return picture


def _accuracies(axes: Any, comparison: Comparison) -> None:
    many = len(comparison.targets) > _NAMED
    for number, target in enumerate(comparison.targets):
        colour = figures.MUTED if many else figures.PALETTE[number % len(figures.PALETTE)]
        label = None if many else _literal(f"{target} ({comparison.images[target]:,} images)")
        values = [float(method.unseen[number].mean()) for method in comparison.methods]
        axes.plot(values, range(len(values)), "o", color=colour, label=label, markersize=5.5, alpha=0.85, zorder=3)
    for row, method in enumerate(comparison.methods):
        mean, matched = float(method.unseen.mean()), float(method.harmonised.mean())
        axes.plot([mean] * 2, [row - 0.3, row + 0.3], color=figures.INK, label="mean" if row == 0 else None, zorder=2)
        words = "mean, test images harmonised" if row == 0 else None
        axes.plot([matched] * 2, [row - 0.3, row + 0.3], ":", color=figures.INK, label=words, zorder=2)
    axes.axvline(comparison.chance, color=figures.LINE, linewidth=1.2, zorder=1)
    axes.annotate("guessing", (comparison.chance, 0.0), (2, 2), xycoords=("data", "axes fraction"),
                  textcoords="offset points", fontsize=7.5, color=figures.MUTED, va="bottom")  # fmt: skip
    where = "held-out images" if comparison.is_one_hospital else "the unseen hospital"
    axes.set_title(f"Balanced accuracy on {where}")
    axes.set_xlabel("each dot: mean over seeds" if not comparison.is_one_hospital else "each dot: one split and seed")


def _differences(axes: Any, comparison: Comparison) -> None:
    axes.axvline(0.0, color=figures.MUTED, linewidth=1.0)
    for row, method in enumerate(comparison.methods):
        gain = method.difference
        if gain is None:
            continue
        colour = figures.INK if gain.is_gain or gain.is_loss else figures.MUTED
        if gain.is_enough:
            axes.plot([100 * gain.low, 100 * gain.high], [row] * 2, color=colour, linewidth=1.8, solid_capstyle="butt")
        axes.plot([100 * gain.mean], [row], "D", color=colour, markersize=5.0)
    axes.set_title("Difference to no augmentation")
    axes.set_xlabel("points, with 95 % interval")


def _literal(text: str) -> str:
    """Make Matplotlib show a name as it is: it hides labels that begin with ``_`` and reads ``$`` as mathematics."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
