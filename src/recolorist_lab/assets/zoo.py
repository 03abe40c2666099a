"""The authors' 57 published checkpoints, by name; and any folder of the same layout, such as the files our own runs keep.

On the Hugging Face Hub each is a repository of its own, `sdoerrich97/colorist_densenet121_<dataset>_s<seed>`, with
`model.safetensors` (plain keys of timm) and `config.json`. Here they come from a local folder with sub-folders of those names,
from the cache, or from the Hub. They are read as safetensors only, every key must fit, and no code is run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from recolorist.errors import RecoloristError
from recolorist_lab.runs.config import unknown
from recolorist_lab.runs.seeds import SEEDS

__all__ = ["CHECKPOINTS", "CONFIG", "THEIR_DATASETS", "WEIGHTS", "Checkpoint", "ZooError", "find", "read_config"]

OWNER: Final = "sdoerrich97"
FOLDER: Final = "RECOLORIST_ZOO"  #: the environment variable that names a folder of checkpoints
WEIGHTS, CONFIG = "model.safetensors", "config.json"
_FILES: Final = (WEIGHTS, CONFIG)
_AT_MOST: Final = 1 << 30
_RECORD: Final = "fetched.json"  # revision and checksums of what was downloaded, in the folder of the checkpoint
_NAME: Final = re.compile(r"[\w.-]+")
_PARTS: Final = "parts"  # files that are not complete or not yet checked
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")

#: The datasets as the authors name them.
THEIR_DATASETS: Final = (
    "camelyon17wilds",
    "epistr",
    "pathmnist",
    "fitzpatrick17k",
    "ddi",
    "dermamnist",
    "bone_marrow_smears_and_peripheral_blood",
    "peripheral_blood",
    "bloodmnist",
    "tissuemnist",
    "retina",
    "retinamnist",
    "octmnist",
    "chestmnist",
    "pneumoniamnist",
    "breastmnist",
    "organamnist",
    "organcmnist",
    "organsmnist",
)
#: Our names of the datasets that the authors call otherwise.
DATASETS: Final = MappingProxyType({"camelyon17wilds": "camelyon17", "bone_marrow_smears_and_peripheral_blood": "bone_marrow"})


class ZooError(RecoloristError):
    """A checkpoint that is missing here, or does not fit."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One of the 57: the authors' name of the dataset, and the seed."""

    their_dataset: str
    seed: int

    @property
    def dataset(self) -> str:
        """The dataset as we call it.

        >>> Checkpoint("camelyon17wilds", 71397589).dataset
        'camelyon17'
        """
        return DATASETS.get(self.their_dataset, self.their_dataset)

    @property
    def name(self) -> str:
        """What it is called here, and the last part of its address.

        >>> Checkpoint("ddi", 71397589).name
        'colorist_densenet121_ddi_s71397589'
        """
        return f"colorist_densenet121_{self.their_dataset}_s{self.seed}"

    @property
    def repository(self) -> str:
        """Owner and name on the Hub."""
        return f"{OWNER}/{self.name}"


#: All of them by name.
CHECKPOINTS: Final[Mapping[str, Checkpoint]] = MappingProxyType(
    {checkpoint.name: checkpoint for dataset in THEIR_DATASETS for seed in SEEDS for checkpoint in [Checkpoint(dataset, seed)]}
)


# ---- finding ----------------------------------------------------------------------------------------------------------------


def find(name: str, folder: str | Path | None = None, *, revision: str | None = None) -> Path:
    """Find the folder of a checkpoint: in the folder given, in the cache, or on the Hub.

    Args:
        name: One of the 57, a folder below ``folder``, or a folder itself.
        folder: Folder of checkpoints by name; by default RECOLORIST_ZOO.
        revision: Commit, tag or branch to download; by default the commit of an earlier download.

    Returns:
        A folder with `model.safetensors` and `config.json`.

    Raises:
        ZooError: The checkpoint is nowhere here and cannot be downloaded, or the cache holds another revision of it.
    """
    if _complete(Path(name)):
        return Path(name)
    named = folder or os.environ.get(FOLDER)
    if named and _NAME.fullmatch(name) and _complete(Path(named) / name):
        return Path(named) / name
    if name not in CHECKPOINTS:
        where = f" below {named}" if named else ""
        unknown([name], CHECKPOINTS, f"{name!r} is no folder with {' and '.join(_FILES)}{where}, and as a checkpoint of the zoo")
    cached = _cache() / name
    if _complete(cached):
        _refuse_other_revision(cached, revision)
        return cached
    if os.environ.get("RECOLORIST_OFFLINE", "0") not in ("", "0"):
        raise ZooError(
            f"{name} is not here; put {' and '.join(_FILES)} of {CHECKPOINTS[name].repository} into {cached}, or name the folder "
            f"that holds {name} with --folder or {FOLDER}"
        )
    return _download(CHECKPOINTS[name], cached, revision)


def _complete(folder: Path) -> bool:
    return all((folder / file).is_file() for file in _FILES)


def _cache() -> Path:
    from recolorist_lab.assets.weights import cache_folder

    return cache_folder() / "zoo"


def _read_record(target: Path) -> dict[str, Any]:
    path = target / _RECORD
    return read_config(path) if path.exists() else {}


def _refuse_other_revision(target: Path, revision: str | None) -> None:
    record = _read_record(target)
    if revision is not None and revision not in (record.get("revision"), record.get("asked")):
        present = record.get("revision", "of an unknown revision")
        raise ZooError(f"{target} holds {present}, and {revision} was asked for; remove the folder to download it")


def _download(checkpoint: Checkpoint, target: Path, revision: str | None) -> Path:
    """Fetch both files of one commit. Their checksums are not published; those of the first download are recorded."""
    from huggingface_hub.errors import HFValidationError

    from recolorist.io.files import atomic_write

    record = _read_record(target)
    requested = revision or record.get("revision")
    if not requested:
        raise ZooError(
            f"no revision of {checkpoint.repository} is recorded; name one with --revision: a commit or tag of its page on the "
            "Hub, or 'main' for the newest, whose commit is then recorded"
        )
    try:
        commit = _resolve(checkpoint, requested)
        facts = {file: _fetch(checkpoint, file, commit, target) for file in reversed(_FILES)}  # the small one first
    except (HFValidationError, OSError) as error:
        message = " ".join(str(error).split())
        raise ZooError(f"{checkpoint.repository} at {requested} could not be downloaded: {message}") from error
    if record.get("revision") == commit and record.get("files", facts) != facts:
        raise ZooError(f"{checkpoint.repository} at {commit} is not what it was at its first download; it is not accepted")
    atomic_write(target / _RECORD, json.dumps({"revision": commit, "asked": requested, "files": facts}, indent=2).encode())
    for file in _FILES:
        (target / _PARTS / file).replace(target / file)
    shutil.rmtree(target / _PARTS)
    return target


def _resolve(checkpoint: Checkpoint, revision: str) -> str:
    """Return the commit that a tag or branch names now."""
    from huggingface_hub import hf_hub_download

    if _COMMIT.fullmatch(revision):
        return revision
    file = hf_hub_download(checkpoint.repository, _FILES[1], revision=revision, token=False, endpoint=_endpoint(), dry_run=True)
    return file.commit_hash


def _fetch(checkpoint: Checkpoint, file: str, commit: str, target: Path) -> str:
    """Download a file beside its place, and return its checksum."""
    from huggingface_hub import hf_hub_download

    from recolorist_lab.progress import bytes_bar

    where: Any = {"repo_id": checkpoint.repository, "filename": file, "revision": commit, "token": False, "endpoint": _endpoint()}
    size = hf_hub_download(**where, dry_run=True).file_size
    if size is None or size > _AT_MOST:
        raise ZooError(f"{file} of {checkpoint.repository} has {size} bytes; accepted are at most {_AT_MOST}")
    path = Path(hf_hub_download(**where, local_dir=target / _PARTS))
    if not sys.stderr.isatty():  # on a terminal the Hub's own client shows a bar
        with bytes_bar() as tick:
            tick(file, size, size)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _endpoint() -> str | None:
    """A mirror of the Hub, if one is named; None is the Hub itself."""
    return os.environ.get("HF_ENDPOINT") or None


def read_config(path: Path) -> dict[str, Any]:
    """Read a table from a JSON file.

    Args:
        path: The file.

    Returns:
        The table.

    Raises:
        ZooError: The file cannot be read, or holds something else.
    """
    try:
        table = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ZooError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(table, dict):
        raise ZooError(f"{path} holds {type(table).__name__}; expected is a table; download it again")
    return table
