"""The base class of algorithms: a classifier, and the loss of one minibatch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist_lab.training.models import Classifier

__all__ = ["Algorithm", "StepLoss", "Task", "Variant"]

Variant: TypeAlias = Literal["upstream", "authors"]


class StepLoss(NamedTuple):
    """The loss of a minibatch, and its logits."""

    loss: Tensor
    logits: Tensor


class Task:
    """How labels are read: one class for an image, or each class present or absent separately."""

    def __init__(self, classes: int, *, multilabel: bool) -> None:
        self.classes, self.multilabel = classes, multilabel

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Compute one loss per image: cross-entropy, or the mean over labels of the binary one.

        Args:
            logits: Of the network.
            targets: Classes, or one number for each label.

        Returns:
            One loss for each image.

        Example:
            >>> Task(2, multilabel=False).losses(torch.zeros(1, 2), torch.tensor([1]))
            tensor([0.6931])
        """
        if self.multilabel:
            return functional.binary_cross_entropy_with_logits(logits, targets, reduction="none").mean(1)
        return functional.cross_entropy(logits, targets, reduction="none")

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Average the loss over images.

        Args:
            logits: (B, classes).
            targets: Labels of the images.

        Returns:
            The loss.
        """
        if self.multilabel:
            return functional.binary_cross_entropy_with_logits(logits, targets)
        return functional.cross_entropy(logits, targets)

    def one_hot(self, targets: Tensor) -> Tensor:
        """Write labels as ones at the classes of each image.

        Args:
            targets: Labels of the images.

        Returns:
            (B, classes).
        """
        return targets if self.multilabel else functional.one_hot(targets, self.classes)

    def confidences(self, logits: Tensor) -> Tensor:
        """Compute the probabilities of the classes.

        Args:
            logits: (B, classes).

        Returns:
            (B, classes).
        """
        return logits.sigmoid() if self.multilabel else logits.softmax(1)

    def groups(self, targets: Tensor) -> list[Tensor]:
        """Group images with the same label, or with the same set of labels.

        Args:
            targets: Labels of the images.

        Returns:
            Places of the images of each group.
        """
        _, group = torch.unique(targets, dim=0, return_inverse=True)
        return [torch.nonzero(group == number).flatten() for number in range(int(group.max()) + 1)]


class Algorithm(nn.Module, ABC):
    """One loss. ``forward`` takes images, targets and the domain of each image, numbered from 0; one domain is always enough."""

    own_head: ClassVar[bool] = True  #: the head starts as PyTorch's layers do, not as timm's

    def __init__(self, network: Classifier, task: Task, variant: Variant = "upstream") -> None:
        super().__init__()
        self.network, self.task, self.variant = network, task, variant

    @abstractmethod
    def forward(self, images: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:
        """Compute the loss of a minibatch.

        Args:
            images: (B, 3, H, W).
            targets: Labels of the images.
            domains: Domains of the images.

        Returns:
            The loss and the logits.
        """

    def refreshes(self) -> bool:
        """Return whether the optimiser's state is cleared before the next update.

        Returns:
            False unless an algorithm says otherwise.
        """
        return False

    def updated(self) -> None:
        """Count one update."""

    def facts(self) -> dict[str, Any]:
        """Return the numbers behind the name, for the result.

        Returns:
            The facts by name.
        """
        return {"variant": self.variant}
