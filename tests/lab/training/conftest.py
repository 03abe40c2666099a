"""One thread for every test of training."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from recolorist._torchvision_ops import declare_missing_ops

declare_missing_ops()  # timm and torchmetrics import torchvision, which here may not fit its torch


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
