"""One thread for every test here, and a few images and the real weights for those that ask."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recolorist_lab.baselines.crops import Images, images_of
from tests.lab.threads import one_thread

__all__ = ["images", "one_thread", "real_weights"]


@pytest.fixture(scope="module")
def images() -> Images:
    return images_of("synthetic:hospitals=3,tiles=6,size=24")


@pytest.fixture
def real_weights(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the real encoder and decoder, named to the code; without it the test is skipped."""
    folder = Path(os.environ.get("RECOLORIST_WEIGHTS") or Path(__file__).resolve().parents[4] / "shared" / "weights")
    if not (folder / "vgg_normalised_relu4_1.pth").is_file():
        pytest.skip("the real weights are not here; set RECOLORIST_WEIGHTS to the folder that holds them")
    monkeypatch.setenv("RECOLORIST_WEIGHTS", str(folder))
    return folder
