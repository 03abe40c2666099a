"""One thread, caches of their own, and pictures for every test of the metrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from recolorist._torchvision_ops import declare_missing_ops
from recolorist_lab.metrics import (
    inception,
)
from tests.lab.threads import one_thread

__all__ = ["looked_at", "one_thread"]

declare_missing_ops()  # torchmetrics imports torchvision, which here may not fit its torch


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept between tests, and nothing is downloaded."""
    monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RECOLORIST_OFFLINE", "1")


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A tiny network in place of Inception, and how many images it was shown each time."""
    shown: list[int] = []

    def extract(images: torch.Tensor, backend: str, *, depth: int = 2048) -> NDArray[np.float32]:
        assert (backend, depth, images.dtype) == ("classic", 2048, torch.uint8)
        shown.append(len(images))
        flat = images.float().flatten(2)
        features: NDArray[np.float32] = torch.cat([flat.mean(2) / 50, flat.std(2) / 50], dim=1).numpy()
        return features

    monkeypatch.setattr(inception, "extract", extract)
    monkeypatch.setattr(inception, "load", lambda *_: None)
    return shown
