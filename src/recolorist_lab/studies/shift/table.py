"""The tables of the shift study: gains on unseen laboratories, and what they cost at the source."""

from __future__ import annotations

from collections.abc import Sequence

from recolorist_lab.report.paired import Difference, sign_test
from recolorist_lab.report.stats import holm
from recolorist_lab.report.table import GAP, Cell, Column, Digits, Number, Range, Table, label
from recolorist_lab.studies.shift.names import method_name, target_name
from recolorist_lab.studies.shift.scores import BASELINE, NETWORKS, Row, Scores, collect

__all__ = ["gains_table", "targets_table"]

_POINTS = Digits(1)


def gains_table(rows: Sequence[Row], targets: Sequence[str] = (), network: str = "") -> Table:
    """Return one line per method, best gain first: accuracy, gain with its interval, sign test, harmonised, gated, source.

    Args:
        rows: Rows of the study.
        targets: Names of datasets to use; empty for all.
        network: One kind of network only; empty for both.

    Returns:
        Accuracies in per cent and gains in percentage points. The sign tests are corrected by Holm's method.
    """
    scores = collect(rows, targets)
    gains = {method: scores.difference(method, network=network) for method in scores.methods}
    present = {method: gain for method, gain in gains.items() if gain is not None}
    order = sorted(present, key=lambda method: -present[method].mean)
    signs = holm([sign_test(scores.gains(method, network=network).mean(axis=1)) for method in order]) if order else []
    lines = [_line(scores, BASELINE, network, None, None)]
    lines += [_line(scores, method, network, present[method], p) for method, p in zip(order, signs, strict=True)]
    return Table(
        [
            label("method"),
            Column("unseen", "%", digits=_POINTS),
            Column("gain", "points", digits=_POINTS),
            Column("interval", digits=_POINTS),
            Column("better on"),
            Column("sign test", digits=Digits(3, "p")),
            Column("harmonised", "%", digits=_POINTS),
            Column("gated", "%", digits=_POINTS),
            Column("source", "%", digits=_POINTS),
            Column("at the source", "points", digits=_POINTS),
        ],
        lines,
    )


def targets_table(rows: Sequence[Row], methods: Sequence[str], network: str) -> Table:
    """List the accuracy of some methods on images as they are, in per cent, mean over seeds.

    Args:
        rows: Results, one for each cell.
        methods: The methods.
        network: The network.

    Returns:
        The table with one line per target.
    """
    scores = collect(rows)
    lines: list[list[Cell]] = [
        [target_name(place[1]), *(_of_target(scores, method, place) for method in methods)]
        for place in scores.targets(BASELINE)
        if place[0] == network
    ]
    return Table(
        [label(f"target, {NETWORKS[network]}"), *(Column(method_name(method), "%", digits=_POINTS) for method in methods)], lines
    )


def _line(scores: Scores, method: str, network: str, gain: Difference | None, p: float | None) -> list[Cell]:
    accuracy = [
        _percent(scores.mean(method, scored, network=network)) for scored in ("test", "test_harmonised", "test_gated", "source")
    ]
    unseen, harmonised, gated, source = accuracy
    if gain is None:
        return [method_name(method), unseen, GAP, "", "", GAP, harmonised, gated, source, GAP]
    at_source = scores.difference(method, "source", network=network)
    return [
        method_name(method),
        unseen,
        Number(100 * gain.mean),
        Range(100 * gain.low, 100 * gain.high),
        f"{gain.better} of {gain.targets}",
        Number(p),
        harmonised,
        gated,
        source,
        GAP if at_source is None else Number(100 * at_source.mean),
    ]


def _of_target(scores: Scores, method: str, place: tuple[str, str]) -> Number:
    runs = [run["test"] for setting, run in scores.values.get(method, {}).items() if (setting.network, setting.target) == place]
    return _percent(sum(runs) / len(runs) if runs else None)


def _percent(value: float | None) -> Number:
    return GAP if value is None else Number(100 * value)
