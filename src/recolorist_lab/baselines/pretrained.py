"""Models ready to stylise: with weights that were trained or converted here, or with published ones of the table of weights."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recolorist.errors import OptionError
from recolorist_lab.baselines import layout, registry, store
from recolorist_lab.baselines.base import Baseline, OfficialFile

__all__ = ["convert", "digest_of", "ready"]

_CHUNK = 1 << 20


def ready(method: str, weights: Path | None = None, *, device: str = "cpu", **options: Any) -> Baseline:
    """A model that can be used: from a file, or with published weights where the table of weights has them."""
    if weights is not None:
        model = store.load(weights, device=device, **options)
        if model.made is None or model.made.method != method:
            raise OptionError(f"{weights} holds {model.name}, not {registry.METHODS[method].title}")
        return model.eval()
    model = registry.build(method, **options)
    if model.published:
        from recolorist_lab.assets.weights import state_of

        for part, name in model.published.items():
            layout.load(model.parts()[part], model.from_official(part, state_of(name)), f"the published {part} of {model.name}")
    elif not model.works_untrained:
        raise OptionError(
            f"{model.name} has no published weights here; train it (recolorist-lab baseline train {method}), or convert official "
            f"files (recolorist-lab baseline convert {method}), and name the result with --weights"
        )
    return model.to(device).eval()


def convert(
    method: str, files: Mapping[str, Path], out: Path, *, checksums: Mapping[str, str] | None = None, **options: Any
) -> dict[str, str]:
    """Read official files once, strictly, and write them as safetensors; the checksums that were seen.

    Each file's SHA-256 must be known beforehand: from the method's table, or from ``checksums``, which goes before it. Frozen
    parts that are not among the files are taken to be those every method here uses.
    """
    known = {file.part: file for file in registry.class_of(method).official}
    seen = {part: digest_of(path) for part, path in files.items()}
    for part, digest in seen.items():
        _verified(known.get(part), part, files[part], digest, (checksums or {}).get(part))
    frozen = set(files) - set(registry.class_of(method).trained)
    model = registry.build(method, encoder="random" if "encoder" in frozen else "auto", **options)
    model.load_official(files)
    store.save(
        model, out, parts=files, about={"converted_from": {part: path.name for part, path in files.items()}, "sha256": seen}
    )
    return seen


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_CHUNK):
                found.update(block)
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}") from error
    return found.hexdigest()


def _verified(file: OfficialFile | None, part: str, path: Path, digest: str, told: str | None) -> None:
    wanted = told or (file.sha256 if file else None)
    if wanted is None:
        raise OptionError(
            f"no checksum is known for {part!r}; {path} has the sha256 {digest}. "
            f"If that is the one you mean, pass --sha256 {part}={digest}"
        )
    if digest != wanted.lower():
        raise OptionError(f"{path} has the sha256 {digest} and {part!r} should have {wanted}; it is another file, or damaged")
