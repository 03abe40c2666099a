"""The authors' 57 published checkpoints, by name; and any folder of the same layout, such as the files our own runs keep.

On the Hugging Face Hub each is a repository of its own, `sdoerrich97/colorist_densenet121_<dataset>_s<seed>`, with
`model.safetensors` (plain keys of timm) and `config.json`. Here they come from a local folder of folders by those names, from the
cache, or from the Hub; they are read as safetensors only, strictly, and never run code.

What a checkpoint leaves unsaid is filled in and said so: classes from the head's shape, mean and deviation from the training
split it is evaluated with.
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
from typing import TYPE_CHECKING, Any, Final

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.paper import numbers as paper
from recolorist_lab.runs.config import Json, unknown
from recolorist_lab.runs.seeds import SEEDS

if TYPE_CHECKING:
    from recolorist_lab.training.models import Classifier

__all__ = ["CHECKPOINTS", "Checkpoint", "Loaded", "ZooError", "evaluate", "find", "load"]

OWNER: Final = "sdoerrich97"
FOLDER: Final = "RECOLORIST_ZOO"  #: the environment variable that names a folder of checkpoints
_FILES: Final = ("model.safetensors", "config.json")
_AT_MOST: Final = 1 << 30
_RECORD: Final = "fetched.json"  # revision and checksums of what was downloaded, in the folder of the checkpoint
_ARCHITECTURE: Final = ("architecture", "model", "model_name", "arch", "backbone")
_NAME: Final = re.compile(r"[\w.-]+")
_PARTS: Final = "parts"  # files that are not complete or not yet checked
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")

#: Our names of the datasets that the authors call otherwise.
DATASETS: Final = MappingProxyType({"camelyon17wilds": "camelyon17", "bone_marrow_smears_and_peripheral_blood": "bone_marrow"})


class ZooError(RecoloristError):
    """A checkpoint that is not to be had here, or is not what it should be."""


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

    @property
    def printed(self) -> paper.Accuracy:
        """What its authors published for the dataset, over the three seeds, in percent."""
        return paper.ZOO[self.their_dataset]


#: All of them by name.
CHECKPOINTS: Final[Mapping[str, Checkpoint]] = MappingProxyType(
    {one.name: one for dataset in paper.ZOO for seed in SEEDS for one in [Checkpoint(dataset, seed)]}
)


@dataclass(frozen=True)
class Loaded:
    """A checkpoint in memory. ``config`` is its own; ``mean`` and ``std`` are None where it does not say."""

    name: str
    classifier: Classifier
    architecture: str
    classes: int
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    config: Mapping[str, Json]


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
    told = folder or os.environ.get(FOLDER)
    if told and _NAME.fullmatch(name) and _complete(Path(told) / name):
        return Path(told) / name
    if name not in CHECKPOINTS:
        where = f" below {told}" if told else ""
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
    return _config(path) if path.exists() else {}


def _refuse_other_revision(target: Path, revision: str | None) -> None:
    record = _read_record(target)
    if revision is not None and revision not in (record.get("revision"), record.get("asked")):
        there = record.get("revision", "of an unknown revision")
        raise ZooError(f"{target} holds {there}, and {revision} was asked for; remove the folder to download it")


def _download(checkpoint: Checkpoint, target: Path, revision: str | None) -> Path:
    """Fetch both files of one commit. Their checksums are not published; those of the first download are recorded."""
    from huggingface_hub.errors import HFValidationError

    from recolorist.io.files import atomic_write

    record = _read_record(target)
    asked = revision or record.get("revision")
    if not asked:
        raise ZooError(
            f"no revision of {checkpoint.repository} is recorded; name one with --revision: a commit or tag of its page on the "
            "Hub, or 'main' for the newest, whose commit is then recorded"
        )
    try:
        commit = _resolve(checkpoint, asked)
        facts = {file: _fetch(checkpoint, file, commit, target) for file in reversed(_FILES)}  # the small one first
    except (HFValidationError, OSError) as error:
        message = " ".join(str(error).split())
        raise ZooError(f"{checkpoint.repository} at {asked} could not be downloaded: {message}") from error
    if record.get("revision") == commit and record.get("files", facts) != facts:
        raise ZooError(f"{checkpoint.repository} at {commit} is not what it was at its first download; it is not accepted")
    atomic_write(target / _RECORD, json.dumps({"revision": commit, "asked": asked, "files": facts}, indent=2).encode())
    for file in _FILES:
        (target / _PARTS / file).replace(target / file)
    shutil.rmtree(target / _PARTS)
    return target


def _resolve(checkpoint: Checkpoint, revision: str) -> str:
    """The commit that a tag or branch stands for now."""
    from huggingface_hub import hf_hub_download

    if _COMMIT.fullmatch(revision):
        return revision
    there = hf_hub_download(checkpoint.repository, _FILES[1], revision=revision, token=False, endpoint=_endpoint(), dry_run=True)
    return there.commit_hash


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


# ---- reading ----------------------------------------------------------------------------------------------------------------


def load(name: str, folder: str | Path | None = None, *, revision: str | None = None) -> Loaded:
    """A checkpoint as a network in evaluation mode; every key must fit, and none may be missing or left over."""
    from recolorist_lab.training import models

    place = find(name, folder, revision=revision)
    config, state = _config(place / "config.json"), _state(place / "model.safetensors")
    architecture = _architecture(config, place)
    classes = _classes(config, state, place)
    classifier = models.build(architecture, classes, own_head=False)
    try:
        classifier.net.load_state_dict(state)
    except RuntimeError as error:
        told = " ".join(str(error).split())[:300]
        raise ZooError(f"{place / _FILES[0]} does not fit {architecture} with {classes} classes: {told}") from error
    classifier.eval()
    mean, std = (_triple(config, names, place) for names in (("mean", "means"), ("std", "stds")))
    return Loaded(place.name, classifier, architecture, classes, mean, std, config)


def _config(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ZooError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(told, dict):
        raise ZooError(f"{path} holds {type(told).__name__}; expected is a table")
    return told


def _state(path: Path) -> dict[str, Any]:
    """Tensors, whatever prefix a wrapper left on all of them."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ZooError(f"{path} cannot be read as safetensors: {error}") from error
    for prefix in ("module.", "model.", "net.", "backbone."):
        if state and all(key.startswith(prefix) for key in state):
            state = {key[len(prefix) :]: tensor for key, tensor in state.items()}
    return state


def _architecture(config: Mapping[str, Any], place: Path) -> str:
    """The name of the network; a checkpoint whose folder is named after it need not say it twice."""
    found = next((config[name] for name in _ARCHITECTURE if isinstance(config.get(name), str)), None)
    return str(found or ("densenet121" if "densenet121" in place.name else _refuse_unnamed(place)))


def _refuse_unnamed(place: Path) -> str:
    raise ZooError(f"{place / _FILES[1]} names no network; expected is one of the keys {', '.join(_ARCHITECTURE)}")


def _classes(config: Mapping[str, Any], state: Mapping[str, Any], place: Path) -> int:
    """Outputs of the head; what the configuration says must agree."""
    heads = [tensor for key, tensor in state.items() if key.endswith(("classifier.bias", "fc.bias", "head.bias"))]
    told = next((config[name] for name in ("num_classes", "n_classes", "num_labels") if isinstance(config.get(name), int)), None)
    found = int(heads[-1].shape[0]) if heads else told
    if found is None or (told is not None and told != found):
        raise ZooError(f"{place}: the weights have {found} outputs and the configuration says {told}")
    return int(found)


def _triple(config: Mapping[str, Any], names: tuple[str, ...], place: Path) -> tuple[float, ...] | None:
    """Mean or deviation, where the configuration has it, at its top or as timm writes it."""
    nested = config.get("pretrained_cfg")
    tables = [config, nested if isinstance(nested, dict) else {}]
    value = next((table[name] for table in tables for name in names if name in table), None)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(one, int | float) for one in value):
        raise ZooError(f"{place / _FILES[1]}: {names[0]} is {value!r}; expected are three numbers")
    return tuple(float(one) for one in value)


# ---- evaluating --------------------------------------------------------------------------------------------------------------


def evaluate(
    loaded: Loaded,
    dataset: str,
    *,
    split: str = "test",
    root: str = "",
    size: int | None = None,
    resize: str | None = None,
    batch: int = 64,
    workers: int = 0,
    accelerator: str = "auto",
) -> dict[str, Json]:
    """All scores of a checkpoint on a split. What neither it nor the caller says is the protocol's: 224 pixels, letterboxed."""
    from lightning_fabric import Fabric

    from recolorist_lab.augmentations import TrainingImages
    from recolorist_lab.data.named import named
    from recolorist_lab.training.algorithms.base import Task
    from recolorist_lab.training.feed import Feed
    from recolorist_lab.training.normalise import Normalise
    from recolorist_lab.training.predict import Reader, predict
    from recolorist_lab.training.scores import scores

    found = named(dataset, root)
    told = loaded.config
    how: dict[str, Any] = {"size": size or told.get("size") or 224, "resize": resize or told.get("resize") or "letterbox"}
    facts = found.manifest.facts
    if len(facts.classes) != loaded.classes:
        raise OptionError(f"{found.title} has {len(facts.classes)} classes, and {loaded.name} tells {loaded.classes} apart")
    if loaded.mean is None or loaded.std is None:
        normalise, said = Normalise.of(TrainingImages(found.samples("train", **how)).bank()), "of the training split here"
    else:
        normalise, said = Normalise(loaded.mean, loaded.std), "of the checkpoint"
    fabric = Fabric(accelerator=accelerator, devices=1)
    loaded.classifier.to(fabric.device)
    task = Task(loaded.classes, multilabel=facts.task == "multilabel")
    reader = Reader.of(Feed(found.samples(split, **how)), fabric, batch, workers)
    found_scores = scores(predict(loaded.classifier, reader, normalise, task, fabric), facts.classes)
    return {**found_scores, "normalised_with": said, "size": how["size"], "resize": how["resize"]}
