"""A bank as JSON: what the page in the browser reads, and adapters that must write their parameters out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from recolorist.bank.style_bank import JSON_FORMAT, StyleBank, square
from recolorist.errors import StatisticsError


def to_json(bank: StyleBank) -> str:
    """All of a bank but its histograms.

    >>> bank = StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), split="train")
    >>> from_json(to_json(bank)).fingerprint == bank.fingerprint
    True
    """
    rows, columns = np.triu_indices(bank.channels)
    entries = {
        "format": JSON_FORMAT,
        "name": bank.name,
        "split": bank.split,
        "preprocessing": bank.preprocessing,
        "size": bank.size,
        "channels": bank.channels,
        "space": bank.space,
        "count": len(bank),
        "data_range": 1.0,
        "mean": bank.mean.tolist(),
        "cov": bank.cov[:, rows, columns].tolist(),
        "pixels": bank.pixels.tolist(),
        "label": [bank.label(row) for row in range(len(bank))],
        "domain": [bank.domain(row) for row in range(len(bank))],
        "key": list(bank.keys),
        "library": bank.library,
    }
    return json.dumps(entries, allow_nan=False)


def from_json(text: str) -> StyleBank:
    """Read what :func:`to_json` wrote; anything else is refused with a sentence."""
    try:
        return _bank_of(json.loads(text))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError, AttributeError) as error:
        raise StatisticsError(f"this is not a bank in JSON ({error}); expected is what StyleBank.to_json wrote") from error


def _bank_of(entries: dict[str, Any]) -> StyleBank:
    if entries["format"] != JSON_FORMAT:
        raise ValueError(f"its format is not {JSON_FORMAT!r}")
    size = entries.get("size")
    return StyleBank(
        np.array(entries["mean"], np.float64),
        square(np.array(entries["cov"], np.float64)),
        np.array(entries["pixels"], np.int64),
        [str(key) for key in entries["key"]],
        _given(entries["label"]),
        _given(entries["domain"]),
        name=str(entries["name"]),
        split=entries["split"],
        preprocessing=str(entries.get("preprocessing", "")),
        size=None if size is None else (int(size[0]), int(size[1])),
        space=entries.get("space", "rgb"),
    )


def _given(names: list[str | None]) -> list[str | None] | None:
    return names if any(name is not None for name in names) else None
