"""One thread for networks: two processes test at once, and sums in another number of threads round differently.

Imported into the `conftest.py` of a folder, the fixture holds for every test there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

__all__ = ["one_thread"]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
