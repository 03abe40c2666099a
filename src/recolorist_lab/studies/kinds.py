"""The table of kinds: the name a study file uses, and what it stands for. Later studies add their line here."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from recolorist_lab.data.named import data_of
from recolorist_lab.runs.kind import Kind
from recolorist_lab.studies.check import cell as transfer_check
from recolorist_lab.studies.classify import cell as classify
from recolorist_lab.studies.properties import cell as properties
from recolorist_lab.studies.rehearsal import cell as rehearsal
from recolorist_lab.studies.runtime import cell as runtime
from recolorist_lab.studies.spaces import cell as spaces
from recolorist_lab.studies.spaces import cost as transfer_cost
from recolorist_lab.studies.transfer import cell as transfer
from recolorist_lab.studies.transfer import train as transfer_train

__all__ = ["KINDS"]

KINDS: Final = MappingProxyType(
    {
        "classify": Kind(classify.Classify, classify.run, selection="validation_loss", data=data_of),
        "properties": Kind(properties.Properties, properties.run, data=data_of),
        "rehearsal": Kind(rehearsal.Rehearsal, rehearsal.run),
        "runtime": Kind(runtime.Runtime, runtime.run),
        "spaces": Kind(spaces.Spaces, spaces.run, data=data_of),
        "transfer": Kind(transfer.Transfer, transfer.run, data=data_of),
        "transfer_check": Kind(transfer_check.TransferCheck, transfer_check.run),
        "transfer_cost": Kind(transfer_cost.TransferCost, transfer_cost.run, data=data_of),
        "transfer_train": Kind(transfer_train.TransferTrain, transfer_train.run, data=data_of),
    }
)
