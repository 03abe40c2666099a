"""AdamW without decay on one-dimensional parameters, and a learning rate that depends on the epoch only."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from recolorist_lab.training.settings import Settings

__all__ = ["BETAS", "EPS", "adamw", "rate", "set_rate"]

BETAS = (0.9, 0.999)
EPS = 1e-8


def adamw(module: nn.Module, settings: Settings) -> torch.optim.AdamW:
    """Make the optimiser of a module's trainable parameters, in two groups: with decay and without.

    Args:
        module: The network.
        settings: Of the run.

    Returns:
        The optimiser.

    Example:
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        >>> [(group["weight_decay"], len(group["params"])) for group in adamw(net, Settings("synthetic", 0)).param_groups]
        [(0.01, 1), (0.0, 3)]
    """
    trained = [(name, tensor) for name, tensor in module.named_parameters() if tensor.requires_grad]
    decayed = [tensor for name, tensor in trained if _decays(name, tensor, _exempt(module))]
    undecayed = [tensor for name, tensor in trained if not _decays(name, tensor, _exempt(module))]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": undecayed, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=BETAS, eps=EPS)


def rate(settings: Settings, epoch: int) -> float:
    """Return the rate of a whole epoch, counted from 0: half a cosine from ``learning_rate`` to ``floor_rate`` over all epochs.

    With warm-up the first epochs rise in a straight line from ``warmup_rate``; the cosine does not wait for them, it is only
    hidden by them.

    Args:
        settings: Of the run.
        epoch: Counted from 0.

    Returns:
        The learning rate.

    Example:
        >>> paper = Settings("synthetic", 0)
        >>> [round(rate(paper, epoch), 9) for epoch in (0, 1, 2, 50)]
        [0.001, 0.000999753, 0.000999013, 0.0005]
    """
    if epoch < settings.warmup_epochs:
        return settings.warmup_rate + epoch * (settings.learning_rate - settings.warmup_rate) / settings.warmup_epochs
    height = 0.5 * (settings.learning_rate - settings.floor_rate)
    return settings.floor_rate + height * (1.0 + math.cos(math.pi * epoch / settings.epochs))


def set_rate(optimiser: torch.optim.Optimizer, value: float) -> None:
    """Set the learning rate of all groups.

    Args:
        optimiser: The optimiser.
        value: The learning rate.
    """
    for group in optimiser.param_groups:
        group["lr"] = value


def _decays(name: str, tensor: Tensor, exempt: Iterable[str]) -> bool:
    """Return whether a parameter decays, as timm decides: not biases, norms, and what a network declares."""
    return tensor.ndim > 1 and not name.endswith(".bias") and not any(name.endswith(other) for other in exempt)


def _exempt(module: nn.Module) -> set[str]:
    names: set[str] = set()
    for child in module.modules():
        if callable(listed := getattr(child, "no_weight_decay", None)):
            names |= set(listed())
    return names
