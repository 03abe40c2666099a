"""Make networks that are ready to stylise: with weights trained or converted here, or with published ones."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recolorist.errors import OptionError
from recolorist_lab.baselines import layout, registry, store
from recolorist_lab.baselines.base import Baseline, OfficialFile
from recolorist_lab.runs.config import unknown

__all__ = ["convert", "digest_of", "git_blob_of", "ready"]

_CHUNK = 1 << 20


def ready(method: str, weights: Path | None = None, *, device: str = "cpu", **options: Any) -> Baseline:
    """Make a network that can stylise.

    Args:
        method: Its name.
        weights: A file of `baseline train` or `convert`; without it, published weights where the table of weights has them.
        device: Where it works.
        **options: Those of the network.

    Returns:
        The network in evaluation mode.

    Raises:
        OptionError: If there are no weights for it, or the file is another network's.
    """
    method = registry.name_of(method)
    if weights is not None:
        model = store.load(weights, device=device, **options)
        if model.made is None or model.made.method != method:
            raise OptionError(f"{weights} contains {model.name}, not {registry.METHODS[method].title}")
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
    """Read official files once, strictly, and write them as safetensors.

    Each file must be known beforehand, by its SHA-256 or the id that git gives it. These come from the network's table, or from
    ``checksums``, which go before the table. Frozen parts that are not among the files are taken to be those every network here
    uses.

    Args:
        method: The network.
        files: Official files by part.
        out: File to write.
        checksums: SHA-256 by part.
        **options: Those of the network.

    Returns:
        The SHA-256 of every file.

    Raises:
        OptionError: A part is unknown, or a file is not known, is another network's, or does not fit.
    """
    network = registry.class_of(method)
    official = {file.part: file for file in network.official}
    unknown(files, official, f"parts of {network.name}")
    digests = {part: digest_of(path) for part, path in files.items()}
    for part, digest in digests.items():
        if part in network.trained:
            _refuse_foreign(network, part, files[part], digest)
        _verify(official.get(part), part, files[part], digest, (checksums or {}).get(part))
    frozen = set(files) - set(network.trained)
    model = registry.build(method, encoder="random" if "encoder" in frozen else "auto", **options)
    model.load_official(files)
    store.save(
        model, out, parts=files, about={"converted_from": {part: path.name for part, path in files.items()}, "sha256": digests}
    )
    return digests


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    Args:
        path: The file.

    Returns:
        In hexadecimal.
    """
    return _hashed(path, hashlib.sha256())


def git_blob_of(path: Path) -> str:
    """Return the id that git gives a file's content, as ``git hash-object`` prints it.

    Args:
        path: The file.

    Returns:
        The id in hexadecimal.

    Raises:
        OptionError: The file cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as empty:
        ...     git_blob_of(Path(empty.name))
        'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}") from error
    return _hashed(path, hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False))


def _hashed(path: Path, state: Any) -> str:
    try:
        with path.open("rb") as stream:
            while block := stream.read(_CHUNK):
                state.update(block)
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}") from error
    return str(state.hexdigest())


def _refuse_foreign(network: type[Baseline], part: str, path: Path, digest: str) -> None:
    """Refuse a file of the table of weights that belongs to another network, even one with the same layout."""
    from recolorist_lab.assets.weights import WEIGHTS

    for name, file in WEIGHTS.items():
        if digest.startswith(file.sha256) and network.published.get(part) != name:
            raise OptionError(
                f"{path} is {file.file} ({file.what}), not the {part} of {network.name}; "
                "to begin a training with it, use `baseline train --start`"
            )


def _verify(file: OfficialFile | None, part: str, path: Path, digest: str, checksum: str | None) -> None:
    """Refuse a file whose checksum is not known or differs."""
    expected = checksum or (file.sha256 if file else None)
    if expected is None and file and file.git_blobs:
        blob = git_blob_of(path)
        if any(blob.startswith(start) for start in file.git_blobs):
            return
    if expected is None:
        raise OptionError(
            f"{'no git id of a released file matches' if file and file.git_blobs else 'no checksum is known for'} {part!r}; "
            f"{path} has the sha256 {digest}. If this is the right file, pass --sha256 {part}={digest}"
        )
    if digest != expected.lower():
        raise OptionError(
            f"{path} has the sha256 {digest} and {part!r} should have {expected}; this is another file, or it is "
            "damaged: download it again"
        )
