"""What the tests of style transfer share."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, Any] = {
    "dataset": "synthetic:tiles=6,size=64",
    "seed": 3,
    "iterations": 4,
    "batch": 2,
    "load_size": 64,
    "crop_size": 64,
    "encoder": "random",
}


class Context:
    """A ledger for one cell."""

    def __init__(self, inputs: Any = None, found: tuple[int, bytes] | None = None) -> None:
        self.inputs, self.found = inputs or {}, found
        self.saved: dict[int, bytes] = {}
        self.kept: dict[str, bytes] = {}

    def resume(self) -> tuple[int, bytes] | None:
        return self.found

    def save(self, step: int, data: bytes) -> None:
        self.saved[step] = data

    def keep(self, name: str, data: bytes) -> None:
        self.kept[name] = data
