"""The losses: cross-entropy, and DomainBed's four regularisers of features on top of it.

An algorithm is imported when it is asked for, so a change of one leaves the results of the others valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from recolorist_lab.training.algorithms.base import Algorithm

__all__ = ["ALGORITHMS", "class_of", "module_of"]

#: Module and class of every algorithm. `plain` is the network as timm makes it; the others have DomainBed's separate head.
ALGORITHMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "plain": "erm:Plain",
        "erm": "erm:ERM",
        "ib_erm": "ib_erm:IBERM",
        "rsc": "rsc:RSC",
        "sd": "sd:SD",
        "selfreg": "selfreg:SelfReg",
    }
)


def module_of(name: str) -> str:
    """Return the name of the module that defines an algorithm.

    Args:
        name: The name of the algorithm.

    Returns:
        The module's full name.

    Example:
        >>> module_of("sd")
        'recolorist_lab.training.algorithms.sd'
    """
    return f"{__name__}.{ALGORITHMS[name].partition(':')[0]}"


def class_of(name: str) -> type[Algorithm]:
    """Import the class of an algorithm.

    Args:
        name: The name of the algorithm.

    Returns:
        The class.

    Example:
        >>> class_of("sd").__name__
        'SD'
    """
    algorithm: type[Algorithm] = getattr(import_module(module_of(name)), ALGORITHMS[name].partition(":")[2])
    return algorithm
