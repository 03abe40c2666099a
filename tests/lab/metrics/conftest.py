"""One thread, caches of their own, and pictures for every test of the metrics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from recolorist._torchvision_ops import declare_missing_ops

declare_missing_ops()  # torchmetrics imports torchvision, which here may not fit its torch


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept between tests, and nothing is downloaded."""
    monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RECOLORIST_OFFLINE", "1")
