"""Runs for the tests: small settings, and a context that keeps everything in memory."""

from __future__ import annotations

from typing import Any, Final

from safetensors.torch import load
from torch import Tensor

from recolorist_lab.runs.kind import Input
from recolorist_lab.training.settings import Settings

#: Twelve training tiles of three hospitals, four classes, a network that needs milliseconds.
TINY: Final = "synthetic:hospitals=5,tiles=12,size=32"


def small(**changes: Any) -> Settings:
    """Two epochs on 36 tiles."""
    values: dict[str, Any] = {
        "dataset": TINY,
        "seed": 7,
        "model": "test_resnet",
        "size": 32,
        "epochs": 2,
        "batch": 16,
        "workers": 0,
        "accelerator": "cpu",
        "threads": 1,
    }
    return Settings(**{**values, **changes})


class Memory:
    """What the ledger would hold of a cell."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.saved: list[tuple[int, bytes]] = []
        self.inputs: dict[str, tuple[Input, ...]] = {}

    def resume(self) -> tuple[int, bytes] | None:
        return self.saved[-1] if self.saved else None

    def save(self, step: int, data: bytes) -> None:
        assert not self.saved or step > self.saved[-1][0]
        self.saved.append((step, data))

    def keep(self, name: str, data: bytes) -> None:
        self.kept[name] = data

    def weights(self) -> dict[str, Tensor]:
        return load(self.kept["model.safetensors"])
