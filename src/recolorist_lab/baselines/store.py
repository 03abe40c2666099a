"""Files of trained or converted weights: safetensors with a description from which the model is made again."""

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
    """Write parts of a model; the file appears complete or not at all.

    Args:
        model: The network.
        path: The file.
        parts: Names of parts; the trained ones where it is None.
        about: Facts to store beside them.

    Returns:
        The path.
    """
    return atomic_write(path, file_of(model, parts=parts, about=about))


def file_of(model: Baseline, *, parts: Iterable[str] | None = None, about: Mapping[str, Any] | None = None) -> bytes:
    """Make the bytes that :func:`save` writes.

    Args:
        model: The network.
        parts: Names of parts; the trained ones where it is None.
        about: Facts to store beside them.

    Returns:
        The bytes.

    Raises:
        OptionError: The model was not made by the registry.
    """
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
    """Load the model that a file holds.

    Args:
        path: The file.
        device: Where to put it.
        options: Replace those it was saved with, such as ``alpha``.

    Returns:
        The model.

    Raises:
        LayoutError: The file is not one of ours, or does not fit.
    """
    return made_of(str(path), *read(path), device=device, **options)


def made_of(
    source: str, tensors: Mapping[str, Tensor], description: Mapping[str, Any], *, device: str = "cpu", **options: Any
) -> Baseline:
    """Make the model that tensors and their description specify.

    Args:
        source: What to call the tensors in an error.
        tensors: Tensors as ``part/name``.
        description: How the model was made.
        device: Where to put it.
        options: Replace those it was saved with.

    Returns:
        The model.

    Raises:
        LayoutError: They do not fit.
    """
    options_kept = {name: tuple(value) if isinstance(value, list) else value for name, value in description["options"].items()}
    model = registry.build(
        description["method"], encoder=description["encoder"], seed=description["seed"], **{**options_kept, **options}
    )
    put(model, tensors, description["parts"], source)
    for part, expected in description["frozen"].items():
        if part not in model.training_only and fingerprint(model.parts()[part]) != expected:
            raise layout.LayoutError(
                f"{source} was trained with another {part} (fingerprint {expected}) than the present one; "
                "use the same, or train again"
            )
    return model.to(device)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a file of weights.

    Args:
        path: The file.

    Returns:
        The tensors and the description.

    Raises:
        LayoutError: The file is not one of ours.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}") from error
    tensors, description = unpacked(data, str(path))
    if description.get("format") != FORMAT:
        format_ = description.get("format")
        raise layout.LayoutError(
            f"{path} says it is {format_!r}; accepted is {FORMAT!r}, as `baseline train` and `convert` write it"
        )
    return tensors, description


def put(model: Baseline, tensors: Mapping[str, Tensor], parts: Iterable[str], source: str) -> None:
    """Load named tensors into parts of a model; refuse missing and surplus ones.

    Args:
        model: The network.
        tensors: Tensors as ``part/name``.
        parts: Names of the parts.
        source: What to call the tensors in an error.

    Raises:
        LayoutError: They do not fit.
    """
    names = tuple(parts)
    modules = model.parts()
    for name in names:
        if name not in modules:
            raise layout.LayoutError(f"{source} holds the part {name!r}; {model.name} has {', '.join(modules)}")
    layout.check(tensors, named_tensors(model, names), source)
    for name in names:
        start = f"{name}/"
        state = {key[len(start) :]: value for key, value in tensors.items() if key.startswith(start)}
        layout.load(modules[name], state, f"{name} in {source}")


def named_tensors(model: Baseline, parts: Iterable[str]) -> dict[str, Tensor]:
    """Collect the tensors of some parts.

    Args:
        model: The network.
        parts: Names of the parts.

    Returns:
        Tensors as ``part/name``.
    """
    modules = model.parts()
    return {f"{part}/{name}": value.detach() for part in parts for name, value in modules[part].state_dict().items()}


def frozen_prints(model: Baseline, but: Iterable[str] = ()) -> dict[str, str]:
    """Fingerprint the parts that are not trained.

    Args:
        model: The network.
        but: Parts to leave out.

    Returns:
        Fingerprints by part.
    """
    skipped = set(but)
    return {
        name: fingerprint(part)
        for name, part in model.parts().items()
        if name not in model.trained_parts() and name not in skipped and _has_tensors(part)
    }


def packed(tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> bytes:
    """Write tensors and a JSON document as one safetensors file; equal content gives equal bytes.

    Args:
        tensors: Tensors by name.
        description: The document.

    Returns:
        The bytes.
    """
    from safetensors.torch import save as to_bytes

    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    apart = {name: value.clone() for name, value in plain.items()}  # the format refuses tensors that share memory
    return seal_weights(bytes(to_bytes(apart, metadata={"json": json.dumps(description, sort_keys=True, allow_nan=False)})))


def unpacked(data: bytes, source: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`packed` wrote.

    Args:
        data: The bytes of the file.
        source: What to call the file in an error.

    Returns:
        The tensors and the document.

    Raises:
        LayoutError: The bytes are something else.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load as from_bytes

    verify_weights(data, source)
    try:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        description = json.loads(header["__metadata__"]["json"])
        tensors = from_bytes(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise layout.LayoutError(
            f"{source} is not a weight file of `baseline train` or `baseline convert` ({type(error).__name__}: {error})"
        ) from error
    if not isinstance(description, dict):
        raise layout.LayoutError(
            f"{source} has no description of its model; accepted are files of `baseline train` and `baseline convert`"
        )
    return tensors, description


def _has_tensors(part: nn.Module) -> bool:
    return next(iter(part.state_dict().values()), None) is not None
