"""The picture of the shift study: the gain of every method on every unseen target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from recolorist_lab.report import figures
from recolorist_lab.studies.shift.names import method_name
from recolorist_lab.studies.shift.scores import BASELINE, NETWORKS, Row, Scores, collect

__all__ = ["draw"]

_ALONG: Final = {"test": "gain over no augmentation, points", "source": "change at the source, points"}


def draw(rows: Sequence[Row], targets: Sequence[str] = (), scored: str = "test") -> Any:
    """Draw the gains over no augmentation.

    Args:
        rows: Rows of the study.
        targets: Names of datasets to use; empty for all.
        scored: The test set: ``"test"``, or ``"source"`` for what changes there.

    Returns:
        A figure with one panel for each kind of network that was run: methods from the best down, a dot for each target, the
        mean with its interval, and the mean of the same network on gated images.
    """
    scores = collect(rows, targets)
    networks = [network for network in NETWORKS if any(place[0] == network for place in scores.targets(BASELINE))]
    means = {method: _mean(scores, method, networks, scored) for method in scores.methods}
    order = sorted((method for method, mean in means.items() if mean is not None), key=lambda method: means[method] or 0.0)
    picture, panels = figures.figure(
        4.8 * len(networks), 1.5 + 0.34 * len(order), columns=len(networks), sharey=True, squeeze=False
    )
    with figures.house():
        for panel, network in zip(panels[0], networks, strict=True):
            _panel(panel, scores, order, network, figures.PALETTE[list(NETWORKS).index(network)], scored)
            panel.set_title(NETWORKS[network])
            panel.set_xlabel(_ALONG[scored])
        panels[0, 0].set_ylim(-0.7, len(order) - 0.3)
        panels[0, 0].set_yticks(range(len(order)), [method_name(method) for method in order])
        handles, labels = panels[0, 0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=3)
    return picture


def _panel(axes: Any, scores: Scores, order: Sequence[str], network: str, colour: str, scored: str) -> None:
    for row, method in enumerate(order):
        gains, gain = scores.gains(method, scored, network=network), scores.difference(method, scored, network=network)
        if gain is None:
            continue
        is_gated = scored == "test" and _is_gated(scores, method)
        gated = scores.difference(method, "test_gated", network=network) if is_gated else None
        names = (
            (f"one {'target' if scored == 'test' else 'source'}", "mean and 95 % interval", "mean, gated")
            if row == 0
            else (None, None, None)
        )
        axes.plot(100 * gains.mean(axis=1), [row] * len(gains), "o", color=colour, markersize=4, alpha=0.6, label=names[0])
        axes.plot([100 * gain.low, 100 * gain.high], [row, row], color=figures.INK, linewidth=1.6, zorder=3)
        axes.plot([100 * gain.mean], [row], "D", color=figures.INK, markersize=5, zorder=4, label=names[1])
        if gated is not None:
            axes.plot([100 * gated.mean], [row], "|", color=figures.INK, markersize=12, zorder=4, label=names[2])
    axes.axvline(0.0, color=figures.MUTED, linewidth=1.0)
    axes.grid(visible=False, axis="y")


def _is_gated(scores: Scores, method: str) -> bool:
    return all("test_gated" in run for run in scores.values[method].values())


def _mean(scores: Scores, method: str, networks: Sequence[str], scored: str) -> float | None:
    """Return the mean gain over the kinds of network; None where the method was not run with one of them."""
    by_network = [scores.gains(method, scored, network=network) for network in networks]
    return float(np.mean([gains.mean() for gains in by_network])) if all(gains.size for gains in by_network) else None
