"""Datasets, training, metrics, baselines and reports with which the comparisons of the paper are run again.

It stands on :mod:`recolorist` and is installed with the extra ``lab``. Nothing heavy is imported here, so that
``recolorist-lab --help`` answers at once.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

__all__ = ["KIND_PLACES"]

#: Every kind of study, and where its :class:`recolorist_lab.runs.kind.Kind` is defined; a kind is imported when it is used.
KIND_PLACES: Final = MappingProxyType(
    {
        "classify": "recolorist_lab.studies.classify.kind:CLASSIFY",
        "properties": "recolorist_lab.studies.properties.kind:PROPERTIES",
        "rehearsal": "recolorist_lab.studies.rehearsal.kind:REHEARSAL",
        "runtime": "recolorist_lab.studies.runtime.kind:RUNTIME",
        "spaces": "recolorist_lab.studies.spaces.kind:SPACES",
        "transfer": "recolorist_lab.studies.transfer.kind:TRANSFER",
        "transfer_check": "recolorist_lab.studies.check.kind:TRANSFER_CHECK",
        "transfer_cost": "recolorist_lab.studies.spaces.kind:TRANSFER_COST",
        "transfer_train": "recolorist_lab.studies.transfer.kind:TRANSFER_TRAIN",
    }
)
