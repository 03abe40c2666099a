"""One thread for every test of training."""

from __future__ import annotations

from recolorist._torchvision_ops import declare_missing_ops
from tests.lab.threads import one_thread

__all__ = ["one_thread"]

declare_missing_ops()  # timm and torchmetrics import torchvision, which here may not fit its torch
