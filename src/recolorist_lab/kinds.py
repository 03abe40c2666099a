"""The table of kinds: the name a study file uses, and what it stands for. Later studies add their line here."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from recolorist_lab.kind import Kind
from recolorist_lab.studies import rehearsal, transfer_check

__all__ = ["KINDS"]

KINDS: Final = MappingProxyType(
    {
        "rehearsal": Kind(rehearsal.Rehearsal, rehearsal.run),
        "transfer_check": Kind(transfer_check.TransferCheck, transfer_check.run),
    }
)
