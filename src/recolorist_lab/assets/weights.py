"""Weights of the networks that measure and of those that stylise: found, downloaded, checked, and read in this one place.

A file is looked for in the folder that ``RECOLORIST_WEIGHTS`` names, then in the cache (``RECOLORIST_CACHE``, or the platform's),
then where torch keeps its own downloads, and is downloaded from its official address last. Size and SHA-256 are checked before a
byte of it is used. ``RECOLORIST_OFFLINE=1`` forbids downloads.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recolorist.errors import OptionError
from recolorist_lab.assets.seals import SealError, verify_weights
from recolorist_lab.assets.weight_downloads import download
from recolorist_lab.assets.weight_table import WEIGHTS, DownloadError, WeightFile, WeightsError
from recolorist_lab.disk import cache_folder

if TYPE_CHECKING:
    import torch

    from recolorist_lab.assets.download import Link
    from recolorist_lab.progress import Tick

__all__ = ["WEIGHTS", "DownloadError", "WeightFile", "WeightsError", "cache_folder", "found", "identity", "path_of", "state_of"]

_CHUNK: Final = 1 << 20


def path_of(name: str, *, link: Link | None = None, tick: Tick | None = None) -> Path:
    """Where the checked file lies, downloading it if it lies nowhere.

    The answer may be the larger published file that holds the same tensors; :func:`state_of` knows which to take.
    """
    return _placed(name, link, tick)[1]


def found(name: str) -> Path | None:
    """Where the file (or the one to take instead) lies on this machine, checked; None if nowhere. Nothing is downloaded."""
    here = _here(name)
    return None if here is None else here[1]


def state_of(name_or_path: str | Path, *, part: str | None = None) -> dict[str, torch.Tensor]:
    """The tensors of a file of the table, or of any file: on the CPU, floating-point ones as float32.

    ``part`` opens one entry of a checkpoint that holds several dictionaries. Nothing but tensors is ever unpickled.
    """
    if isinstance(name_or_path, str) and (name_or_path in WEIGHTS or not Path(name_or_path).suffix):
        name = name_or_path
        wanted, (came, path) = WEIGHTS[_known(name)], _placed(name, None, None)
        keys = re.compile(wanted.keys if came != name else ".*")
        return {key: value for key, value in _read(path, part).items() if keys.fullmatch(key)}
    return _read(Path(name_or_path), part)


def identity(name: str) -> str:
    """What tells these weights from others, whichever file they come from: part of the key of everything cached.

    >>> identity("fid_inception")
    'fid_inception:ed45cb790e0d3eb2'
    """
    return f"{name}:{WEIGHTS[_known(name)].sha256[:16]}"


# ---- finding ----------------------------------------------------------------------------------------------------------------


def _known(name: str) -> str:
    if name not in WEIGHTS:
        raise OptionError(f"weights {name!r} are not known; known are {', '.join(WEIGHTS)}, and paths of files")
    return name


def _choices(name: str) -> tuple[str, ...]:
    return (_known(name), *WEIGHTS[name].instead)


def _here(name: str) -> tuple[str, Path] | None:
    """Which file serves, and where it lies on this machine."""
    for one in _choices(name):
        for path in _candidates(one):
            if path.is_file():
                return one, _checked(WEIGHTS[one], path)
    return None


def _placed(name: str, link: Link | None, tick: Tick | None) -> tuple[str, Path]:
    """The same, downloading it if it lies nowhere."""
    if here := _here(name):
        return here
    source = next((one for one in _choices(name) if WEIGHTS[one].address), None)
    if source is None:
        raise WeightsError(f"{_wanted(name)}; it has no address to download it from")
    return source, _download(name, source, link, tick)


def _candidates(name: str) -> Iterator[Path]:
    """Every path at which a file may lie, in the order in which they are tried."""
    file = WEIGHTS[name]
    told = os.environ.get("RECOLORIST_WEIGHTS")
    if told and not Path(told).expanduser().is_dir():
        raise WeightsError(f"RECOLORIST_WEIGHTS names {told}, which is not a folder; correct it or unset it")
    folders = [Path(told).expanduser()] if told else []
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


def _wanted(name: str) -> str:
    """Which file is wanted, how to tell it, where to put it."""
    file, own = WEIGHTS[name], _own_folder(name)
    size = "" if file.bytes is None else f"{file.bytes:,} bytes, "
    others = "".join(f", or {WEIGHTS[one].file} (sha256 {WEIGHTS[one].sha256}…)" for one in file.instead)
    place = f"{own}, or into a folder that RECOLORIST_WEIGHTS names"
    return f"{file.what}: {file.file} ({size}sha256 {file.sha256}){others} is wanted and not here; put it into {place}"


# ---- downloading and checking -----------------------------------------------------------------------------------------------


def _download(name: str, source: str, link: Link | None, tick: Tick | None) -> Path:
    file = WEIGHTS[source]
    try:
        return _checked(file, download(file, _own_folder(source), link, tick))
    except DownloadError as error:
        raise WeightsError(f"{_wanted(name)}; {error}") from error


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
    """Once per process and version of the file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


# ---- reading ----------------------------------------------------------------------------------------------------------------


def _read(path: Path, part: str | None) -> dict[str, torch.Tensor]:
    content = _unpacked(path)
    if part is not None:
        if not isinstance(content, Mapping) or part not in content:
            raise WeightsError(f"{path} has no part {part!r}; it has {_keys(content)}")
        content = content[part]
    return _plain(content, path)


def _unpacked(path: Path) -> Any:
    import torch

    if not path.is_file():
        raise WeightsError(f"{path} is not a file; weights are read from .pth, .pt, .bin and .safetensors files")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load

            data = path.read_bytes()
            verify_weights(data, str(path))
            return load(data)
        return torch.load(path, map_location="cpu", weights_only=True)  # noqa: TID251 - here and nowhere else; tensors only
    except SealError:
        raise
    except Exception as error:  # both raise whatever their parsers raise
        if type(error).__name__ == "UnpicklingError":  # torch's own message ends with the advice to load it unsafely
            raise WeightsError(
                f"{path} holds Python objects beside tensors, or is no file of weights; unpickling could run any code, so "
                "nothing but tensors is read. Ask its authors for a file of tensors alone (.safetensors, or a saved state dict)"
            ) from None
        first = str(error).strip().split("\n", 1)[0]
        raise WeightsError(f"{path} cannot be read as weights: {type(error).__name__}: {first[:200]}") from error


def _plain(content: Any, path: Path) -> dict[str, torch.Tensor]:
    import torch

    if not isinstance(content, Mapping) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise WeightsError(f"{path} is not one dictionary of tensors; it has {_keys(content)}: name the part that is wanted")
    return {
        str(key): (value.float() if value.is_floating_point() else value).detach().contiguous() for key, value in content.items()
    }


def _keys(content: Any) -> str:
    return ", ".join(map(str, list(content)[:20])) if isinstance(content, Mapping) else f"a {type(content).__name__}"
