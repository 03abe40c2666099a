"""A bank as JSON, which the Studio reads and which adapters write into pipelines; histograms are left out.

It has a checksum over all its entries. The format before it had none, so that a flipped bit gave another bank; it is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from recolorist.bank.making import LeftOut
from recolorist.bank.names import Names, format_name, format_names
from recolorist.bank.table import BankTable, join_triangles, split_triangles
from recolorist.core import image as check
from recolorist.errors import StatisticsError

__all__ = ["FORMAT", "read_json", "write_json"]

#: The name of the format, which is the first entry of every bank in JSON.
FORMAT: Final = "recolorist.bank/2"


def write_json(table: BankTable, library: str) -> str:
    """Return a bank as JSON without its histograms.

    Args:
        table: The content of the bank.
        library: The version of the library that measured it.

    Returns:
        The JSON.

    Example:
        >>> table = BankTable(np.array([[0.5]]), np.array([[[0.1]]]), np.array([64]), ["a"], ["tumour"])
        >>> read_json(write_json(table, "0.1.0")).labels
        ['tumour']
    """
    entries = {
        "format": FORMAT,
        "name": table.name,
        "split": table.split,
        "preprocessing": table.preprocessing,
        "size": table.size,
        "channels": table.mean.shape[1],
        "space": table.space,
        "count": len(table.keys),
        "data_range": 1.0,
        "mean": table.mean.tolist(),
        "cov": split_triangles(table.cov).tolist(),
        "pixels": table.pixels.tolist(),
        "label": _list_names(table.labels, table.keys),
        "domain": _list_names(table.domains, table.keys),
        "key": list(table.keys),
        "library": library,
        "mask": table.mask,
        "blank": table.blank,
        "left_out": [list(entry) for entry in table.left_out],
    }
    return json.dumps(entries | {"sha256": _digest(entries)}, allow_nan=False)


def read_json(text: str) -> BankTable:
    """Read what :func:`write_json` wrote.

    Args:
        text: The JSON.

    Returns:
        The content of a bank.

    Raises:
        StatisticsError: The text is anything else.
    """
    try:
        return _table_of(json.loads(text))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError, AttributeError) as error:
        raise StatisticsError(f"this is not a bank in JSON ({error}); expected is what StyleBank.to_json wrote") from error


def _list_names(names: Names, keys: Sequence[str]) -> list[str | None]:
    return [None] * len(keys) if names is None else list(names)


def _digest(entries: dict[str, Any]) -> str:
    """Return the SHA-256 of all entries in a fixed order, so that spaces and line breaks do not count."""
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _table_of(entries: dict[str, Any]) -> BankTable:
    if entries["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}; build the bank again")
    if entries.pop("sha256", None) != _digest(entries):
        raise ValueError("its checksum does not fit; the file is damaged or was edited")
    size = entries.get("size")
    return BankTable(
        np.array(entries["mean"], np.float64),
        join_triangles(np.array(entries["cov"], np.float64)),
        np.array(entries["pixels"], np.int64),
        [str(key) for key in entries["key"]],
        format_names(entries["label"]),
        format_names(entries["domain"]),
        name=str(entries["name"]),
        split=None if entries["split"] is None else str(entries["split"]),
        preprocessing=str(entries.get("preprocessing", "")),
        size=None if size is None else (int(size[0]), int(size[1])),
        space=entries.get("space", "rgb"),
        mask=format_name(entries.get("mask")),
        blank=check.option(entries["blank"], ("left out", "kept"), "blank") if entries.get("blank") is not None else None,
        left_out=tuple(LeftOut.of(*entry) for entry in entries.get("left_out", ())),
    )
