"""The information bottleneck: after some updates, the variance of features is penalised in each domain."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

import torch
from torch import Tensor

from recolorist_lab.training.algorithms.base import Algorithm, StepLoss, Task, Variant
from recolorist_lab.training.models import Classifier

__all__ = ["ANNEAL", "IBERM", "LAMBDA", "spread"]

LAMBDA: Final = MappingProxyType({"upstream": 100.0, "authors": 0.001})
ANNEAL: Final = 500  # updates without the penalty


class IBERM(Algorithm):
    """The mean over domains of their loss, and from the 501st update on of their features' variance too.

    Upstream the optimiser starts afresh when the penalty comes in; the learning rate stays what the schedule says.
    """

    counter: Tensor

    def __init__(self, network: Classifier, task: Task, variant: Variant = "upstream") -> None:
        super().__init__(network, task, variant)
        self.register_buffer("counter", torch.zeros((), dtype=torch.int64))

    def forward(self, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:
        """Compute the loss; before the penalty starts it is that of empirical risk minimisation, bit for bit."""
        features = self.network.features(images)
        logits = self.network.head(features)
        slices = [domains == number for number in torch.unique(domains)]
        loss = torch.stack([self.task.loss(logits[domain], targets[domain]) for domain in slices]).mean()
        if int(self.counter) >= ANNEAL:
            loss = loss + LAMBDA[self.variant] * torch.stack([spread(features[domain]) for domain in slices]).mean()
        return StepLoss(loss, logits)

    def refreshes(self) -> bool:
        """Return True once, when the penalty starts."""
        return self.variant == "upstream" and int(self.counter) == ANNEAL

    def updated(self) -> None:
        """Count the update; the counter is a buffer, so that checkpoints keep it."""
        self.counter += 1

    def facts(self) -> dict[str, Any]:
        """Return which of the two weights was used, and whether the penalty started."""
        came_in = int(self.counter) > ANNEAL
        return {"variant": self.variant, "ib_lambda": LAMBDA[self.variant], "anneal_updates": ANNEAL, "penalty_came_in": came_in}


def spread(features: Tensor) -> Tensor:
    """Compute the mean over features of their unbiased variance over images.

    Args:
        features: `(images, features)`.

    Returns:
        A number; zero for a single image.

    Example:
        >>> float(spread(torch.tensor([[0.0, 1.0], [2.0, 1.0]])))
        1.0
    """
    if len(features) < 2:
        return features.sum() * 0.0
    return features.var(dim=0, unbiased=True).mean()
