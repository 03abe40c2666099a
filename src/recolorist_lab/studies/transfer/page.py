"""The tables of the page of the transfer study, and the sentences with its numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from recolorist_lab.report.rows import finished
from recolorist_lab.report.table import Table
from recolorist_lab.studies.transfer.cell import COLORIST, NOTHING
from recolorist_lab.studies.transfer.table import Row, budget, label, table, title

__all__ = ["best_methods", "finding", "given", "tables"]

_WIDTH: Final = 150
#: Metrics by name, with the sign that makes lower values better and their decimals.
_METRICS: Final = {
    "lpips": ("LPIPS", 1, 3),
    "ssim": ("SSIM", -1, 3),
    "fid": ("FID", 1, 1),
    "artfid": ("ArtFID", 1, 1),
    "wasserstein": ("Wasserstein distance", 1, 3),
}


def tables(rows: Sequence[Row]) -> dict[str, Table | str]:
    """Make every table of the page.

    Args:
        rows: Results, one for each cell.

    Returns:
        Tables and sentences by their mark on the page.
    """
    return {"given": given(rows), "comparison": table(rows), "finding": finding(rows), "budget": budget(rows)}


def given(rows: Sequence[Row]) -> str:
    """Say how long the networks were trained; empty before one has finished.

    Args:
        rows: Rows of the study.

    Returns:
        Sentences; empty before a training has finished.
    """
    trainings = [row for row in finished(rows) if "result.steps" in row]
    if not trainings:
        return ""
    steps = [int(_value(row, "steps")) for row in trainings]
    seconds = [_value(row, "steps") * _value(row, "seconds_per_step") for row in trainings]
    return _wrap(f"Here: {min(steps):,} to {max(steps):,} steps, {min(seconds):,.0f} to {max(seconds):,.0f} seconds.")


def best_methods(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Name the best method by every metric; contents left as they are do not count.

    Args:
        rows: Results, one for each cell.

    Returns:
        Metrics by the label of the method that is best in them.
    """
    measured = {name: row for name, row in _measured_rows(rows).items() if row["method"] != NOTHING}
    best: dict[str, list[str]] = {}
    for metric, (called, sign, _) in _METRICS.items():
        name = min(measured, key=lambda name: sign * _value(measured[name], metric))
        best.setdefault(name, []).append(called)
    return best


def finding(rows: Sequence[Row]) -> str:
    """Say which method is best, which networks have learnt to take a style, and how contents left as they are compare.

    Args:
        rows: Results, one for each cell.

    Returns:
        A list in Markdown; empty without results of Colorist, of a trained network and of contents left as they are.
    """
    measured = _measured_rows(rows)
    if not {COLORIST, NOTHING} <= {row["method"] for row in measured.values()}:
        return ""
    methods = {name: row for name, row in measured.items() if row["method"] != NOTHING}
    both = {name: row for name, row in methods.items() if row["result.weights"] == "trained"}
    trained = {name: row for name, row in both.items() if not row.get("options")}  # the others are variants
    if not trained:
        return ""
    unchanged, ours = (next(row for row in measured.values() if row["method"] == method) for method in (NOTHING, COLORIST))
    by_artfid = sorted(trained, key=lambda name: _value(trained[name], "artfid"))
    far = [name for name in trained if _value(trained[name], "wasserstein") > _value(unchanged, "wasserstein")]
    near = {name: row for name, row in trained.items() if name not in far}
    nearer = _join_names([f"{name} ({_text(row, 'wasserstein')})" for name, row in near.items()]) or "none"
    worse = [name for name in methods if _value(methods[name], "artfid") > _value(unchanged, "artfid")]
    best = "; ".join(f"{name} has the best {_join_names(metrics)}" for name, metrics in best_methods(rows).items())
    points = [
        _join_sentences(
            f"**Of all methods, {best}.** Colorist needs no training, and brings the distance to the style's colours from",
            f"{_text(unchanged, 'wasserstein')} to {_text(ours, 'wasserstein')}.",
        ),
        _join_sentences(
            "Of the networks trained here, the lowest ArtFID have",
            _join_names([f"{name} ({_text(trained[name], 'artfid')})" for name in by_artfid[:3]]) + ".",
        ),
        _join_sentences(
            f"**{len(far)} of {len(trained)} have not learnt to take a style**: they end further from its colours than contents",
            f"left as they are. Nearer are {nearer}.",
        ),
        *_variants(trained, both),
        _join_sentences(
            f"Left as they are, the contents have a lower ArtFID ({_text(unchanged, 'artfid')}) than {len(worse)} of",
            f"{len(methods)} methods: FID cannot tell that nothing was transferred.",
        ),
    ]
    return "".join(_wrap(point, bullet=True) for point in points)


def _variants(trained: Mapping[str, Row], both: Mapping[str, Row]) -> list[str]:
    """Compare networks that were also run with another option."""
    return [
        f"{name} has the ArtFID {_text(row, 'artfid')}; as released it is {_text(plain, 'artfid')}."
        for name, row in both.items()
        if name not in trained and (plain := trained.get(title(str(row["method"])))) is not None
    ]


def _measured_rows(rows: Sequence[Row]) -> Mapping[str, Row]:
    """Return the rows of transfers, without trainings, by label."""
    found = [row for row in finished(rows) if "result.artfid" in row]
    return {label(row) if row["method"] != NOTHING else title(NOTHING): row for row in found}


def _value(row: Row, name: str) -> float:
    return float(str(row[f"result.{name}"]))


def _text(row: Row, metric: str) -> str:
    return f"{_value(row, metric):.{_METRICS[metric][2]}f}"


def _join_names(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


def _join_sentences(*parts: str) -> str:
    return " ".join(parts)


def _wrap(words: str, *, bullet: bool = False) -> str:
    first, later = ("- ", "  ") if bullet else ("", "")
    lines = textwrap.fill(
        words, _WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False, break_long_words=False
    )
    return lines + "\n"
