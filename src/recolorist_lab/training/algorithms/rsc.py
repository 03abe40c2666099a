"""Representation self-challenging: the features with the most evidence for the true class are set to zero."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from recolorist_lab.training.algorithms.base import Algorithm, StepLoss, Task

__all__ = ["DROP", "RSC", "below_percentile", "evidence"]

DROP: Final = MappingProxyType({"upstream": 1.0 / 3.0, "authors": 0.33})  # of features, and of images


class RSC(Algorithm):
    """The loss after muting. The prediction with all features takes no part.

    The lab's port makes a second forward pass for the last step, which moves batch norm's running statistics twice an update.
    """

    def forward(self, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:  # noqa: ARG002 - none is needed
        """Mute features, then predict again."""
        features = self.network.features(images)
        logits = self.network.head(features)
        mask = self._mask(features, logits, targets)
        if self.variant == "authors":
            features = self.network.features(images)
        return StepLoss(self.task.loss(self.network.head(features * mask), targets), logits)

    def facts(self) -> dict[str, Any]:
        """Return the share that is muted."""
        return {"variant": self.variant, "drop": DROP[self.variant]}

    def _mask(self, features: Tensor, logits: Tensor, targets: Tensor) -> Tensor:
        """Return a mask of one where a feature stays; it carries no gradient."""
        truth = _truth(self.task, self.variant, targets).to(logits.dtype)
        loud = evidence(features, logits, truth)
        with torch.no_grad():
            mask = below_percentile(loud, DROP[self.variant])
            muted = self.network.head(features * mask)
            change = ((self.task.confidences(logits) - self.task.confidences(muted)) * truth).sum(1)
            unmoved = below_percentile(change[None], DROP[self.variant])[0]
            silent = truth.sum(1) == 0  # an image without any label has no true class to be challenged about
            return torch.maximum(mask, torch.maximum(unmoved, silent.to(mask.dtype))[:, None])


def evidence(features: Tensor, logits: Tensor, truth: Tensor) -> Tensor:
    """Differentiate the logits of the true classes by each feature.

    Args:
        features: (B, features), with gradients.
        logits: (B, classes), computed from them.
        truth: (B, classes), 1 for the true classes.

    Returns:
        (B, features). With a linear head this is the true class's row of weights.
    """
    return torch.autograd.grad((logits * truth).sum(), features, retain_graph=True)[0]


def below_percentile(values: Tensor, drop: float) -> Tensor:
    """Mark the values below their row's percentile ``100 * (1 - drop)``, interpolated in a straight line.

    Args:
        values: `(rows, values)`.
        drop: The share that is not marked.

    Returns:
        One where a value lies below, else zero.

    Example:
        >>> below_percentile(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 0.5)
        tensor([[1., 1., 0., 0.]])
    """
    ordered = values.float().sort(dim=1).values
    place = (1.0 - drop) * (values.shape[1] - 1)
    low = ordered[:, int(place)]
    high = ordered[:, math.ceil(place)]
    # torch.quantile rounds a place next to a whole number differently from version to version
    limit = low + (high - low) * (place - int(place))
    return (values.float() < limit[:, None]).to(values.dtype)


def _truth(task: Task, variant: str, targets: Tensor) -> Tensor:
    """Return the true classes; with several labels all of them, where the lab's port takes the first, or class 0."""
    if task.multilabel and variant == "authors":
        return functional.one_hot(targets.argmax(1), task.classes)
    return task.one_hot(targets)
