"""Empirical risk minimisation, plain and with DomainBed's head, and spectral decoupling."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from torch import Tensor

from recolorist_lab.training.algorithms.base import Algorithm, StepLoss

__all__ = ["ERM", "SD", "SD_REG", "Plain"]

SD_REG: Final = 0.1


class ERM(Algorithm):
    """The mean loss and nothing else."""

    def forward(self, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:  # noqa: ARG002 - none is needed
        """The mean loss."""
        logits = self.network(images)
        return StepLoss(self.task.loss(logits, targets), logits)


class Plain(ERM):
    """The same loss on the network as timm makes it: the unaugmented baseline, and what augmentations are tried on."""

    own_head: ClassVar[bool] = False

    def facts(self) -> dict[str, Any]:
        """There are no variants of it."""
        return {}


class SD(Algorithm):
    """Spectral decoupling: large logits are paid for, in the mean over images and classes."""

    def forward(self, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:  # noqa: ARG002 - none is needed
        """The mean loss plus a share of the mean square of all logits."""
        logits = self.network(images)
        return StepLoss(self.task.loss(logits, targets) + SD_REG * logits.square().mean(), logits)

    def facts(self) -> dict[str, Any]:
        """The one number, which is the same in both variants."""
        return {"sd_reg": SD_REG}
