"""Spectral decoupling: a penalty on large logits."""

from __future__ import annotations

from typing import Any, Final

from torch import Tensor

from recolorist_lab.training.algorithms.base import Algorithm, StepLoss

__all__ = ["SD", "SD_REG"]

SD_REG: Final = 0.1


class SD(Algorithm):
    """Spectral decoupling: a penalty on the mean square of the logits."""

    def forward(self, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:  # noqa: ARG002 - none is needed
        """Compute the mean loss plus a share of the mean square of all logits."""
        logits = self.network(images)
        return StepLoss(self.task.loss(logits, targets) + SD_REG * logits.square().mean(), logits)

    def facts(self) -> dict[str, Any]:
        """Return the weight, which is the same in both variants."""
        return {"sd_reg": SD_REG}
