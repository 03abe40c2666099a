"""Modules whose numbers stay float64 whatever the model around them becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import torch
from torch import nn

__all__ = ["ExactModule", "is_exporting"]


class ExactModule(nn.Module):
    """A module whose buffers move with the model but keep their dtype.

    A model that becomes half precision would change the numbers of a bank.

    Example:
        >>> module = ExactModule()
        >>> module.register_buffer("numbers", torch.zeros(2, dtype=torch.float64))
        >>> module.half().numbers.dtype
        torch.float64
    """

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:  # noqa: FBT002
        """Move, and undo a change of dtype."""
        before = dict(self._buffers)
        super()._apply(fn, recurse)
        for name, old in before.items():
            new = self._buffers[name]
            if old is not None and new is not None and new.dtype != old.dtype:
                self._buffers[name] = old.to(new.device)
        return self


def is_exporting() -> bool:
    """Say whether the graph is being written out, where sizes are symbols and cannot be compared.

    Example:
        >>> is_exporting()
        False
    """
    asked = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)  # torch 2.6 has only the latter
    return bool(torch.jit.is_tracing() or asked())  # type: ignore[attr-defined]  # public, and not in the list of names
