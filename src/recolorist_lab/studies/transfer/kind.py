"""The kinds ``transfer_train`` and ``transfer``: their cost, tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from recolorist_lab.data.named import data_of, data_of_images
from recolorist_lab.runs.kind import Heading, Kind
from recolorist_lab.studies.code import code_of_train, code_of_transfer
from recolorist_lab.studies.transfer import train
from recolorist_lab.studies.transfer.cell import Transfer, native_size, run

if TYPE_CHECKING:
    from recolorist_lab.report.sections import Cells, Section
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.studies.rates import Rates

__all__ = ["TRANSFER", "TRANSFER_TRAIN"]


def _seconds(config: Any, rates: Rates) -> float:
    """Estimate the seconds to transfer and measure every pair."""
    from recolorist_lab.baselines.registry import METHODS
    from recolorist_lab.studies.rates import FORWARD, times_adain

    relative = times_adain(config.method, native_size(config)) if config.method in METHODS else 0.0
    return float(config.pairs) * (rates.pair + FORWARD * rates.learn * relative)


def _seconds_of_training(config: Any, rates: Rates) -> float:
    """Estimate the seconds of a training from the images it reads, each counted in images of AdaIN."""
    from recolorist_lab.baselines.registry import class_of
    from recolorist_lab.studies.rates import sizes_of, times_adain

    recipe = class_of(config.method).defaults
    images = (config.iterations or recipe.iterations) * (config.batch or recipe.batch)
    epochs = config.epochs or recipe.epochs
    if not config.iterations and epochs:
        images = epochs * sizes_of(config)[0]
    side = min(recipe.crop_size, config.crop_size or recipe.crop_size)
    return rates.learn * float(images * times_adain(config.method, side))


def _kept_by_training(rates: Rates) -> int:
    return rates.baseline_bytes


def _show(section: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.transfer.report import show

    show(section, cells, ledger)


def _show_training(section: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.transfer.report import show_training

    show_training(section, cells, ledger)


TRANSFER: Final = Kind(
    Transfer,
    run,
    data=data_of,
    code=code_of_transfer,
    headings={"transfer": Heading("How good is a transfer", 20)},
    seconds=_seconds,
    show=_show,
)
TRANSFER_TRAIN: Final = Kind(
    train.TransferTrain,
    train.run,
    data=data_of_images,
    code=code_of_train,
    seconds=_seconds_of_training,
    bytes_kept=_kept_by_training,
    show=_show_training,
)
