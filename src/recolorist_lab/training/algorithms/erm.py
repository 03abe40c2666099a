"""Empirical risk minimisation, plain and with DomainBed's head."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from recolorist_lab.training.algorithms.base import Algorithm, StepLoss

__all__ = ["ERM", "Plain"]


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
