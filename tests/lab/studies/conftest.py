"""What the tests of statistics and of the transfer studies share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def one_thread() -> Iterator[None]:
    """Networks share the machine with other tests."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real network weights; without it a test is skipped."""
    named = os.environ.get("RECOLORIST_WEIGHTS")
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "weights"
    if not (folder / "fid_inception_pool3.pth").is_file():
        pytest.skip("the real weights are not here; set RECOLORIST_WEIGHTS to the folder that holds them")
    monkeypatch.setenv("RECOLORIST_WEIGHTS", str(folder))
    return folder
