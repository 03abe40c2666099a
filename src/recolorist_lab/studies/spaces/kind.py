"""The kinds ``spaces`` and ``transfer_cost``: their cost, tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from recolorist_lab.data.named import data_of
from recolorist_lab.runs.kind import Heading, Kind
from recolorist_lab.studies.code import code_of_cost, code_of_spaces
from recolorist_lab.studies.spaces import cost
from recolorist_lab.studies.spaces.cell import Spaces, run

if TYPE_CHECKING:
    from recolorist_lab.report.sections import Cells, Section
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.studies.rates import Rates

__all__ = ["SPACES", "TRANSFER_COST"]


def _seconds(config: Any, rates: Rates) -> float:
    return float(config.pairs * rates.pair)


def _show(section: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.spaces.report import show

    show(section, cells, ledger)


def _show_cost(section: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.spaces.report import show_cost

    show_cost(section, cells, ledger)


SPACES: Final = Kind(
    Spaces,
    run,
    data=data_of,
    code=code_of_spaces,
    headings={"spaces": Heading("Which colour space, which way of matching", 10)},
    seconds=_seconds,
    show=_show,
)
TRANSFER_COST: Final = Kind(cost.TransferCost, cost.run, data=data_of, code=code_of_cost, show=_show_cost)
