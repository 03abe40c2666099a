"""Many image files at once: build banks, augment, harmonise, audit and compare whole collections.

Example:
    >>> from recolorist.collections import harmonise, Where
    >>> Where(jobs=2).engine
    'local'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from recolorist.collections.api import (
        AuditResult,
        BankResult,
        DriftResult,
        Failure,
        Limits,
        Reading,
        RunResult,
        Where,
        audit,
        augment,
        build_bank,
        drift,
        harmonise,
    )
    from recolorist.collections.one_file import MatchResult, match_file
    from recolorist.collections.options import Masks, OutputOptions

__all__ = [
    "AuditResult",
    "BankResult",
    "DriftResult",
    "Failure",
    "Limits",
    "Masks",
    "MatchResult",
    "OutputOptions",
    "Reading",
    "RunResult",
    "Where",
    "audit",
    "augment",
    "build_bank",
    "drift",
    "harmonise",
    "match_file",
]

# loaded when first asked for, so that a command that needs none of them starts quickly
_ELSEWHERE: Final = {"Masks": "options", "MatchResult": "one_file", "OutputOptions": "options", "match_file": "one_file"}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in __all__:
        return getattr(import_module(f"recolorist.collections.{_ELSEWHERE.get(name, 'api')}"), name)
    raise AttributeError(f"module 'recolorist.collections' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
