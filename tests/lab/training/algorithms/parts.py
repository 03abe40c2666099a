"""A small network and minibatches for the tests of the algorithms."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from recolorist_lab.training.algorithms.base import Task

N, D, K = 12, 10, 3
ONE = Task(K, multilabel=False)
MANY = Task(K, multilabel=True)


class Linear(nn.Module):
    """A classifier whose images are its features, times a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.last, self.calls = nn.Linear(D, D), nn.Linear(D, K), 0

    def features(self, images: Tensor) -> Tensor:
        self.calls += 1
        result: Tensor = self.body(images).relu()
        return result

    def head(self, features: Tensor) -> Tensor:
        result: Tensor = self.last(features)
        return result

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images))

    @property
    def width(self) -> int:
        return D


def network() -> Any:
    return Linear()


def batch(*, multilabel: bool = False, domains: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    labels = (torch.rand(N, K) < 0.4).float() if multilabel else torch.arange(N) % K
    return torch.randn(N, D), labels, torch.arange(N) % domains


def ce(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy from its definition."""
    return -(logits.log_softmax(1)[torch.arange(len(labels)), labels]).mean()
