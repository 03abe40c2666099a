"""The kind ``runtime``: it measures the machine, so its cells run alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from recolorist_lab.runs.kind import Heading, Kind
from recolorist_lab.studies.code import code_of_runtime
from recolorist_lab.studies.runtime.cell import Runtime, run

if TYPE_CHECKING:
    from recolorist_lab.report.sections import Cells, Section
    from recolorist_lab.runs.ledger import Ledger

__all__ = ["RUNTIME"]


def _seconds(config: Any, _: Any) -> float:
    """Return the limit of the timed part plus a quarter for warm-up."""
    return 1.25 * float(config.seconds)


def _show(section: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.runtime.report import show

    show(section, cells, ledger)


RUNTIME: Final = Kind(
    Runtime,
    run,
    code=code_of_runtime,
    headings={"runtime": Heading("Time and energy of one image", 60)},
    alone=True,
    seconds=_seconds,
    show=_show,
)
