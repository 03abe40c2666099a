"""The tables of the pages of the shift study: screening, choosing, confirming, and the summary of the front page."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from recolorist_lab.report.paired import Difference, difference
from recolorist_lab.report.table import GAP, Cell, Column, Digits, Number, Range, Table, label
from recolorist_lab.studies.shift.names import group_of, method_name
from recolorist_lab.studies.shift.scores import BASELINE, NETWORKS, Row, Scores, collect
from recolorist_lab.studies.shift.table import gains_table, targets_table

__all__ = [
    "CHOSEN",
    "LARGEST",
    "TOGETHER",
    "choosing_tables",
    "count_trainings",
    "finding",
    "groups_table",
    "harmonising_table",
    "overall_table",
    "summary_table",
    "tables",
    "with_range",
]

CHOSEN: Final = "RandAugment"  #: by the rule of the protocol
LARGEST: Final = "own_style+randaugment"  #: with the largest gain of those that the rule of the recipe admits
TOGETHER: Final = "colorist+randaugment"
_POINTS: Final = Digits(1)
_WIDTH: Final = 150


def tables(rows: Sequence[Row]) -> dict[str, Table | str]:
    """Make every table of the page of confirming, by the name of its mark; seeds of which a training is missing are left out.

    Args:
        rows: Rows of the study.

    Returns:
        Tables and sentences by mark.
    """
    done = whole_seeds(rows)
    methods = list(collect(done).values)
    parts: dict[str, Table | str] = {
        "finding": finding(done),
        "summary": summary_table(done),
        "cells": count_trainings(rows, done),
        "groups": groups_table(done),
        "added": added_table(done),
    }
    for network, short in (("network", "scratch"), ("head", "frozen")):
        parts[short] = gains_table(done, network=network)
        parts[f"harmonising_{short}"] = harmonising_table(done, network)
        parts[f"targets_{short}"] = targets_table(done, methods, network)
    return parts


def whole_seeds(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of seeds that every method and target has, for each kind of network.

    Args:
        rows: Rows of the study.

    Returns:
        Those rows, in the same order.
    """
    missing = {(row["fit"], row["seed"]) for row in rows if "result.test.balanced_accuracy" not in row}
    return [row for row in rows if (row["fit"], row["seed"]) not in missing]


def choosing_tables(rows: Sequence[Row]) -> dict[str, Table | str]:
    """Make every table of the page of choosing.

    Args:
        rows: Rows of the study.

    Returns:
        Tables and sentences by mark.
    """
    done = [row for row in rows if "result.test.balanced_accuracy" in row]
    return {
        "cells": count_trainings(rows, done),
        "overall": overall_table(done),
        "scratch": gains_table(done, network="network"),
        "frozen": gains_table(done, network="head"),
    }


def overall_table(rows: Sequence[Row]) -> Table:
    """Return one line per method: the mean gain over both kinds of network, and at the source; the best first.

    Args:
        rows: Rows of the study.

    Returns:
        The table.
    """
    scores = collect(rows)
    lines = []
    for method in scores.methods:
        by_test_set = {scored: _both(scores, method, scored) for scored in ("test", "test_gated", "source")}
        if by_test_set["test"] is not None:
            lines.append((method, by_test_set))
    lines.sort(key=lambda line: -(line[1]["test"] or 0.0))
    return Table(
        [
            label("method"),
            Column("seeds"),
            Column("gain, both networks", "points", digits=_POINTS),
            Column("gain, gated", "points", digits=_POINTS),
            Column("at the source", "points", digits=_POINTS),
        ],
        [
            [
                method_name(method),
                _seeds(scores, method),
                *(_points(by_test_set[scored]) for scored in ("test", "test_gated", "source")),
            ]
            for method, by_test_set in lines
        ],
    )


def summary_table(rows: Sequence[Row]) -> Table:
    """Return accuracies on unseen targets for the front page, in per cent: as they are and gated, with both kinds of network.

    Args:
        rows: Rows of the study.

    Returns:
        The table.
    """
    scores = collect(rows)
    shown = [method for method in scores.values if "jitter" not in method]
    order = sorted(shown, key=lambda method: (method != BASELINE, _mean(scores, method, "test")))
    lines: list[list[Cell]] = [
        [
            method_name(method),
            *(
                _percent(scores.mean(method, scored, network=network))
                for network in NETWORKS
                for scored in ("test", "test_gated")
            ),
        ]
        for method in order
    ]
    columns = [
        Column(f"{name}{', harmonised' if scored else ''}", "%", digits=_POINTS)
        for name in NETWORKS.values()
        for scored in (0, 1)
    ]
    return Table([label("trained with"), *columns], lines)


def harmonising_table(rows: Sequence[Row], network: str) -> Table:
    """Return what harmonising adds to each method: paired differences to the same network on the images as they are.

    Args:
        rows: Rows of the study.
        network: The kind of network.

    Returns:
        The table.
    """
    scores = collect(rows)
    lines: list[list[Cell]] = []
    for method in scores.values:
        line: list[Cell] = [method_name(method)]
        for scored in ("test_gated", "test_harmonised"):
            gains = scores.gains(method, scored, network=network) - scores.gains(method, network=network)
            line += _with_interval(difference(gains) if gains.size else None)
        lines.append(line)
    return Table(
        [
            label(f"method, {NETWORKS[network]}"),
            Column("gated", "points", digits=_POINTS),
            Column("interval", digits=_POINTS),
            Column("better on"),
            Column("always", "points", digits=_POINTS),
            Column("interval", digits=_POINTS),
            Column("better on"),
        ],
        lines,
    )


def added_table(rows: Sequence[Row]) -> Table:
    """Return what every method that ends in RandAugment adds to it alone.

    Args:
        rows: Rows of whole seeds.

    Returns:
        Paired differences on images as they are, gated and at the source.
    """
    scores = collect(rows)
    lines: list[list[Cell]] = []
    for method in (each for each in scores.values if each.endswith("+randaugment")):
        for network, kind in NETWORKS.items():
            line: list[Cell] = [f"{method_name(method)}, {kind}"]
            for scored in ("test", "test_gated", "source"):
                less, more = (scores.gains(each, scored, network=network) for each in ("RandAugment", method))
                line.append(with_range(difference(more - less)) if more.size else "")
            lines.append(line)
    headings = ("as they are", "gated", "at the source")
    return Table([label("against RandAugment alone"), *(Column(heading, "points") for heading in headings)], lines)


def groups_table(rows: Sequence[Row]) -> Table:
    """Return the gain of every method by kind of target, mean of both kinds of network, as they are and gated.

    Args:
        rows: Rows of the study.

    Returns:
        The table.
    """
    names = sorted({str(row["dataset"]) for row in rows})
    groups = list(dict.fromkeys(group_of(name) for name in names))
    by_group = {group: collect(rows, [name for name in names if group_of(name) == group]) for group in groups}
    lines: list[list[Cell]] = [
        [
            method_name(method),
            *(_points(_both(scores, method, scored)) for scores in by_group.values() for scored in ("test", "test_gated")),
        ]
        for method in collect(rows).values
    ]
    columns = [Column(f"{group}{scored}", "points", digits=_POINTS) for group in groups for scored in ("", ", gated")]
    return Table([label("method"), *columns], lines)


def finding(rows: Sequence[Row]) -> str:
    """Say what was found: the gains of each way to train, what it changes at the source, and what the gate adds.

    Args:
        rows: Rows of the study.

    Returns:
        The sentences.
    """
    scores = collect(rows)

    def gain(method: str, scored: str = "test") -> list[Difference | None]:
        return [scores.difference(method, scored, network=network) for network in NETWORKS]

    def added(method: str) -> list[Difference | None]:
        return [
            difference(scores.gains(method, "test_gated", network=network) - scores.gains(method, network=network))
            for network in NETWORKS
        ]

    def both(gains: Sequence[Difference | None], way: Callable[[Difference | None], str] = _text) -> str:
        return " and ".join(map(way, gains))

    named = (LARGEST, TOGETHER, CHOSEN)
    unseen, source, gated = ([both(gain(each, scored), way) for each in named] for scored, way in _FOUND)
    words = (
        f"On nine unseen targets, `own_style` + RandAugment gained {unseen[0]} points over no augmentation, from scratch and "
        f"with frozen features; Colorist + RandAugment gained {unseen[1]}, RandAugment alone {unseen[2]}, Colorist alone "
        f"{both(gain('Colorist'), _short)}. At the source the first three changed the accuracy by {source[0]}, {source[1]} and "
        f"{source[2]}. With test images harmonised that lie outside the bank, the gains are {gated[0]} for `own_style`, "
        f"{gated[1]} for Colorist + RandAugment and {gated[2]} for RandAugment alone; harmonising adds "
        f"{both(added(BASELINE))} to networks trained without augmentation. In brackets: 95 % intervals."
    )
    return textwrap.fill(words, _WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


def with_range(gain: Difference) -> str:
    """Write a gain in points with its interval.

    Args:
        gain: The difference and its interval.

    Returns:
        A text for a cell of a table.

    Example:
        >>> with_range(Difference(0.052, -0.003, 0.115, 6, 9, 27))
        '+5.2 (-0.3 to 11.5)'
    """
    return f"{100 * gain.mean:+.1f} ({100 * gain.low:.1f} to {100 * gain.high:.1f})"


def _text(gain: Difference | None) -> str:
    return "" if gain is None else with_range(gain)


def _short(gain: Difference | None) -> str:
    return "" if gain is None else f"{100 * gain.mean:+.1f}"


_FOUND: Final = (("test", _text), ("source", _short), ("test_gated", _short))  # sets that the finding names, and how


def count_trainings(rows: Sequence[Row], done: Sequence[Row]) -> str:
    """Say how many trainings there are, and how long they took.

    Args:
        rows: All rows of the study.
        done: Those that are shown.

    Returns:
        One sentence with a line break.
    """
    hours = sum(float(str(row.get("seconds", 0.0))) for row in done) / 3600
    counts = []
    for fit, name in NETWORKS.items():
        every, own = ({row["seed"] for row in part if row["fit"] == fit} for part in (rows, done))
        if not every:
            continue
        counts.append(f"{sum(row['fit'] == fit for row in done):,} {name}, {len(own)} of {len(every)} seeds")
    return f"{len(done):,} of {len(rows):,} trainings are shown ({'; '.join(counts)}); they took {hours:.1f} hours on one core.\n"


def _seeds(scores: Scores, method: str) -> str:
    """Return the number of seeds; if the kinds of network differ, one for each."""
    counts = [len({setting.seed for setting in scores.values[method] if setting.network == network}) for network in NETWORKS]
    return " and ".join(map(str, dict.fromkeys(counts)))


def _both(scores: Scores, method: str, scored: str) -> float | None:
    """Return the mean over the kinds of network of the mean gain over targets and seeds."""
    by_network = [scores.gains(method, scored, network=network) for network in NETWORKS]
    means = [float(gains.mean()) for gains in by_network if gains.size]
    return float(np.mean(means)) if len(means) == len(NETWORKS) else None


def _mean(scores: Scores, method: str, scored: str) -> float:
    values = [scores.mean(method, scored, network=network) for network in NETWORKS]
    return sum(value or 0.0 for value in values)


def _with_interval(gain: Difference | None) -> list[Cell]:
    if gain is None:
        return [GAP, "", ""]
    return [Number(100 * gain.mean), Range(100 * gain.low, 100 * gain.high), f"{gain.better} of {gain.targets}"]


def _points(value: float | None) -> Number:
    return GAP if value is None else Number(100 * value)


def _percent(value: float | None) -> Number:
    return GAP if value is None else Number(100 * value)
