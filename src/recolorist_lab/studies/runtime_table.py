"""The tables of the runtime study, from rows of the ledger to Markdown: ours beside the paper's, as ratios to Colorist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from recolorist.errors import OptionError
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.config import Json
from recolorist_lab.paper import RUNTIME, Runtime
from recolorist_lab.studies.pages import markdown
from recolorist_lab.studies.runtime import COLORIST

__all__ = ["energy", "figure_of", "growth", "latency", "printed_of", "title"]

Row: TypeAlias = Mapping[str, Json]
_REFERENCE = "colorist"


def title(method: str) -> str:
    """What a row is called.

    >>> title("adain"), title("colorist_bank")
    ('AdaIN', 'Colorist, style from a bank')
    """
    return COLORIST[method] if method in COLORIST else METHODS[method].name


def latency(rows: Iterable[Row], device: str = "cpu") -> str:
    """The paper's Table S2: times of one image, and how many times Colorist's that is, for us and for the paper."""
    chosen = _of(rows, device)
    ours = figure_of(_reference(chosen), "mean_ms")
    paper = RUNTIME["cpu", "Colorist"].mean
    body = []
    for row in chosen:
        printed = printed_of(str(row["method"]), device)
        times = [_time(figure_of(row, name)) for name in ("mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms")]
        body.append(
            [
                title(str(row["method"])),
                f"{figure_of(row, 'side'):.0f}",
                f"{figure_of(row, 'iterations'):,.0f}",
                *times,
                f"{figure_of(row, 'throughput_it_s'):,.4g}",
                _ratio(figure_of(row, "mean_ms") / ours),
                "–" if printed is None else _time(printed.mean),
                "–" if printed is None else _ratio(printed.mean / paper),
            ]
        )
    head = ["method", "side", "iterations", "mean, ms", "P50", "P90", "P95", "P99", "images/s", "× Colorist"]
    return markdown([*head, "paper, ms", "paper, × Colorist"], body)


def energy(rows: Iterable[Row], device: str = "cpu") -> str:
    """Energy of one image and the processor time behind it; a modelled figure says so."""
    chosen = _of(rows, device)
    reference, paper = _reference(chosen), RUNTIME["cpu", "Colorist"].energy
    body = []
    for row in chosen:
        printed = printed_of(str(row["method"]), device)
        body.append(
            [
                title(str(row["method"])),
                f"{figure_of(row, 'energy_mwh'):.4g}",
                str(row["result.energy_source"]),
                _ratio(figure_of(row, "energy_mwh") / figure_of(reference, "energy_mwh")),
                _time(1000 * figure_of(row, "cpu_seconds")),
                _ratio(figure_of(row, "cpu_seconds") / figure_of(reference, "cpu_seconds")),
                "–" if printed is None else f"{printed.energy:.4g}",
                "–" if printed is None else _ratio(printed.energy / paper),
            ]
        )
    head = ["method", "mWh", "source", "× Colorist", "CPU time, ms", "× Colorist", "paper, mWh", "paper, × Colorist"]
    return markdown(head, body)


def growth(rows: Iterable[Row]) -> str:
    """Mean milliseconds against the side of the image."""
    chosen = [row for row in rows if row["grid"] == "growth"]
    sides = sorted({int(figure_of(row, "side")) for row in chosen})
    body = []
    for method in dict.fromkeys(str(row["method"]) for row in chosen):
        times = {int(figure_of(row, "side")): figure_of(row, "mean_ms") for row in chosen if row["method"] == method}
        body.append([title(method), *(_time(times[side]) if side in times else "–" for side in sides)])
    return markdown(["method", *(f"{side} px" for side in sides)], body)


def _of(rows: Iterable[Row], device: str) -> list[Row]:
    chosen = [row for row in rows if row["grid"] == "latency" and row["device"] == device]
    if not chosen:
        raise OptionError(f"there is no row for the device {device!r}")
    return chosen


def _reference(rows: Sequence[Row]) -> Row:
    found = [row for row in rows if row["method"] == _REFERENCE]
    if len(found) != 1:
        raise OptionError(f"{len(found)} rows are of {_REFERENCE!r}, to which all are compared; one is needed")
    return found[0]


def printed_of(method: str, device: str) -> Runtime | None:
    """What the paper prints of a method; its Colorist has one row, on the CPU."""
    if method == _REFERENCE:
        return RUNTIME["cpu", "Colorist"]
    return None if method in COLORIST else RUNTIME.get(("gpu" if device == "cuda" else "cpu", title(method)))


def figure_of(row: Row, name: str) -> float:
    """A figure of the result."""
    value: Any = row[f"result.{name}"]
    return float(value)


def _time(milliseconds: float) -> str:
    """Three digits that count.

    >>> _time(0.0277), _time(132.2), _time(14373.39)
    ('0.0277', '132', '14,400')
    """
    return f"{float(f'{milliseconds:.3g}'):,g}" if milliseconds < 1000 else f"{float(f'{milliseconds:.3g}'):,.0f}"


def _ratio(value: float) -> str:
    """A ratio to two digits, or three above a hundred.

    >>> _ratio(0.5), _ratio(1.0), _ratio(52.25), _ratio(8363.0)
    ('0.5', '1', '52', '8,360')
    """
    digits = 2 if value < 100 else 3
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
