"""Start a classifier from a file of weights, such as ImageNet's. The file is identified by its checksum."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from recolorist.errors import OptionError

__all__ = ["identity_of_weights", "load_weights"]

_MARK: Final = "_conv_stem.weight"  # the first tensor of every EfficientNet of that package


def identity_of_weights(path: str | Path) -> str:
    """Hash a file of weights; a run is identified by it.

    Args:
        path: The file.

    Returns:
        The sha256 in hexadecimal.

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
        path: A safetensors file, or one that `torch.save` wrote, with timm's own keys or those of EfficientNet-PyTorch. A file
            that is not there is looked for in the folder that RECOLORIST_WEIGHTS names.
        sha256: What the file's checksum must be.

    Raises:
        OptionError: If the file is another one, or does not fit the network.
    """
    from recolorist_lab.assets.weights import state_of

    file = _find(path)
    if not path or identity_of_weights(file) != sha256:
        raise OptionError(f"{path or 'no file'} is given as weights_file; the run starts from the file of sha256 {sha256[:12]}")
    expected = net.state_dict()
    loaded = _in_keys_of(expected, state_of(file))
    head = {name for name in expected if net.get_submodule(name.rpartition(".")[0]) is net.get_classifier()}
    wrong = sorted(
        name
        for name, tensor in expected.items()
        if name not in head and (name not in loaded or loaded[name].shape != tensor.shape)
    )
    if wrong:
        raise OptionError(
            f"{path} does not fit the model: {len(wrong)} of {len(expected)} tensors are missing or of another shape, such as "
            f"{wrong[0]!r}; the file has others, such as {min(loaded, default='nothing')!r}. Give --model the file's network "
            "and the file in timm's keys, as timm.create_model(name, pretrained=True).state_dict() has them"
        )
    net.load_state_dict({name: loaded[name] for name in expected if name not in head}, strict=False)


def _find(path: str) -> Path:
    """Return the file at a path, or else the file of that name in the folder that RECOLORIST_WEIGHTS names."""
    folder = os.environ.get("RECOLORIST_WEIGHTS")
    return Path(folder) / path if folder and not Path(path).is_file() else Path(path)


def _in_keys_of(expected: Mapping[str, Any], loaded: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rename the tensors of a file with the layout of EfficientNet-PyTorch, which holds them in timm's order."""
    if _MARK not in loaded or len(loaded) != len(expected):
        return loaded
    pairs = list(zip(expected, loaded, strict=True))
    if any(name.rpartition(".")[2] != key.rpartition(".")[2] for name, key in pairs):
        return loaded
    return {name: loaded[key] for name, key in pairs}
