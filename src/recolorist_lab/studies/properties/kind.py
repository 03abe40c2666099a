"""The kind ``properties``: its cost, tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from recolorist_lab.data.named import data_of
from recolorist_lab.runs.kind import Heading, Kind
from recolorist_lab.studies.code import code_of_data
from recolorist_lab.studies.properties.cell import Properties, run

if TYPE_CHECKING:
    from recolorist_lab.report.sections import Cells, Section
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.studies.rates import Rates

__all__ = ["PROPERTIES"]


def _seconds(config: Any, rates: Rates) -> float:
    return float(config.pairs * rates.properties)


def _show(section: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.properties.report import show

    show(section, cells, ledger)


PROPERTIES: Final = Kind(
    Properties,
    run,
    data=data_of,
    code=code_of_data,
    headings={"properties": Heading("What matching does to an image", 50)},
    seconds=_seconds,
    show=_show,
)
