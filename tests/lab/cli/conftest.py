"""One thread for every command, and a trained network for the tests of `recolorist-lab baseline`."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist._torchvision_ops import declare_missing_ops
from tests.lab.cli.baseline_kit import trained
from tests.lab.threads import one_thread

__all__ = ["one_thread", "weights"]

declare_missing_ops()  # timm and torchmetrics import torchvision, which here may not fit its torch


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of a network that was trained for two steps."""
    folder = tmp_path_factory.mktemp("run") / "out"
    trained(folder, "--iterations", "2")
    return folder / "weights.safetensors"
