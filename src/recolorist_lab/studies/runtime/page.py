"""The tables of the page of the runtime study, and the sentences with its numbers."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Sequence
from typing import Final

from recolorist_lab.paper.numbers import RUNTIME
from recolorist_lab.report.rows import finished
from recolorist_lab.report.table import Digits, Table
from recolorist_lab.studies.runtime.cell import COLORIST
from recolorist_lab.studies.runtime.table import Row, energy, figure_of, growth, latency, printed_of, side_of, title

__all__ = ["besides", "conditions", "finding", "largest", "meter", "tables"]

_WIDTH: Final = 150
_MS: Final = Digits(3, "significant")
_RATIO: Final = Digits(2, "ratio")


def tables(rows: Sequence[Row]) -> dict[str, Table | str]:
    """Make every table of the page.

    Args:
        rows: Results, one for each cell.

    Returns:
        Tables and sentences by their mark on the page.
    """
    return {
        "conditions": conditions(rows),
        "latency": latency(rows),
        "finding": finding(rows),
        "besides": besides(rows),
        "meter": meter(rows),
        "energy": energy(rows),
        "growth": growth(rows),
        "largest": largest(rows),
    }


def conditions(rows: Sequence[Row]) -> str:
    """Say how many threads were used and how busy the machine was; empty before a method was timed.

    Args:
        rows: Rows of the study.

    Returns:
        Sentences; empty before a method was timed.
    """
    done = finished(rows)
    if not done:
        return ""
    threads = sorted({int(figure_of(row, "threads")) for row in done})
    loads = [figure_of(row, "load_before") for row in done]
    return _wrap(
        f"Threads: {' or '.join(map(str, threads))}. Load average before a method was timed: median "
        f"{statistics.median(loads):.1f}, {min(loads):.1f} to {max(loads):.1f}; the methods timed before are part of it."
    )


def finding(rows: Sequence[Row]) -> str:
    """Say in three sentences how long the baselines take against Colorist, here and in the paper.

    Args:
        rows: Results, one for each cell.

    Returns:
        A paragraph; empty without results of Colorist and of one baseline.
    """
    times, printed = _times(rows)
    if not printed:
        return ""
    networks = {name: times[name] for name in printed}
    ours, theirs = times["colorist"], RUNTIME["cpu", "Colorist"].mean
    fastest, slowest = (way(networks, key=networks.__getitem__) for way in (min, max))
    slower = [time / printed[name] for name, time in networks.items()]
    ratios = sorted(printed[name] / theirs for name in networks)
    package = f" and the authors' package {_MS.text(times['colorist_aug'])}" if "colorist_aug" in times else ""
    return _wrap(
        f"**The baselines take {_RATIO.text(networks[fastest] / ours)} ({title(fastest)}) to "
        f"{_RATIO.text(networks[slowest] / ours)} ({title(slowest)}) times as long as Colorist**; in the paper "
        f"{_RATIO.text(ratios[0])} to {_RATIO.text(ratios[-1])}. Colorist takes {_MS.text(ours)} ms here for two 8-bit images"
        f"{package}; the paper has {_MS.text(theirs)} ms for Colorist, on another machine. The networks take "
        f"{_RATIO.text(statistics.median(slower))} times the paper's milliseconds, in the median."
    )


def besides(rows: Sequence[Row]) -> str:
    """Name the network that gained most on the paper's time, and say what other forms of Colorist take.

    Args:
        rows: Results, one for each cell.

    Returns:
        A paragraph; empty without results of Colorist and of one baseline.
    """
    times, printed = _times(rows)
    if not printed:
        return ""
    least = min(printed, key=lambda name: times[name] / printed[name])
    words = [
        f"Beside the paper's time {title(least)} takes least: {_MS.text(times[least])} ms here, {_MS.text(printed[least])} there."
    ]
    if "colorist_float" in times:
        ratio = _RATIO.text(times["colorist_float"] / times["colorist"])
        words.append(f"Single float32 images take Colorist {ratio} times its 8-bit time.")
    if "colorist_batch" in times:
        ratio = _RATIO.text(times["colorist_batch"] / times["colorist"])
        words.append(f"Batches of float32 tensors take {ratio} times that time an image.")
    return _wrap(" ".join(words))


def _times(rows: Sequence[Row]) -> tuple[dict[str, float], dict[str, float]]:
    """Return milliseconds by method as measured here, and the paper's for the baselines among them; none without Colorist."""
    times = {str(row["method"]): figure_of(row, "mean_ms") for row in finished(rows) if _is_timed(row)}
    baselines = [name for name in times if name not in COLORIST and "colorist" in times]
    return times, {name: paper.mean for name in baselines if (paper := printed_of(name, "cpu")) is not None}


def meter(rows: Sequence[Row]) -> str:
    """Say whether energy was measured.

    Args:
        rows: Rows of the study.

    Returns:
        Sentences.
    """
    sources = {str(row["result.energy_source"]) for row in finished(rows) if row["grid"] == "latency"}
    if sources == {"modelled"}:
        return _wrap(
            "No counter of power can be read on this machine, so energy is **modelled**: codecarbon multiplies time by a power "
            "it takes from a table for the processor and a constant for memory. Such a figure says no more than the time it was "
            "made from; processor time is beside it."
        )
    return _wrap(f"The column *source* says where energy comes from: {', '.join(sorted(sources))}.")


def largest(rows: Sequence[Row]) -> str:
    """Give the times of Colorist and the slowest baseline at the largest side; empty where that is missing.

    Args:
        rows: Rows of the study.

    Returns:
        Sentences; empty where the largest side is missing.
    """
    grown = [row for row in finished(rows) if str(row["grid"]).partition("-")[0] == "growth"]
    if not grown:
        return ""
    side = max(map(side_of, grown))
    times = {str(row["method"]): figure_of(row, "mean_ms") for row in grown if side_of(row) == side}
    if "colorist" not in times or len(times) == 1:
        return ""
    slowest = max(times, key=times.__getitem__)
    return _wrap(
        f"At {side:,} pixels {title(slowest)} takes {_MS.text(times[slowest] / 1000)} seconds, and Colorist "
        f"{_MS.text(times['colorist'])} milliseconds."
    )


def _is_timed(row: Row) -> bool:
    return row["grid"] == "latency" and row["device"] == "cpu"


def _wrap(words: str) -> str:
    return textwrap.fill(words, _WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"
