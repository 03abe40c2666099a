"""The picture of the shift study: the gain of every method on every unseen target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recolorist_lab.report import figures
from recolorist_lab.studies.shift.scores import NETWORKS, Floats, Row, collect

__all__ = ["draw"]


def draw(rows: Sequence[Row], targets: Sequence[str] = ()) -> Any:
    """Draw the gains over no augmentation.

    Args:
        rows: Rows of the study.
        targets: Names of datasets to use; empty for all.

    Returns:
        A figure: methods from the best down, a dot for each target, and the mean with its interval.
    """
    scores = collect(rows, targets)
    every = [(method, scores.difference(method)) for method in scores.methods]
    gains = sorted(((method, gain) for method, gain in every if gain is not None), key=lambda pair: pair[1].mean)
    picture, axes = figures.figure(7.2, 1.4 + 0.34 * len(gains))
    with figures.house():
        for row, (method, gain) in enumerate(gains):
            for number, network in enumerate(NETWORKS):
                _dots(axes, scores.gains(method, network=network), row, number)
            axes.plot([100 * gain.low, 100 * gain.high], [row, row], color=figures.INK, linewidth=1.6, zorder=3)
            axes.plot([100 * gain.mean], [row], "D", color=figures.INK, markersize=5, zorder=4)
        axes.axvline(0.0, color=figures.MUTED, linewidth=1.0)
        axes.set_yticks(range(len(gains)), [method for method, _ in gains])
        axes.set_xlabel("gain on unseen images over no augmentation, percentage points (mean and 95 % interval)")
        axes.grid(visible=False, axis="y")
        picture.legend(loc="outside lower center", ncols=2)
    return picture


def _dots(axes: Any, gains: Floats, row: int, number: int) -> None:
    """Draw a dot for each target of one kind of network, a little above or below the line of the method."""
    if gains.size:
        label = list(NETWORKS.values())[number] if row == 0 else None
        height = np.full(len(gains), row + (0.14 if number else -0.14))
        colour = figures.PALETTE[number]
        axes.plot(100 * gains.mean(axis=1), height, "o", color=colour, markersize=4, alpha=0.7, label=label)
