"""The paper's Table 2 from rows of the ledger, with ours, and the figure that compares methods."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.paper.numbers import STYLE_TRANSFER
from recolorist_lab.report import figures
from recolorist_lab.report.rows import finished, has_result
from recolorist_lab.report.table import GAP, Cell, Column, Digits, Number, Table
from recolorist_lab.report.table import label as words
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.transfer.cell import COLORIST, NOTHING

__all__ = ["budget", "grid", "label", "shown", "table", "title"]

Row: TypeAlias = Mapping[str, Json]
_OWN: Final = {COLORIST: "Colorist", NOTHING: "contents left as they are"}
_METRICS: Final = {
    "lpips": Column("LPIPS", better="lower", digits=Digits(3), brackets="()"),
    "ssim": Column("SSIM", better="higher", digits=Digits(3), brackets="()"),
    "fid": Column("FID", better="lower", digits=Digits(1), brackets="()"),
    "wasserstein": Column("Wasserstein", better="lower", digits=Digits(3), brackets="()"),
    "artfid": Column("ArtFID", better="lower", digits=Digits(1), brackets="()"),
}


def title(method: str) -> str:
    """Return a method's name as the paper prints it.

    Args:
        method: The name of a method.

    Returns:
        The name for people.

    Example:
        >>> title("sanet"), title("colorist")
        ('SANET', 'Colorist')
    """
    return _OWN.get(method) or (METHODS[method].title if method in METHODS else method)


def label(row: Row) -> str:
    """Name a row: by its method, how it was set, and whether its weights are the published ones.

    Args:
        row: A row of the study's table.

    Returns:
        The name for people.

    Example:
        >>> label({"method": "modflows", "options": ["flows=fit"], "result.weights": "published"})
        'Modflows, flows=fit'
        >>> label({"method": "adain", "result.weights": "published"})
        'AdaIN, published weights'
    """
    options: Any = row.get("options") or []
    published = ["published weights"] if row.get("result.weights") == "published" and not options else []
    return ", ".join([title(str(row["method"])), *options, *published])


def table(rows: Iterable[Row]) -> Table:
    """Return means over datasets and seeds, ± the deviation between seeds where there are several; the paper's in brackets.

    A metric that was not asked for, and one that a missing run belongs to, is a dash.

    Args:
        rows: Rows of the study.

    Returns:
        The table.

    Raises:
        OptionError: No row has a result.
    """
    measured = [row for row in rows if "result.seconds_per_step" not in row and "iterations" not in row]  # not the trainings
    if not finished(measured):
        raise OptionError("there is no row with a result")
    order = list(STYLE_TRANSFER)  # what the paper does not have follows, the control last
    measured.sort(key=lambda row: _position(order, str(row["method"])))
    names = _labels(measured)
    body: list[list[Cell]] = []
    for name in dict.fromkeys(names):
        of_method = [row for row, called in zip(measured, names, strict=True) if called == name]
        with_result = finished(of_method)
        printed = STYLE_TRANSFER.get(title(str(of_method[0]["method"])))
        beside = [None if printed is None else Number(getattr(printed, metric), digits=Digits(2)) for metric in _METRICS]
        cells = [_spread(of_method, f"result.{metric}", paper) for metric, paper in zip(_METRICS, beside, strict=True)]
        runs = str(len(of_method)) if len(with_result) == len(of_method) else f"{len(with_result)} of {len(of_method)}"
        side = Number(_mean(with_result, "result.native")) if with_result else GAP
        milliseconds = Number(_mean(with_result, "result.transform_ms")) if len(with_result) == len(of_method) else GAP
        body.append([name, runs, side, *cells, milliseconds])
    columns = [words("method"), Column("runs"), Column("side", digits=Digits(0)), *_METRICS.values()]
    return Table([*columns, Column("ms per pair", digits=Digits(3, "significant"))], body)


def _position(order: Sequence[str], method: str) -> int:
    if method == NOTHING:
        return len(order) + 1
    return order.index(title(method)) if title(method) in order else len(order)


def _labels(rows: Sequence[Row]) -> list[str]:
    """Return the labels of rows; one without a result takes the label of those with the same setting."""
    labels = {(row.get("grid"), row["method"], str(row.get("options"))): label(row) for row in finished(rows)}
    return [
        label(row) if has_result(row) else labels.get((row.get("grid"), row["method"], str(row.get("options"))), label(row))
        for row in rows
    ]


def budget(rows: Iterable[Row]) -> Table:
    """List the training budget of each network, and the time of a step.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    body: list[list[Cell]] = []
    for row in rows:
        if "result.seconds_per_step" not in row:
            body += [[label(row), *[GAP] * 6]] if "iterations" in row and not has_result(row) else []
            continue
        loss: Any = row["result.loss"] if "result.loss" in row else _losses(row)
        body.append(
            [
                label(row),
                *(str(row[f"result.{name}"]) for name in ("steps", "batch", "crop_size", "images")),
                ", ".join(f"{name} {float(value):.3g}" for name, value in loss.items()),
                Number(_mean([row], "result.seconds_per_step")),
            ]
        )
    names = ("steps", "pairs a step", "crop", "images", "loss in the end")
    last = Column("seconds a step", digits=Digits(2, "significant"))
    return Table([words("method"), *(Column(name) for name in names), last], body)


def _losses(row: Row) -> dict[str, Json]:
    start = "result.loss."
    return {name.removeprefix(start): value for name, value in row.items() if name.startswith(start)}


def grid(pictures: Mapping[str, NDArray[Any]], pairs: Sequence[int] = (0, 1, 2, 3)) -> Any:
    """Draw content, style and the result of every method; one column per pair.

    Args:
        pictures: What :func:`shown` reads, by method or label.
        pairs: Numbers of the pairs.

    Returns:
        The figure.

    Raises:
        OptionError: There is no method.
    """
    if not pictures:
        raise OptionError("there is no method to show")
    first = next(iter(pictures.values()))
    columns = [pair for pair in pairs if pair < len(first)]
    lines = [
        ("content", first[:, 0]),
        ("style", first[:, 1]),
        *((_heading(name), triplets[:, 2]) for name, triplets in pictures.items()),
    ]
    figure, axes = figures.figure(1.15 * len(columns) + 1.3, 1.15 * len(lines), len(lines), len(columns), squeeze=False)
    with figures.house():
        for row, (name, images) in zip(axes, lines, strict=True):
            for axis, pair in zip(row, columns, strict=True):
                axis.imshow(images[pair], interpolation="nearest")
                axis.set_xticks([])
                axis.set_yticks([])
                axis.grid(visible=False)
                for side in axis.spines.values():
                    side.set_visible(False)
            row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    return figure


def _heading(name: str) -> str:
    """Return the heading of one line of the figure; a long label is broken."""
    return title(name) if name in METHODS or name in _OWN else name.replace(", ", ",\n")


def shown(data: bytes) -> NDArray[Any]:
    """Read the pictures that a cell kept.

    Args:
        data: The bytes of the file.

    Returns:
        (pairs, 3, H, W, 3).
    """
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return np.asarray(archive["shown"])


def _numbers(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    values: list[Any] = [row[name] for row in rows]
    return np.array(values, np.float64)


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(_numbers(rows, name).mean())


def _spread(rows: Sequence[Row], name: str, paper: Number | None) -> Number:
    if any(row.get(name) is None for row in rows):  # missing, or not asked for
        return Number(None, beside=paper)
    by_seed = [_mean([row for row in rows if row["seed"] == seed], name) for seed in dict.fromkeys(row["seed"] for row in rows)]
    deviation = float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None
    return Number(float(np.mean(by_seed)), deviation, beside=paper)
