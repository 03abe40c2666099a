"""Labels of the four haematology sources: the number of images of each, and its class in either benchmark."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Final, NamedTuple

__all__ = ["PREFIXED", "RAW", "Raw", "raw_labels"]


class Raw(NamedTuple):
    """One label as a source gives it. Empty means dropped. ``unusable`` of the ``images`` cannot be decoded."""

    source: str
    label: str
    images: int
    peripheral_blood: str = ""
    bone_marrow: str = ""
    unusable: int = 0


def _read() -> tuple[Raw, ...]:
    text = files("recolorist_lab.data.cards").joinpath("labels", "blood.toml").read_text("utf-8")
    return tuple(Raw(source, label, **row) for source, rows in tomllib.loads(text).items() for label, row in rows.items())


#: Every label of every source, from `cards/labels/blood.toml`.
RAW: Final = _read()

#: Acevedo 2020 keeps sub-types in the file name: what stands before the underscore, for the folders that hold several.
PREFIXED: Final = {"ig": ("IG", "MMY", "MY", "PMY"), "neutrophil": ("BNE", "NEUTROPHIL", "SNE")}


def raw_labels(source: str) -> tuple[Raw, ...]:
    """Return the labels of one source.

    Args:
        source: The name of the source.

    Returns:
        The rows of the table of labels that belong to it.

    Example:
        >>> [row.label for row in raw_labels("Acevedo20") if not row.peripheral_blood]
        ['IG', 'NEUTROPHIL', 'platelet']
    """
    return tuple(row for row in RAW if row.source == source)
