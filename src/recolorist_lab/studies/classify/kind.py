"""The kind ``classify``: its cost, tables and figures. The probability sweep is a study of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from recolorist_lab.data.named import data_of
from recolorist_lab.runs.kind import Heading, Kind
from recolorist_lab.studies.classify.cell import Classify, run
from recolorist_lab.studies.code import code_of_classify

if TYPE_CHECKING:
    from recolorist_lab.report.sections import Cells, Section
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.studies.rates import Rates

__all__ = ["CLASSIFY"]


def _seconds(config: Any, rates: Rates) -> float:
    """Estimate the seconds of all epochs, their validations and one test; workers read images in parallel."""
    from recolorist_lab.studies.rates import FORWARD, seconds_to_read, sizes_of

    train, val, test = sizes_of(config)
    reading = seconds_to_read(config)

    def spent(network: float) -> float:
        return max(network, reading / int(config.workers)) if config.workers else network + reading

    epochs = int(config.epochs)
    return epochs * (train * spent(rates.train) + val * spent(FORWARD * rates.train)) + test * spent(FORWARD * rates.train)


def _bytes_kept(rates: Rates) -> int:
    return rates.classifier_bytes


def _show(section: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.classify.report import show

    show(section, cells, ledger)


CLASSIFY: Final = Kind(
    Classify,
    run,
    selection="validation_loss",
    data=data_of,
    code=code_of_classify,
    headings={
        "classify": Heading("Balanced accuracy by augmentation", 30),
        "probability": Heading("How often to augment", 40),
        "shift": Heading("Laboratories, stains and clinics that were not seen", 45),
    },
    seconds=_seconds,
    bytes_kept=_bytes_kept,
    show=_show,
)
