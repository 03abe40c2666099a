"""Start a training with parts that were trained before."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.baselines import registry, store
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.pretrained import ready

__all__ = ["begin_with"]


def begin_with(model: Baseline, source: str | Path) -> tuple[str, ...]:
    """Give the model every part that it trains and that ``source`` has too.

    A part is taken if it has the same name in both; then every tensor of it must fit, or nothing is taken. AdaIN, EFDM, SANet,
    MAST, IEContrAST and StyTr2 have one decoder in common, so any of them can begin with another's.

    Args:
        model: The network.
        source: A file of weights written here, of whatever method, or the name of a method with published weights.

    Returns:
        The names of the parts.

    Raises:
        OptionError: They have no part in common.
    """
    tensors = _tensors_of(source)
    parts = {name.partition("/")[0] for name in tensors}
    common = [part for part in model.trained_parts() if part in parts]
    if not common:
        raise OptionError(
            f"{source} contains {', '.join(sorted(parts))} and {model.name} trains "
            f"{', '.join(model.trained_parts()) or 'nothing'}; give weights with at least one of these parts"
        )
    common_tensors = {name: value for name, value in tensors.items() if name.partition("/")[0] in common}
    store.put(model, common_tensors, common, f"{', '.join(common)} in {source}")
    model.started = MappingProxyType({part: _digest(store.named_tensors(model, [part])) for part in common})
    return tuple(common)


def _tensors_of(source: str | Path) -> dict[str, Tensor]:
    if str(source) not in registry.METHODS:
        return store.read(Path(source))[0]
    published = ready(str(source))
    return store.named_tensors(published, published.trained_parts())


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Hash every bit of a part, unlike the fingerprints of frozen networks."""
    return hashlib.sha256(store.packed(tensors, {})).hexdigest()[:16]
