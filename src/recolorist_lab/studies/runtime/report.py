"""Show the runtime study: its tables and figures."""

from __future__ import annotations

from functools import partial as partial_of
from typing import Final

from recolorist_lab.report.rows import finished
from recolorist_lab.report.sections import Cells, Section
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.runtime import figure as runtime_figure
from recolorist_lab.studies.runtime import table as runtime_table

__all__ = ["show"]


def show(section: Section, cells: Cells, _: Ledger) -> None:
    """Show time, energy and growth on every device.

    Args:
        section: The section of the report that is filled.
        cells: The cells of the study with their rows.
    """
    rows = [row for _, row in cells]
    for device in dict.fromkeys(str(row["device"]) for row in rows if row["grid"] == "latency"):
        on_device = [row for row in rows if row["grid"] == "latency" and row["device"] == device]
        section.table(
            f"latency-{device}", f"Time of one image on {device}", runtime_table.latency(rows, device), on_device, _PERCENTILES
        )
        section.table(f"energy-{device}", f"Energy of one image on {device}", runtime_table.energy(rows, device), on_device)
        for quantity, title in (("mean_ms", "Time"), ("energy_mwh", "Energy")) if finished(on_device) else ():
            draw = partial_of(runtime_figure.bars, rows, quantity, device)
            section.figure(f"{title.lower()}-{device}", f"{title} of one image on {device}", draw, on_device)
    grown = [row for row in rows if str(row["grid"]).partition("-")[0] == "growth"]
    if finished(grown):
        section.table("growth", "Time against the side of the image, milliseconds", runtime_table.growth(rows), grown)
        section.figure("growth", "Time against the side of the image", lambda: runtime_figure.growth(rows), grown)


_PERCENTILES: Final = "P50 to P99 are percentiles over the iterations of a run, which are its spread."
