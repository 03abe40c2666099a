"""One thread each: two processes test at once."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    yield
    torch.set_num_threads(before)
