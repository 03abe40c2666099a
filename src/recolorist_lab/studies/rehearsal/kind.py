"""The kind ``rehearsal``."""

from __future__ import annotations

from typing import Final

from recolorist_lab.runs.kind import Kind
from recolorist_lab.studies.rehearsal.cell import Rehearsal, run

__all__ = ["REHEARSAL"]

REHEARSAL: Final = Kind(Rehearsal, run)
