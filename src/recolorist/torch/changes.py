"""Changes of the images' own styles for batches: the sampler ``own_style`` in torch operations, on any device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from recolorist.augment.new_styles import change_sizes, own_style
from recolorist.augment.row_samplers import uniform
from recolorist.augment.styles import Sampler, name_of_sampler
from recolorist.bank.style_bank import StyleBank
from recolorist.core.style_change import MOST_LOGARITHM, StyleChange
from recolorist.errors import OptionError

__all__ = ["changes_of", "draw_changes", "open_sampler"]


def open_sampler(sampler: str | Sampler, bank: StyleBank | None) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Return the size of the changes that a sampler draws; None where it draws styles of the bank or the batch.

    Args:
        sampler: ``"uniform"``, ``"own_style"``, or what :func:`recolorist.samplers.own_style_by` returned.
        bank: The bank.

    Returns:
        What :func:`recolorist.augment.new_styles.change_sizes` returns, as tensors.

    Raises:
        OptionError: The sampler is another one, or has no bank.

    Example:
        >>> open_sampler("uniform", None)
        (None, None)
    """
    if sampler in ("uniform", uniform):
        return None, None
    sizes = sampler.keywords if isinstance(sampler, partial) and sampler.func is own_style else {}
    if not sizes and sampler not in ("own_style", own_style):
        shown = name_of_sampler(sampler) if callable(sampler) else sampler
        raise OptionError(
            f"sampler={shown!r}; ColorMatch draws 'uniform' or 'own_style' (or what recolorist.samplers.own_style_by returns). "
            "Other samplers draw in the worker, and ParameterCollate ships what they drew."
        )
    if bank is None:
        raise OptionError("sampler='own_style' takes the size of its changes from a bank, and there is none; pass one")
    root, deviations = change_sizes(bank, **{name: sizes[name] for name in ("scale", "least") if name in sizes})
    return torch.from_numpy(root.copy()), torch.from_numpy(deviations.copy())


def draw_changes(
    count: int, root: torch.Tensor, deviations: torch.Tensor, options: Mapping[str, Any]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a change for each image of a batch.

    Args:
        count: The number of images.
        root: (C, C), which turns independent normal numbers into a step.
        deviations: (C,), of the logarithms of the gains.
        options: Device and generator for :func:`torch.randn`.

    Returns:
        Steps (B, C) and gains (B, C).

    Example:
        >>> step, gains = draw_changes(4, torch.eye(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64), {})
        >>> step.shape, gains.unique().tolist()
        (torch.Size([4, 3]), [1.0])
    """
    normal = torch.randn(2, count, len(root), dtype=torch.float64, **options)
    root, deviations = root.to(normal.device), deviations.to(normal.device)
    return normal[0] @ root.T, (normal[1] * deviations).clamp(-MOST_LOGARITHM, MOST_LOGARITHM).exp()


def changes_of(step: torch.Tensor, gains: torch.Tensor) -> dict[int, StyleChange]:
    """Return the changes of a batch for the core, by the places of the images.

    Args:
        step: (B, C), as drawn.
        gains: (B, C), as drawn.

    Returns:
        The changes; their matrices are not used by ``method="mean_std"``.

    Example:
        >>> changes_of(torch.tensor([[0.5]]), torch.tensor([[2.0]]))
        {0: StyleChange(step=(0.5,), gains=(2.0,), matrix=((2.0,),))}
    """
    numbers = enumerate(zip(step.tolist(), gains.tolist(), strict=True))
    return {
        i: StyleChange(tuple(move), tuple(factors), tuple(map(tuple, np.diag(factors).tolist())))
        for i, (move, factors) in numbers
    }
