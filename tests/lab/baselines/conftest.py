"""One thread for every test here, and the real weights for those that ask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def real_weights(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the real encoder and decoder, named to the code; without it the test is skipped."""
    folder = Path(os.environ.get("RECOLORIST_WEIGHTS") or Path(__file__).resolve().parents[4] / "shared" / "weights")
    if not (folder / "vgg_normalised_relu4_1.pth").is_file():
        pytest.skip("the real weights are not here; set RECOLORIST_WEIGHTS to the folder that holds them")
    monkeypatch.setenv("RECOLORIST_WEIGHTS", str(folder))
    return folder
