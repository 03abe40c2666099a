"""The tables of the page of the transfer study, and the sentences with its numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from recolorist_lab.report.rows import finished
from recolorist_lab.report.table import Table
from recolorist_lab.studies.transfer.cell import COLORIST, NOTHING
from recolorist_lab.studies.transfer.table import Row, budget, label, table, title

__all__ = ["besides", "best_methods", "finding", "given", "tables"]

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
    return {
        "given": given(rows),
        "comparison": table(rows),
        "finding": finding(rows),
        "besides": besides(rows),
        "budget": budget(rows),
    }


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
    """Say in three sentences which method is best, how the trained networks did, and how contents left as they are compare.

    Args:
        rows: Results, one for each cell.

    Returns:
        A paragraph; empty without results of Colorist, of a trained network and of contents left as they are.
    """
    measured = _measured_rows(rows)
    trained = _trained_rows(measured)
    if not trained or not {COLORIST, NOTHING} <= {row["method"] for row in measured.values()}:
        return ""
    methods = {name: row for name, row in measured.items() if row["method"] != NOTHING}
    unchanged = next(row for row in measured.values() if row["method"] == NOTHING)
    far = [name for name in trained if _value(trained[name], "wasserstein") > _value(unchanged, "wasserstein")]
    worse = [name for name in methods if _value(methods[name], "artfid") > _value(unchanged, "artfid")]
    best = "; ".join(f"{name} has the best {_join_names(metrics)}" for name, metrics in best_methods(rows).items())
    return _wrap(
        f"**Of all methods, {best}.** Of the {len(trained)} networks trained here {len(far)} have not learnt to take a style: "
        "they end further from its colours than contents left as they are. Left as they are, the contents have a lower ArtFID "
        f"({_text(unchanged, 'artfid')}) than {len(worse)} of {len(methods)} methods: FID cannot tell that nothing was "
        "transferred."
    )


def besides(rows: Sequence[Row]) -> str:
    """Say how near Colorist and the networks come to the style, and compare networks that were also run with another option.

    Args:
        rows: Results, one for each cell.

    Returns:
        A list in Markdown; empty without results of Colorist, of a trained network and of contents left as they are.
    """
    measured = _measured_rows(rows)
    trained = _trained_rows(measured)
    rows_of = {str(row["method"]): row for row in measured.values()}
    if not trained or not {COLORIST, NOTHING} <= rows_of.keys():
        return ""
    unchanged, ours = rows_of[NOTHING], rows_of[COLORIST]
    distance = _value(unchanged, "wasserstein")
    near = [f"{name} ({_text(row, 'wasserstein')})" for name, row in trained.items() if _value(row, "wasserstein") <= distance]
    lowest = sorted(trained, key=lambda name: _value(trained[name], "artfid"))[:3]
    by_artfid = _join_names([f"{name} ({_text(trained[name], 'artfid')})" for name in lowest])
    colours = f"from {_text(unchanged, 'wasserstein')} to {_text(ours, 'wasserstein')}"
    points = [
        f"Colorist needs no training, and brings the distance to the style's colours {colours}.",
        f"Networks that are nearer to them than contents left as they are: {_join_names(near) or 'none'}.",
        f"Of the networks trained here, the lowest ArtFID have {by_artfid}.",
        *_variants(trained, measured),
    ]
    return "".join(_wrap(point, bullet=True) for point in points)


def _trained_rows(measured: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows of networks that were trained here and run as released; those with options are variants."""
    return {name: row for name, row in measured.items() if row["result.weights"] == "trained" and not row.get("options")}


def _variants(trained: Mapping[str, Row], measured: Mapping[str, Row]) -> list[str]:
    """Compare networks that were also run with another option."""
    return [
        f"{name} has the ArtFID {_text(row, 'artfid')}; as released it is {_text(plain, 'artfid')}."
        for name, row in measured.items()
        if row["result.weights"] == "trained" and row.get("options") and (plain := trained.get(title(str(row["method"]))))
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


def _wrap(words: str, *, bullet: bool = False) -> str:
    first, later = ("- ", "  ") if bullet else ("", "")
    lines = textwrap.fill(
        words, _WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False, break_long_words=False
    )
    return lines + "\n"
