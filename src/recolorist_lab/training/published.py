"""Load published checkpoints as networks, and score them on a dataset.

What a checkpoint lacks is filled in and reported: classes from the head's shape, mean and deviation from the training
split it is evaluated with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from recolorist.errors import OptionError
from recolorist_lab.assets.zoo import CONFIG, WEIGHTS, ZooError, find, read_config
from recolorist_lab.augmentations import TrainingImages
from recolorist_lab.data.named import NamedDataset
from recolorist_lab.runs.config import Json
from recolorist_lab.training import models
from recolorist_lab.training.algorithms.base import Task
from recolorist_lab.training.feed import Feed, bytes_on_their_way, refuse_small_shared_memory
from recolorist_lab.training.models import Classifier
from recolorist_lab.training.normalise import Normalise
from recolorist_lab.training.predict import AT_ONCE, Reader, predict
from recolorist_lab.training.scores import scores

__all__ = ["LoadedCheckpoint", "evaluate", "load"]

_ARCHITECTURE: Final = ("architecture", "model", "model_name", "arch", "backbone")
_HANG_SECONDS: Final = 900.0  # without a minibatch, after which workers have failed


@dataclass(frozen=True)
class LoadedCheckpoint:
    """A checkpoint in memory. ``config`` is its own; ``mean`` and ``std`` are None where it does not say."""

    name: str
    classifier: Classifier
    architecture: str
    classes: int
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    config: Mapping[str, Json]


def load(name: str, folder: str | Path | None = None, *, revision: str | None = None) -> LoadedCheckpoint:
    """Load a checkpoint as a network in evaluation mode; every key must fit, and none may be missing or left over.

    Args:
        name: One of the 57, a folder below ``folder``, or a folder itself.
        folder: Folder of checkpoints by name; by default RECOLORIST_ZOO.
        revision: Commit, tag or branch to download.

    Returns:
        The network and what its configuration says.

    Raises:
        ZooError: It is missing, or does not fit.
    """
    place = find(name, folder, revision=revision)
    config, state = read_config(place / CONFIG), _state(place / WEIGHTS)
    architecture = _architecture(config, place)
    classes = _classes(config, state, place)
    classifier = models.build(architecture, classes, own_head=False)
    try:
        classifier.net.load_state_dict(state)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise ZooError(f"{place / WEIGHTS} does not fit {architecture} with {classes} classes: {reason}") from error
    classifier.eval()
    mean, std = (_triple(config, names, place) for names in (("mean", "means"), ("std", "stds")))
    return LoadedCheckpoint(place.name, classifier, architecture, classes, mean, std, config)


def _state(path: Path) -> dict[str, Any]:
    """Read the tensors, without a prefix that a wrapper added to all of them."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    from recolorist_lab.assets.seals import verify_weights

    try:
        data = path.read_bytes()
        verify_weights(data, str(path))
        state = load(data)
    except (OSError, SafetensorError) as error:
        raise ZooError(f"{path} cannot be read as safetensors: {error}") from error
    for prefix in ("module.", "model.", "net.", "backbone."):
        if state and all(key.startswith(prefix) for key in state):
            state = {key[len(prefix) :]: tensor for key, tensor in state.items()}
    return state


def _architecture(config: Mapping[str, Any], place: Path) -> str:
    """Return the network's name from the configuration, or from the name of the folder."""
    stated = next((config[name] for name in _ARCHITECTURE if isinstance(config.get(name), str)), None)
    return str(stated or ("densenet121" if "densenet121" in place.name else _refuse_unnamed(place)))


def _refuse_unnamed(place: Path) -> str:
    raise ZooError(f"{place / CONFIG} names no network; expected is one of the keys {', '.join(_ARCHITECTURE)}")


def _classes(config: Mapping[str, Any], state: Mapping[str, Any], place: Path) -> int:
    """Return the number of outputs of the head; the configuration must agree."""
    heads = [tensor for key, tensor in state.items() if key.endswith(("classifier.bias", "fc.bias", "head.bias"))]
    stated = next(
        (config[name] for name in ("num_classes", "n_classes", "num_labels") if isinstance(config.get(name), int)), None
    )
    outputs = int(heads[-1].shape[0]) if heads else stated
    if outputs is None or (stated is not None and stated != outputs):
        raise ZooError(f"{place}: the weights have {outputs} outputs and the configuration says {stated}")
    return int(outputs)


def _triple(config: Mapping[str, Any], names: tuple[str, ...], place: Path) -> tuple[float, ...] | None:
    """Return mean or deviation from the configuration, at its top level or as timm writes it."""
    nested = config.get("pretrained_cfg")
    tables = [config, nested if isinstance(nested, dict) else {}]
    value = next((table[name] for table in tables for name in names if name in table), None)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(number, int | float) for number in value):
        raise ZooError(f"{place / CONFIG}: {names[0]} is {value!r}; expected are three numbers")
    return tuple(float(number) for number in value)


def evaluate(
    loaded: LoadedCheckpoint,
    images: NamedDataset,
    *,
    split: str = "test",
    size: int | None = None,
    resize: str | None = None,
    batch: int = 64,
    workers: int = 0,
    accelerator: str = "auto",
) -> dict[str, Json]:
    """Compute all scores of a checkpoint on a split.

    Args:
        loaded: The checkpoint.
        images: The dataset.
        split: The split to test on.
        size: Side of the images; by default the checkpoint's, else 224.
        resize: How images become square; by default the checkpoint's way, else letterboxed.
        batch: Images at a time.
        workers: Processes that read images.
        accelerator: Where it runs.

    Returns:
        The scores, and what the images were normalised with.

    Raises:
        OptionError: The dataset has another number of classes.
        FeedError: Workers have too little shared memory, or do not deliver.
    """
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.environments.lightning import LightningEnvironment

    config = loaded.config
    how: dict[str, Any] = {"size": size or config.get("size") or 224, "resize": resize or config.get("resize") or "letterbox"}
    facts = images.manifest.facts
    if len(facts.classes) != loaded.classes:
        raise OptionError(f"{images.title} has {len(facts.classes)} classes, and {loaded.name} was trained for {loaded.classes}")
    refuse_small_shared_memory(bytes_on_their_way(min(batch, AT_ONCE), how["size"], workers))
    if loaded.mean is None or loaded.std is None:
        normalise, origin = Normalise.of(TrainingImages(images.samples("train", **how)).bank()), "of the training split here"
    else:
        normalise, origin = Normalise(loaded.mean, loaded.std), "of the checkpoint"
    fabric = Fabric(accelerator=accelerator, devices=1, plugins=[LightningEnvironment()])  # not SLURM's tasks
    loaded.classifier.to(fabric.device)
    task = Task(loaded.classes, multilabel=facts.task == "multilabel")
    reader = Reader.of(Feed(images.samples(split, **how)), fabric, batch, workers, seconds=_HANG_SECONDS)
    measured = scores(predict(loaded.classifier, reader, normalise, task, fabric), facts.classes)
    return {**measured, "normalised_with": origin, "size": how["size"], "resize": how["resize"]}
