"""The figures of the runtime study: time and energy of one image on logarithmic scales, and growth with the image's side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from recolorist.errors import OptionError
from recolorist_lab.report import figures
from recolorist_lab.report.rows import finished
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.runtime.cell import OURS
from recolorist_lab.studies.runtime.table import figure_of, printed_of, title

__all__ = ["bars", "growth"]

Row: TypeAlias = Mapping[str, Json]
_QUANTITIES = {
    "mean_ms": ("milliseconds per image", "Time of one image", "mean"),
    "energy_mwh": ("milliwatt hours per image", "Energy of one image", "energy"),
    "cpu_seconds": ("processor seconds per image", "Processor time of one image", None),
}


def bars(rows: Iterable[Row], quantity: str = "mean_ms", device: str = "cpu") -> Any:
    """Draw one bar per method, the fastest on top, with the paper's figure on its own machine as a ring.

    Args:
        rows: Results, one for each cell.
        quantity: What to draw: time or energy.
        device: The device that was measured.

    Returns:
        The figure.

    Raises:
        OptionError: There is no such quantity.
    """
    if quantity not in _QUANTITIES:
        raise OptionError(f"quantity={quantity!r}; accepted are {', '.join(_QUANTITIES)}")
    unit, heading, printed = _QUANTITIES[quantity]
    shown = finished(row for row in rows if row["grid"] == "latency" and row["device"] == device)
    shown.sort(key=lambda row: -figure_of(row, quantity))
    picture, axes = figures.figure(7.2, 0.26 * len(shown) + 1.2)
    with figures.house():
        for number, row in enumerate(shown):
            is_ours = row["method"] in OURS
            axes.barh(number, figure_of(row, quantity), height=0.62, color=figures.PALETTE[1] if is_ours else figures.PALETTE[0])
            paper = printed_of(str(row["method"]), device)
            if printed and paper is not None:
                axes.plot(
                    getattr(paper, printed), number, "o", markersize=5, markerfacecolor="white", markeredgecolor=figures.INK
                )
        axes.set_xscale("log")
        axes.set_yticks(range(len(shown)), [title(str(row["method"])) for row in shown])
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(unit)
        modelled = quantity == "energy_mwh" and any(row["result.energy_source"] == "modelled" for row in shown)
        picture.suptitle(heading + (" (modelled power, not measured)" if modelled else ""), x=0.01, ha="left", fontsize=10)
        if printed:
            (ring,) = axes.plot([], [], "o", markersize=5, markerfacecolor="white", markeredgecolor=figures.INK)
            ours = axes.barh([0], [0.0], color=figures.PALETTE[1])
            picture.legend(
                [ours, ring], ["this library", "printed in the paper, another machine"], loc="outside lower right", ncols=2
            )
    return picture


def growth(rows: Iterable[Row]) -> Any:
    """Draw the mean time against the side of the image, both logarithmic.

    Args:
        rows: Results, one for each cell.

    Returns:
        The figure.
    """
    shown = finished(row for row in rows if str(row["grid"]).partition("-")[0] == "growth")
    picture, axes = figures.figure(6.4, 3.8)
    others = (colour for number, colour in enumerate(figures.PALETTE) if number != 1)
    with figures.house():
        for method in dict.fromkeys(str(row["method"]) for row in shown):
            points = sorted((int(figure_of(row, "side")), figure_of(row, "mean_ms")) for row in shown if row["method"] == method)
            colour = next(others) if method not in OURS else figures.PALETTE[1]  # as in the bars
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=title(method))
            axes.annotate(title(method), points[-1], xytext=(6, 0), textcoords="offset points", va="center", fontsize=8.5)
        sides = sorted({int(figure_of(row, "side")) for row in shown})
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(sides, [str(side) for side in sides])
        axes.minorticks_off()
        axes.set_xlim(sides[0] * 0.85, sides[-1] * 3.2)
        axes.set_xlabel("side of the image, pixels")
        axes.set_ylabel("milliseconds per image")
        axes.set_title("How time grows with the image")
    return picture
