"""Empirical risk minimisation, plain and with DomainBed's head."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from recolorist_lab.training.algorithms.base import Algorithm, StepLoss

__all__ = ["ERM", "Plain"]


class ERM(Algorithm):
    """The mean loss without a regulariser."""

    def forward(self, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:  # noqa: ARG002 - none is needed
        """Compute the mean loss."""
        logits = self.network(images)
        return StepLoss(self.task.loss(logits, targets), logits)


class Plain(ERM):
    """The same loss on timm's own network: the baseline without augmentation, and the network for augmentations."""

    own_head: ClassVar[bool] = False

    def facts(self) -> dict[str, Any]:
        """Return nothing: there are no variants."""
        return {}
