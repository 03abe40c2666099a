"""Weights of the networks that measure and of those that stylise: found, downloaded, checked, and read in this one place.

A file is looked for in the folder that ``RECOLORIST_WEIGHTS`` names, then in the cache (``RECOLORIST_CACHE``, or the platform's),
then where torch keeps its downloads. If it is in none of them, it is downloaded from its official address. Size and SHA-256 are
checked before a byte of it is used. ``RECOLORIST_OFFLINE=1`` forbids downloads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from recolorist.errors import OptionError
from recolorist_lab.assets.seals import verify_weights
from recolorist_lab.assets.torch_files import digest_of, plain_tensors, read_torch_file
from recolorist_lab.assets.weight_downloads import download
from recolorist_lab.assets.weight_table import WEIGHTS, DownloadError, WeightFile, WeightsError
from recolorist_lab.disk import cache_folder

if TYPE_CHECKING:
    import torch

    from recolorist_lab.assets.download import Link
    from recolorist_lab.progress import Tick

__all__ = [
    "WEIGHTS",
    "DownloadError",
    "WeightFile",
    "WeightsError",
    "cache_folder",
    "find_weights",
    "identity",
    "path_of",
    "state_of",
]


def path_of(name: str, *, link: Link | None = None, tick: Tick | None = None) -> Path:
    """Return where the checked file is, downloading it if it is not on this machine.

    The file may be a larger published one that holds the same tensors; :func:`state_of` takes the right ones.

    Args:
        name: A key of the table of weights.
        link: How to download; None for the usual way.
        tick: Called with the number of bytes that arrived.

    Returns:
        The path of a file whose checksum is right.

    Raises:
        OptionError: There is no such name.
    """
    return _placed(name, link, tick)[1]


def find_weights(name: str) -> Path | None:
    """Find a file of weights, or the one to use instead, and check it. Nothing is downloaded.

    Args:
        name: The name.

    Returns:
        Its path; None where it is not here.

    Raises:
        WeightsError: The file is not the one in the table.
    """
    place = _find(name)
    return None if place is None else place[1]


def state_of(name_or_path: str | Path, *, part: str | None = None) -> dict[str, torch.Tensor]:
    """Read the tensors of a file of the table, or of any file.

    Nothing but tensors is ever unpickled.

    Args:
        name_or_path: A key of the table of weights, or a path.
        part: The entry to take from a checkpoint that holds several dictionaries.

    Returns:
        The tensors by name, on the CPU, floating-point ones as float32.

    Raises:
        WeightsError: The file is damaged, or holds anything but tensors.
    """
    if isinstance(name_or_path, str) and (name_or_path in WEIGHTS or not Path(name_or_path).suffix):
        name = name_or_path
        entry, (used, path) = WEIGHTS[_refuse_unknown(name)], _placed(name, None, None)
        keys = re.compile(entry.keys if used != name else ".*")
        return {key: value for key, value in _read(path, part).items() if keys.fullmatch(key)}
    return _read(Path(name_or_path), part)


def identity(name: str) -> str:
    """Return a text that identifies these weights, whichever file they come from.

    Args:
        name: A key of the table of weights.

    Returns:
        The name and the start of the checksum; part of the key of everything that is cached.

    Raises:
        OptionError: There is no such name.

    Example:
        >>> identity("fid_inception")
        'fid_inception:ed45cb790e0d3eb2'
    """
    return f"{name}:{WEIGHTS[_refuse_unknown(name)].sha256[:16]}"


# ---- finding ----------------------------------------------------------------------------------------------------------------


def _refuse_unknown(name: str) -> str:
    if name not in WEIGHTS:
        raise OptionError(f"weights {name!r} are not known; known are {', '.join(WEIGHTS)}, and paths of files")
    return name


def _choices(name: str) -> tuple[str, ...]:
    return (_refuse_unknown(name), *WEIGHTS[name].instead)


def _find(name: str) -> tuple[str, Path] | None:
    """Return which file can be used, and where it is on this machine."""
    for choice in _choices(name):
        for path in _candidates(choice):
            if path.is_file():
                return choice, _checked(WEIGHTS[choice], path)
    return None


def _placed(name: str, link: Link | None, tick: Tick | None) -> tuple[str, Path]:
    """Return what :func:`_find` does, and download the file if it is in none of the folders."""
    if place := _find(name):
        return place
    source = next((choice for choice in _choices(name) if WEIGHTS[choice].address), None)
    if source is None:
        raise WeightsError(f"{_missing(name)}; it has no address to download it from")
    return source, _download(name, source, link, tick)


def _candidates(name: str) -> Iterator[Path]:
    """Every path at which a file may lie, in the order in which they are tried."""
    file = WEIGHTS[name]
    named = os.environ.get("RECOLORIST_WEIGHTS")
    if named and not Path(named).expanduser().is_dir():
        raise WeightsError(f"RECOLORIST_WEIGHTS names {named}, which is not a folder; correct it or unset it")
    folders = [Path(named).expanduser()] if named else []
    folders += [_own_folder(name), _torch_folder()]
    for folder in folders:
        for called in (file.file, *file.names):
            yield folder / called


def _own_folder(name: str) -> Path:
    """One folder per file, so that the records of two downloads at once cannot overwrite each other."""
    return cache_folder() / "weights" / name


def _torch_folder() -> Path:
    """Where ``torch.hub`` keeps what it downloaded: the same files under the same names."""
    home = os.environ.get("TORCH_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "torch"
    return Path(home).expanduser() / "hub" / "checkpoints"


def _missing(name: str) -> str:
    """Describe which file is needed, its checksum, and where to put it."""
    file, default = WEIGHTS[name], _own_folder(name)
    size = "" if file.bytes is None else f"{file.bytes:,} bytes, "
    alternatives = "".join(f", or {WEIGHTS[other].file} (sha256 {WEIGHTS[other].sha256}…)" for other in file.instead)
    place = f"{default}, or into a folder that RECOLORIST_WEIGHTS names"
    return f"{file.what}: {file.file} ({size}sha256 {file.sha256}){alternatives} is needed and was not found; put it into {place}"


# ---- downloading and checking -----------------------------------------------------------------------------------------------


def _download(name: str, source: str, link: Link | None, tick: Tick | None) -> Path:
    file = WEIGHTS[source]
    try:
        return _checked(file, download(file, _own_folder(source), link, tick))
    except DownloadError as error:
        raise WeightsError(f"{_missing(name)}; {error}") from error


def _checked(file: WeightFile, path: Path) -> Path:
    size = path.stat().st_size
    if file.bytes is not None and size != file.bytes:
        raise WeightsError(f"{path} has {size:,} bytes and should have {file.bytes:,}; remove it, or put the right file there")
    digest = _digest(path, size, path.stat().st_mtime_ns)
    if not digest.startswith(file.sha256):
        raise WeightsError(
            f"{path} has the sha256 {digest} and should have {file.sha256}; remove it, or put the right file there"
        )
    return path


@lru_cache(maxsize=64)
def _digest(path: Path, _size: int, _changed: int) -> str:
    """Return the checksum of a file; computed once per process and version of the file."""
    return digest_of(path)


# ---- reading ----------------------------------------------------------------------------------------------------------------


def _read(path: Path, part: str | None) -> dict[str, torch.Tensor]:
    if not path.is_file():
        raise WeightsError(f"{path} is not a file; weights are read from .pth, .pt, .bin and .safetensors files")
    return plain_tensors(_read_safetensors(path), part, path) if path.suffix == ".safetensors" else read_torch_file(path, part)


def _read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    data = path.read_bytes()
    verify_weights(data, str(path))
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"{path} cannot be read as weights: {type(error).__name__}: {str(error)[:200]}") from error
