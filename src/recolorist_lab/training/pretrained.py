"""Start a classifier from a file of weights, such as ImageNet's. The file is identified by its checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from recolorist.errors import OptionError

__all__ = ["identity_of_weights", "load_weights"]


def identity_of_weights(path: str | Path) -> str:
    """The sha256 of a file of weights, which is what a run is identified by.

    Raises:
        OptionError: If the file cannot be read.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise OptionError(f"the weights {path} cannot be read: {error.strerror or error}; name a file") from error


def load_weights(net: Any, path: str, sha256: str) -> None:
    """Load all weights but those of the last layer, which belongs to other classes.

    Args:
        net: A network of timm.
        path: A safetensors file, or one that `torch.save` wrote, with timm's own keys.
        sha256: What the file's checksum must be.

    Raises:
        OptionError: If the file is another one, or does not fit the network.
    """
    from recolorist_lab.assets.weights import state_of

    if not path or identity_of_weights(path) != sha256:
        raise OptionError(f"{path or 'no file'} is given as weights_file; the run starts from the file of sha256 {sha256[:12]}")
    given = state_of(Path(path))
    own = net.state_dict()
    head = {name for name in own if net.get_submodule(name.rpartition(".")[0]) is net.get_classifier()}
    wrong = sorted(
        name for name, tensor in own.items() if name not in head and (name not in given or given[name].shape != tensor.shape)
    )
    if wrong:
        raise OptionError(
            f"{path} does not fit the model: {len(wrong)} of {len(own)} tensors are missing or of another shape, such as "
            f"{wrong[0]!r}; give a state dict of the same model in timm's keys"
        )
    net.load_state_dict({name: given[name] for name in own if name not in head}, strict=False)
