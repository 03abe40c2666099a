"""The state of a run as bytes: tensors as safetensors, everything else as JSON in its header. Nothing is pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from recolorist.errors import RecoloristError
from recolorist_lab.assets.seals import seal_weights
from recolorist_lab.runs.config import Json

__all__ = ["CheckpointError", "Counters", "frozen_copy", "pack", "restore", "snapshot", "unpack", "weights"]

_KEY: Final = "recolorist"  # one entry only: several would be written in no fixed order
_MODULE, _BEST, _OPTIMISER = "module.", "best.", "optimiser."


class CheckpointError(RecoloristError):
    """A checkpoint that does not fit the run."""


@dataclass
class Counters:
    """The counters of a run. Times are not among them: they would make two equal runs unequal."""

    epoch: int = 0  # the one under way
    done: int = 0  # minibatches of it
    clock: int = 0  # updates and ends of epochs so far: numbers checkpoints
    step: int = 0  # minibatches so far: keys what is random in them
    skipped: int = 0  # minibatches whose loss or gradient was not finite
    skipped_now: int = 0  # of the epoch under way
    loss_sum: float = 0.0  # over the images of the epoch under way
    right: float = 0.0
    seen: int = 0
    best_epoch: int | None = None
    best_loss: float | None = None
    waited: int = 0  # epochs since
    split: int = 1  # pieces of a part, after the device ran out of memory
    finished: bool = False
    history: list[dict[str, Json]] = field(default_factory=list)


def pack(tensors: Mapping[str, Tensor], facts: Any) -> bytes:
    """Write tensors and facts as bytes. Equal content gives equal bytes.

    Args:
        tensors: The tensors by name.
        facts: What JSON can hold.

    Returns:
        The bytes.

    Example:
        >>> unpack(pack({"a": torch.ones(2)}, {"epoch": 3}))
        ({'a': tensor([1., 1.])}, {'epoch': 3})
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return save(plain, {_KEY: json.dumps(facts, allow_nan=False)})


def unpack(data: bytes) -> tuple[dict[str, Tensor], Any]:
    """Read what :func:`pack` wrote.

    Args:
        data: The bytes of a checkpoint.

    Returns:
        The tensors and the facts.

    Raises:
        CheckpointError: The bytes are no checkpoint.
    """
    try:
        length = int.from_bytes(data[:8], "little")
        facts = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][_KEY])
        return load(data), facts
    except (ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise CheckpointError(f"this is not a checkpoint of a training run: {error}; delete it to start again") from error


def weights(tensors: Mapping[str, Tensor]) -> bytes:
    """Write weights alone, sealed, as other programs read them. Equal weights give equal bytes.

    Args:
        tensors: The tensors by name.

    Returns:
        A safetensors file.

    Example:
        >>> sorted(load(weights({"b": torch.ones(2), "a": torch.zeros(1)})))
        ['a', 'b']
    """
    return seal_weights(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {"format": "pt"}))


def frozen_copy(module: nn.Module) -> dict[str, Tensor]:
    """Copy the weights of a module to the CPU, so that further training does not change them.

    Args:
        module: The module.

    Returns:
        Tensors by name.
    """
    return {name: tensor.detach().cpu().clone() for name, tensor in module.state_dict().items()}


def snapshot(
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    best: Mapping[str, Tensor],
    progress: Counters,
    scaler: Mapping[str, Json] | None = None,
) -> bytes:
    """Store everything that the next minibatch depends on. Random draws are keyed by its number, so no generator is stored.

    Args:
        module: The network in training.
        optimiser: Its optimiser.
        best: The best weights so far.
        progress: The counters of the run.
        scaler: State of the loss scaler, with half precision.

    Returns:
        The bytes of a checkpoint.
    """
    tensors = {f"{_MODULE}{name}": tensor for name, tensor in module.state_dict().items()}
    tensors |= {f"{_BEST}{name}": tensor for name, tensor in best.items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"{_OPTIMISER}{number}.{name}": tensor for name, tensor in state.items()}
    return pack(tensors, {"progress": asdict(progress), "scaler": dict(scaler or {})})


def restore(
    data: bytes, module: nn.Module, optimiser: torch.optim.Optimizer
) -> tuple[dict[str, Tensor], Counters, dict[str, Any]]:
    """Put a snapshot back into a module and an optimiser.

    Args:
        data: The bytes of a checkpoint.
        module: The network in training.
        optimiser: Its optimiser.

    Returns:
        The best weights so far, the counters, and the state of the loss scaler.

    Raises:
        CheckpointError: The bytes are no checkpoint, or one of another run.
    """
    tensors, facts = unpack(data)
    try:
        module.load_state_dict(_below(tensors, _MODULE))
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _below(tensors, _OPTIMISER).items():
            number, _, part = name.partition(".")
            state.setdefault(int(number), {})[part] = tensor
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        return _below(tensors, _BEST), Counters(**facts["progress"]), facts["scaler"]
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"the checkpoint does not fit this run: {error}; delete it to start again") from error


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
