"""SelfReg: images of one class should have similar logits and features, also when mixed."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist_lab.training.algorithms.base import Algorithm, StepLoss, Task, Variant
from recolorist_lab.training.models import Classifier

__all__ = ["FEATURE_WEIGHT", "Partners", "SelfReg", "dissimilarity", "projection"]

FEATURE_WEIGHT: Final = 0.3
_BETA: Final = 0.5


class Partners(NamedTuple):
    """The draws of one update: two partners of the same class for each image, and their mixture."""

    first: Tensor
    second: Tensor
    share: float


class SelfReg(Algorithm):
    """The mean loss plus the dissimilarity of an image and its partners, weighted by the loss.

    Upstream the projection head is not among the parameters that are trained (its authors confirmed it), and projected partners
    are compared with features as they are. In the lab's port the head is trained and both sides are projected.
    """

    def __init__(self, network: Classifier, task: Task, variant: Variant = "upstream") -> None:
        super().__init__(network, task, variant)
        self.projection = projection(network.width).requires_grad_(variant == "authors")

    def forward(self, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:  # noqa: ARG002 - none is needed
        """Compute the loss; the partners are drawn from torch's global generator."""
        features = self.network.features(images)
        logits = self.network.head(features)
        projected = self.projection(features)
        loss = self.task.loss(logits, targets)
        reference = projected if self.variant == "authors" else features
        unlike = dissimilarity(logits, reference, projected, self.partners(targets))
        return StepLoss(loss + loss.detach().clamp(max=1.0) * unlike, logits)

    def partners(self, targets: Tensor) -> Partners:
        """Draw two permutations within each class and a number from Beta(½, ½). An image alone in its class is its own partner.

        Args:
            targets: The class of each image.

        Returns:
            The partners and the number.
        """
        keys = targets.argmax(1) if self.task.multilabel and self.variant == "authors" else targets
        first, second = torch.empty(len(keys), dtype=torch.int64), torch.empty(len(keys), dtype=torch.int64)
        share = float(torch.distributions.Beta(torch.tensor(_BETA), torch.tensor(_BETA)).sample())
        for places in self.task.groups(keys.cpu()):
            first[places] = places[torch.randperm(len(places))]
            second[places] = places[torch.randperm(len(places))]
        return Partners(first.to(targets.device), second.to(targets.device), share)

    def facts(self) -> dict[str, Any]:
        """Return the weight and the variant."""
        return {"variant": self.variant, "feature_weight": FEATURE_WEIGHT}


def dissimilarity(logits: Tensor, reference: Tensor, projected: Tensor, partners: Partners) -> Tensor:
    """Compute the mean squared differences to one partner and to the mixture of two, of logits and of features.

    Args:
        logits: Of the images.
        reference: Their features, which the projections of the partners are compared with.
        projected: The projections of the features.
        partners: Two partners of each image, and the share of the first in their mixture.

    Returns:
        The loss.

    Example:
        >>> same = Partners(torch.arange(2), torch.arange(2), 0.25)
        >>> float(dissimilarity(torch.eye(2), torch.eye(2), torch.eye(2), same))
        0.0
    """
    first, second, share = partners
    mixed_logits = share * logits[first] + (1.0 - share) * logits[second]
    mixed_features = share * projected[first] + (1.0 - share) * projected[second]
    alone = functional.mse_loss(logits, logits[first]) + FEATURE_WEIGHT * functional.mse_loss(reference, projected[first])
    mixed = functional.mse_loss(logits, mixed_logits) + FEATURE_WEIGHT * functional.mse_loss(reference, mixed_features)
    return share * alone + (1.0 - share) * mixed


def projection(width: int) -> nn.Sequential:
    """Make three linear layers, each with batch norm.

    Args:
        width: Of the features.

    Returns:
        The layers.

    Example:
        >>> sum(parameter.numel() for parameter in projection(1024).parameters())
        8403968
    """
    hidden = width if width == 2048 else 2 * width
    return nn.Sequential(
        nn.Linear(width, hidden),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, width),
        nn.BatchNorm1d(width),
    )
