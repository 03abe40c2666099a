"""Beginning a training with parts that somebody has trained already: less to learn, and a picture from the first step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.baselines import layout, registry, store
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.pretrained import ready

__all__ = ["begin_with"]


def begin_with(model: Baseline, source: str | Path) -> tuple[str, ...]:
    """Give the model every part it trains and ``source`` has too; the names of those parts.

    ``source`` is a file of weights written here, of whatever method, or the name of a method with published weights. A part is
    taken if it has the same name in both; then every tensor of it must fit, or nothing is taken. AdaIN, EFDM, SANet, MAST,
    IEContrAST and StyTr2 have one decoder in common, so any of them can begin with another's.
    """
    tensors = _tensors_of(source)
    held = {name.partition("/")[0] for name in tensors}
    common = [part for part in model.trained_parts() if part in held]
    if not common:
        raise OptionError(
            f"{source} holds {', '.join(sorted(held))} and {model.name} trains {', '.join(model.trained_parts()) or 'nothing'}; "
            "give weights that have a part in common with it"
        )
    states = {
        part: {name.partition("/")[2]: value for name, value in tensors.items() if name.startswith(f"{part}/")} for part in common
    }
    for part, state in states.items():  # all are checked before the first is loaded
        layout.check(state, model.parts()[part].state_dict(), f"{part} in {source}")
    for part, state in states.items():
        layout.load(model.parts()[part], state, f"{part} in {source}")
    model.started = MappingProxyType({part: _digest(state) for part, state in states.items()})
    return tuple(common)


def _tensors_of(source: str | Path) -> dict[str, Tensor]:
    if str(source) not in registry.METHODS:
        return store.read(Path(source))[0]
    published = ready(str(source))
    return store.named_tensors(published, published.trained_parts())


def _digest(state: Mapping[str, Tensor]) -> str:
    """Tells apart what training would: every bit, unlike the fingerprints of frozen networks."""
    return hashlib.sha256(store.packed(state, {})).hexdigest()[:16]
