"""The learning rate: a function of the epoch and of nothing else, so that resuming needs to know nothing more."""

from __future__ import annotations

import math

from recolorist_lab.training.settings import Settings

__all__ = ["rate"]


def rate(settings: Settings, epoch: int) -> float:
    """The rate of a whole epoch, counted from 0: half a cosine from ``learning_rate`` to ``floor_rate`` over all epochs.

    With warm-up the first epochs rise in a straight line from ``warmup_rate``; the cosine does not wait for them, it is only
    hidden by them.

    >>> paper = Settings("synthetic", 0)
    >>> [round(rate(paper, epoch), 9) for epoch in (0, 1, 2, 50)]
    [0.001, 0.000999753, 0.000999013, 0.0005]
    """
    if epoch < settings.warmup_epochs:
        return settings.warmup_rate + epoch * (settings.learning_rate - settings.warmup_rate) / settings.warmup_epochs
    height = 0.5 * (settings.learning_rate - settings.floor_rate)
    return settings.floor_rate + height * (1.0 + math.cos(math.pi * epoch / settings.epochs))
