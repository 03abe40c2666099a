"""What is minimised: cross-entropy, and DomainBed's four regularisers of features on top of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from recolorist_lab.training.algorithms.base import Algorithm, StepLoss, Task
from recolorist_lab.training.algorithms.erm import ERM, SD, Plain
from recolorist_lab.training.algorithms.ib_erm import IBERM
from recolorist_lab.training.algorithms.rsc import RSC
from recolorist_lab.training.algorithms.selfreg import SelfReg

__all__ = ["TABLE", "Algorithm", "StepLoss", "Task"]

TABLE: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {"plain": Plain, "erm": ERM, "ib_erm": IBERM, "rsc": RSC, "sd": SD, "selfreg": SelfReg}
)
