"""Files of trained or converted weights: safetensors, with what is needed to make the model again written inside."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist.io.files import atomic_write
from recolorist_lab.assets.seals import seal_weights, verify_weights
from recolorist_lab.baselines import layout, registry
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.vgg import fingerprint

__all__ = ["FORMAT", "file_of", "frozen_prints", "load", "made_of", "named_tensors", "packed", "put", "read", "save", "unpacked"]

FORMAT: Final = "recolorist.baseline/1"


def save(model: Baseline, path: Path, *, parts: Iterable[str] | None = None, about: Mapping[str, Any] | None = None) -> Path:
    """Write parts of a model (the trained ones unless told), whole or not at all."""
    return atomic_write(path, file_of(model, parts=parts, about=about))


def file_of(model: Baseline, *, parts: Iterable[str] | None = None, about: Mapping[str, Any] | None = None) -> bytes:
    """What :func:`save` writes."""
    made = model.made
    if made is None:
        raise OptionError(f"this {model.name} was not made by build(), so a file could not say how to make it again")
    names = tuple(parts) if parts is not None else model.trained_parts()
    description = {
        "format": FORMAT,
        "method": made.method,
        "encoder": made.encoder,
        "seed": made.seed,
        "options": dict(made.options),
        "parts": list(names),
        "frozen": frozen_prints(model, but=names),
        "about": dict(about or {}),
    }
    return packed(named_tensors(model, names), description)


def load(path: Path, *, device: str = "cpu", **options: Any) -> Baseline:
    """The model a file holds; ``options`` replace those it was saved with (``alpha``, say)."""
    return made_of(str(path), *read(path), device=device, **options)


def made_of(
    what: str, tensors: Mapping[str, Tensor], description: Mapping[str, Any], *, device: str = "cpu", **options: Any
) -> Baseline:
    """The model that tensors and their description stand for."""
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in description["options"].items()}
    model = registry.build(
        description["method"], encoder=description["encoder"], seed=description["seed"], **{**given, **options}
    )
    put(model, tensors, description["parts"], what)
    for part, wanted in description["frozen"].items():
        if part not in model.training_only and fingerprint(model.parts()[part]) != wanted:
            raise layout.LayoutError(
                f"{what} was trained beside another {part} (fingerprint {wanted}) than the one that is here; "
                "use the same, or train again"
            )
    return model.to(device)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file and what it says of itself."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}") from error
    tensors, description = unpacked(data, str(path))
    if description.get("format") != FORMAT:
        came = description.get("format")
        raise layout.LayoutError(
            f"{path} says it is {came!r}; accepted is {FORMAT!r}, as `baseline train` and `convert` write it"
        )
    return tensors, description


def put(model: Baseline, tensors: Mapping[str, Tensor], parts: Iterable[str], what: str) -> None:
    """Load named tensors into the parts; nothing may be missing or left over."""
    names = tuple(parts)
    held = model.parts()
    for name in names:
        if name not in held:
            raise layout.LayoutError(f"{what} holds the part {name!r}; {model.name} has {', '.join(held)}")
    layout.check(tensors, named_tensors(model, names), what)
    for name in names:
        start = f"{name}/"
        state = {key[len(start) :]: value for key, value in tensors.items() if key.startswith(start)}
        layout.load(held[name], state, f"{name} in {what}")


def named_tensors(model: Baseline, parts: Iterable[str]) -> dict[str, Tensor]:
    """Every tensor of these parts as ``part/name``."""
    held = model.parts()
    return {f"{part}/{name}": value.detach() for part in parts for name, value in held[part].state_dict().items()}


def frozen_prints(model: Baseline, but: Iterable[str] = ()) -> dict[str, str]:
    """Fingerprints of the parts that are not trained, except those named."""
    left = set(but)
    return {
        name: fingerprint(part)
        for name, part in model.parts().items()
        if name not in model.trained_parts() and name not in left and _has_tensors(part)
    }


def packed(tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> bytes:
    """Tensors and a JSON document as one safetensors file; equal content gives equal bytes."""
    from safetensors.torch import save as to_bytes

    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    apart = {name: value.clone() for name, value in plain.items()}  # the format refuses tensors that share memory
    return seal_weights(bytes(to_bytes(apart, metadata={"json": json.dumps(description, sort_keys=True, allow_nan=False)})))


def unpacked(data: bytes, what: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`packed` made a file of."""
    from safetensors import SafetensorError
    from safetensors.torch import load as from_bytes

    verify_weights(data, what)
    try:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        description = json.loads(header["__metadata__"]["json"])
        tensors = from_bytes(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise layout.LayoutError(f"{what} is not a file of weights written here ({type(error).__name__}: {error})") from error
    if not isinstance(description, dict):
        raise layout.LayoutError(f"{what} says nothing of itself")
    return tensors, description


def _has_tensors(part: nn.Module) -> bool:
    return next(iter(part.state_dict().values()), None) is not None
