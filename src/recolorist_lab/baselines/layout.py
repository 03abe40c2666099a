"""Load tensors of other programs strictly: every name and shape must be as expected, or nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torch import Tensor, nn

from recolorist.errors import RecoloristError

__all__ = ["LayoutError", "check", "load", "without_prefix"]

_NAMED = 5


class LayoutError(RecoloristError):
    """A file of weights whose names or shapes are not those of its method."""


def load(module: nn.Module, state: Mapping[str, Tensor], source: str) -> None:
    """Load tensors strictly; a module that refuses them is unchanged.

    Args:
        module: The module.
        state: Tensors by name.
        source: What to call the tensors in an error.

    Raises:
        LayoutError: Names or shapes are not the module's.
    """
    check(state, module.state_dict(), source)
    module.load_state_dict(dict(state), strict=True)


def check(state: Mapping[str, Tensor], expected: Mapping[str, Tensor], source: str) -> None:
    """Refuse missing or unknown names, other shapes, and values that are not finite.

    Args:
        state: Tensors by name.
        expected: Tensors of the right names and shapes.
        source: What to call the tensors in an error.

    Raises:
        LayoutError: Something differs.
    """
    faults = [
        *_listed("missing", (name for name in expected if name not in state)),
        *_listed("not part of it", (name for name in state if name not in expected)),
        *_listed(
            "of another shape",
            (
                f"{name} {tuple(state[name].shape)} instead of {tuple(tensor.shape)}"
                for name, tensor in expected.items()
                if name in state and state[name].shape != tensor.shape
            ),
        ),
        *_listed("not finite", (name for name in expected if name in state and not bool(state[name].isfinite().all()))),
    ]
    if faults:
        raise LayoutError(f"{source} does not have the expected layout ({len(expected)} tensors): {'; '.join(faults)}")


def without_prefix(state: Mapping[str, Tensor], prefix: str = "module.") -> dict[str, Tensor]:
    """Remove the prefix that wrappers for several GPUs add, where all names have it.

    Args:
        state: The tensors by name.
        prefix: What to remove.

    Returns:
        The tensors by their shorter names.

    Example:
        >>> import torch
        >>> list(without_prefix({"module.a": torch.zeros(1)}))
        ['a']
    """
    if state and all(name.startswith(prefix) for name in state):
        return {name[len(prefix) :]: tensor for name, tensor in state.items()}
    return dict(state)


def _listed(fault: str, names: Iterable[str]) -> list[str]:
    listed = list(names)
    if not listed:
        return []
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return [f"{fault}: {', '.join(listed[:_NAMED])}{more}"]
