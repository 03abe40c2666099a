"""The tables of the runtime study, from rows of the ledger to Markdown: ours beside the paper's, as ratios to Colorist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from recolorist.errors import OptionError
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.paper.numbers import RUNTIME, Runtime
from recolorist_lab.report.pages import GAP, has_result, markdown
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.runtime.cell import COLORIST

__all__ = ["energy", "figure_of", "growth", "latency", "printed_of", "side_of", "tables", "title"]

Row: TypeAlias = Mapping[str, Json]
_REFERENCE = "colorist"


def title(method: str) -> str:
    """What a row is called.

    >>> title("adain"), title("colorist_bank")
    ('AdaIN', 'Colorist, style from a bank')
    """
    return COLORIST.get(method) or (METHODS[method].name if method in METHODS else method)


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Every table of the page of results, by its mark."""
    return {"latency": latency(rows), "energy": energy(rows), "growth": growth(rows)}


def latency(rows: Iterable[Row], device: str = "cpu") -> str:
    """The paper's Table S2: times of one image, and how many times Colorist's that is, for us and for the paper."""
    every = list(rows)
    chosen, reference = _of(every, device), _reference(every)
    paper = RUNTIME["cpu", "Colorist"].mean
    body = []
    for row in chosen:
        printed = printed_of(str(row["method"]), device)
        body.append(
            [
                title(str(row["method"])),
                *(_times(row) if has_result(row) else [GAP] * 8),
                _against(row, reference, "mean_ms"),
                "–" if printed is None else _time(printed.mean),
                "–" if printed is None else _ratio(printed.mean / paper),
            ]
        )
    head = ["method", "side", "iterations", "mean, ms", "P50", "P90", "P95", "P99", "images/s", "× Colorist"]
    return markdown([*head, "paper, ms", "paper, × Colorist"], body)


def energy(rows: Iterable[Row], device: str = "cpu") -> str:
    """Energy of one image and the processor time behind it; a modelled figure says so."""
    every = list(rows)
    chosen, reference = _of(every, device), _reference(every)
    paper = RUNTIME["cpu", "Colorist"].energy
    body = []
    for row in chosen:
        printed, there = printed_of(str(row["method"]), device), has_result(row)
        body.append(
            [
                title(str(row["method"])),
                f"{figure_of(row, 'energy_mwh'):.4g}" if there else GAP,
                str(row["result.energy_source"]) if there else GAP,
                _against(row, reference, "energy_mwh"),
                _time(1000 * figure_of(row, "cpu_seconds")) if there else GAP,
                _against(row, reference, "cpu_seconds"),
                "–" if printed is None else f"{printed.energy:.4g}",
                "–" if printed is None else _ratio(printed.energy / paper),
            ]
        )
    head = ["method", "mWh", "source", "× Colorist", "CPU time, ms", "× Colorist", "paper, mWh", "paper, × Colorist"]
    return markdown(head, body)


def growth(rows: Iterable[Row]) -> str:
    """Mean milliseconds against the side of the image; "–" is no part of the study, a longer dash is a missing run."""
    chosen = [row for row in rows if str(row["grid"]).partition("-")[0] == "growth"]
    sides = sorted({side_of(row) for row in chosen})
    body = []
    for method in dict.fromkeys(str(row["method"]) for row in chosen):
        mine = {side_of(row): row for row in chosen if row["method"] == method}
        times = {side: _time(figure_of(row, "mean_ms")) if has_result(row) else GAP for side, row in mine.items()}
        body.append([title(method), *(times.get(side, "–") for side in sides)])
    return markdown(["method", *(f"{side} px" for side in sides)], body)


def _of(rows: Iterable[Row], device: str) -> list[Row]:
    chosen = [row for row in rows if row["grid"] == "latency" and row["device"] == device]
    if not chosen:
        raise OptionError(f"there is no row for the device {device!r}")
    return chosen


def _reference(rows: Sequence[Row]) -> Row:
    """Our Colorist on two images; like the paper's it works on the processor, to whatever device the others are compared."""
    found = [row for row in rows if row["grid"] == "latency" and row["method"] == _REFERENCE]
    if len(found) != 1:
        raise OptionError(f"{len(found)} rows are of {_REFERENCE!r}, to which all are compared; one is needed")
    return found[0]


def _times(row: Row) -> list[str]:
    return [
        f"{figure_of(row, 'side'):.0f}",
        f"{figure_of(row, 'iterations'):,.0f}",
        *(_time(figure_of(row, name)) for name in ("mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms")),
        _four(figure_of(row, "throughput_it_s")),
    ]


def _against(row: Row, reference: Row, name: str) -> str:
    """A figure as a multiple of our Colorist's."""
    if not (has_result(row) and has_result(reference)):
        return GAP
    return _ratio(figure_of(row, name) / figure_of(reference, name))


def side_of(row: Row) -> int:
    """The side of a row's images: what was measured, or what was asked for where the run is missing."""
    return int(figure_of(row, "side")) if has_result(row) else int(str(row["size"]))


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


def _four(value: float) -> str:
    """Four digits that count.

    >>> _four(32637.4), _four(0.11111)
    ('32,640', '0.1111')
    """
    return f"{float(f'{value:.4g}'):,.10g}"


def _ratio(value: float) -> str:
    """A ratio to two digits, or three above a hundred.

    >>> _ratio(0.5), _ratio(1.0), _ratio(52.25), _ratio(8363.0)
    ('0.5', '1', '52', '8,360')
    """
    digits = 2 if value < 100 else 3
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
