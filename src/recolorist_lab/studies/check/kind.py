"""The kind ``transfer_check``."""

from __future__ import annotations

from typing import Final

from recolorist_lab.runs.kind import Heading, Kind
from recolorist_lab.studies.check.cell import TransferCheck, run
from recolorist_lab.studies.code import code_of_check

__all__ = ["TRANSFER_CHECK"]

TRANSFER_CHECK: Final = Kind(
    TransferCheck, run, code=code_of_check, headings={"check": Heading("Does matching recover the other scanner", 70)}
)
