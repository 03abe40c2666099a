"""The tables of the runtime study, from rows of the ledger: ours beside the paper's, with ratios to Colorist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from recolorist.errors import OptionError
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.paper.numbers import RUNTIME, PrintedRuntime
from recolorist_lab.report.rows import has_result
from recolorist_lab.report.table import GAP, Cell, Column, Digits, Number, Table, label
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.runtime.cell import COLORIST

__all__ = ["energy", "figure_of", "growth", "latency", "printed_of", "side_of", "title"]

Row: TypeAlias = Mapping[str, Json]
_REFERENCE = "colorist"
#: What the rows of the method itself are called.
_TITLES: Final = {
    "colorist": "Colorist, two 8-bit images",
    "colorist_float": "Colorist, two float32 images",
    "colorist_bank": "Colorist, style from a bank",
    "colorist_batch": "Colorist, batches of 32 tensors, styles from a bank",
    "colorist_aug": "colorist-aug, two images",
}


def title(method: str) -> str:
    """Return the title of a row.

    Args:
        method: The name of a method.

    Returns:
        The name for people.

    Example:
        >>> title("adain"), title("colorist_bank")
        ('AdaIN', 'Colorist, style from a bank')
    """
    return _TITLES.get(method) or (METHODS[method].title if method in METHODS else method)


_THREE, _FOUR, _RATIO = Digits(3, "significant"), Digits(4, "significant"), Digits(2, "ratio")
_LATENCY: Final = (
    label("method"),
    Column("side", digits=Digits(0)),
    Column("iterations", digits=Digits(10, "significant")),
    Column("mean", "ms", digits=_THREE),
    *(Column(name, digits=_THREE) for name in ("P50", "P90", "P95", "P99")),
    Column("images/s", digits=_FOUR),
    Column("× Colorist", digits=_RATIO),
    Column("paper", "ms", digits=_THREE),
    Column("paper", "× Colorist", digits=_RATIO),
)
_TIMES: Final = ("side", "iterations", "mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "throughput_it_s")
_ENERGY: Final = (
    label("method"),
    Column("mWh", digits=_FOUR),
    Column("source"),
    Column("× Colorist", digits=_RATIO),
    Column("CPU time", "ms", digits=_THREE),
    Column("× Colorist", digits=_RATIO),
    Column("paper", "mWh", digits=_FOUR),
    Column("paper", "× Colorist", digits=_RATIO),
)


def latency(rows: Iterable[Row], device: str = "cpu") -> Table:
    """Make the paper's Table S2: times of one image, and their ratio to Colorist's, for us and for the paper.

    Args:
        rows: Results, one for each cell.
        device: The device that was measured.

    Returns:
        The table.
    """
    all_rows = list(rows)
    on_device, reference = _of(all_rows, device), _reference(all_rows)
    paper = RUNTIME["cpu", "Colorist"].mean
    body = [
        [
            title(str(row["method"])),
            *(_number(row, name) for name in _TIMES),
            _against(row, reference, "mean_ms"),
            *_printed_cells(row, device, "mean", paper),
        ]
        for row in on_device
    ]
    return Table(_LATENCY, body)


def energy(rows: Iterable[Row], device: str = "cpu") -> Table:
    """List the energy of one image and the processor time behind it; a modelled figure is marked.

    Args:
        rows: Results, one for each cell.
        device: The device that was measured.

    Returns:
        The table.
    """
    all_rows = list(rows)
    on_device, reference = _of(all_rows, device), _reference(all_rows)
    paper = RUNTIME["cpu", "Colorist"].energy
    body = [
        [
            title(str(row["method"])),
            _number(row, "energy_mwh"),
            str(row["result.energy_source"]) if has_result(row) else GAP,
            _against(row, reference, "energy_mwh"),
            _number(row, "cpu_seconds", 1000),
            _against(row, reference, "cpu_seconds"),
            *_printed_cells(row, device, "energy", paper),
        ]
        for row in on_device
    ]
    return Table(_ENERGY, body)


def growth(rows: Iterable[Row]) -> Table:
    """List mean milliseconds by side of the image; "–" is no part of the study, a longer dash is a missing run.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    grown = [row for row in rows if str(row["grid"]).partition("-")[0] == "growth"]
    sides = sorted({side_of(row) for row in grown})
    body = []
    for method in dict.fromkeys(str(row["method"]) for row in grown):
        times = {side_of(row): _number(row, "mean_ms") for row in grown if row["method"] == method}
        body.append([title(method), *(times.get(side, "–") for side in sides)])
    return Table([label("method"), *(Column(f"{side} px", digits=_THREE) for side in sides)], body)


def _number(row: Row, name: str, factor: float = 1.0) -> Number:
    return Number(factor * figure_of(row, name)) if has_result(row) else GAP


def _printed_cells(row: Row, device: str, name: str, reference: float) -> tuple[Cell, Cell]:
    """Return the paper's value, and its ratio to the paper's Colorist."""
    printed = printed_of(str(row["method"]), device)
    if printed is None:
        return "–", "–"
    value = float(getattr(printed, name))
    return Number(value), Number(value / reference)


def _of(rows: Iterable[Row], device: str) -> list[Row]:
    on_device = [row for row in rows if row["grid"] == "latency" and row["device"] == device]
    if not on_device:
        raise OptionError(f"there is no row for the device {device!r}")
    return on_device


def _reference(rows: Sequence[Row]) -> Row:
    """Return our Colorist on two images; as in the paper it runs on the CPU, whatever the device of the others."""
    matches = [row for row in rows if row["grid"] == "latency" and row["method"] == _REFERENCE]
    if len(matches) != 1:
        raise OptionError(f"{len(matches)} rows are of {_REFERENCE!r}, to which all are compared; one is needed")
    return matches[0]


def _against(row: Row, reference: Row, name: str) -> Number:
    """Return a value as a multiple of our Colorist's."""
    if not (has_result(row) and has_result(reference)):
        return GAP
    return Number(figure_of(row, name) / figure_of(reference, name))


def side_of(row: Row) -> int:
    """Read the side of a row's images.

    Args:
        row: A result.

    Returns:
        What was measured, or what was asked for where the run is missing.
    """
    return int(figure_of(row, "side")) if has_result(row) else int(str(row["size"]))


def printed_of(method: str, device: str) -> PrintedRuntime | None:
    """Look up what the paper prints of a method; its Colorist has one row, on the CPU.

    Args:
        method: The method.
        device: The device.

    Returns:
        The printed figures, or None.
    """
    if method == _REFERENCE:
        return RUNTIME["cpu", "Colorist"]
    return None if method in COLORIST else RUNTIME.get(("gpu" if device == "cuda" else "cpu", title(method)))


def figure_of(row: Row, name: str) -> float:
    """Read a figure of the result.

    Args:
        row: A result.
        name: Its name.

    Returns:
        Its value.
    """
    value: Any = row[f"result.{name}"]
    return float(value)
