"""Look up kinds of study by the name that a study file uses."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Final

from recolorist_lab import KIND_PLACES
from recolorist_lab.runs.kind import Heading, Kind

__all__ = ["KINDS", "Kinds", "headings"]


class Kinds(Mapping[str, Kind]):
    """Kinds by name, each imported when it is first asked for.

    Args:
        locations: The module and attribute of every kind, as ``"package.module:ATTRIBUTE"``.

    Example:
        >>> Kinds({"check": "recolorist_lab.studies.check.kind:TRANSFER_CHECK"})["check"].selection
        'none'
    """

    def __init__(self, locations: Mapping[str, str]) -> None:
        self._locations = dict(locations)

    def __getitem__(self, name: str) -> Kind:
        module, _, attribute = self._locations[name].partition(":")
        kind: Kind = getattr(importlib.import_module(module), attribute)
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self._locations

    def __iter__(self) -> Iterator[str]:
        return iter(self._locations)

    def __len__(self) -> int:
        return len(self._locations)


#: All kinds of study.
KINDS: Final[Mapping[str, Kind]] = Kinds(KIND_PLACES)


def headings() -> dict[str, Heading]:
    """Return the headings of the paper's studies, in the order of the report.

    Returns:
        The headings by name of the study.

    Example:
        >>> list(headings())[:3]
        ['spaces', 'transfer', 'classify']
    """
    unsorted = {name: heading for kind in KINDS.values() for name, heading in kind.headings.items()}
    return dict(sorted(unsorted.items(), key=lambda item: item[1].order))
