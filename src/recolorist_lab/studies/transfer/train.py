"""The first half of the transfer study: train one network on one dataset, and keep its weights."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recolorist.errors import OptionError
from recolorist_lab.baselines.recipe import KEPT, VIEWS
from recolorist_lab.baselines.registry import ENCODERS, METHODS
from recolorist_lab.data.named import is_folder
from recolorist_lab.progress import report_step
from recolorist_lab.runs.config import Json, identity, operational, unknown
from recolorist_lab.runs.kind import Context
from recolorist_lab.runs.seeds import SEEDS

if TYPE_CHECKING:
    from recolorist_lab.baselines.crops import Images
    from recolorist_lab.baselines.trainer import BaselineTrainer

__all__ = ["HISTORY", "SAMPLE", "WEIGHTS", "TransferTrain", "recipe_of", "run", "sha256_of"]

WEIGHTS: Final = "weights.safetensors"
SAMPLE: Final = "sample.png"
HISTORY: Final = "history.jsonl"
_VALIDATION: Final = "val"
_RESIZED: Final = ("whole", "padded", "resized_crop", "distorted_crop")  # views that end at a side of their own
_LINES: Final = 1000  # of the history, at most twice as many
_SHA256: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class TransferTrain:
    """One training run. Zeros, empty texts and ``clip=-1`` mean the value of the method's own recipe.

    ``load_size`` and ``crop_size`` bound the method's own, so that one small budget can be set for all. ``clip=0`` sets no limit
    to the norm of the gradient. ``keep`` is ``last`` or ``best``: the weights after the last step, or those of the epoch with the
    lowest loss on the split ``validation``. Where no split is named and there is no split ``val``, the last are kept, and the
    result says so. ``options`` are the method's, as ``name=value``. ``start`` is a method with published weights, or the sha256
    of a file of weights to begin with.
    """

    method: str = identity()
    dataset: str = identity("synthetic")
    seed: int = identity(SEEDS[0])
    split: str = identity("train")
    iterations: int = identity(0)
    epochs: int = identity(0)
    batch: int = identity(0)
    accumulate: int = identity(0)
    load_size: int = identity(0)
    crop_size: int = identity(0)
    rate: float = identity(0.0)
    clip: float = identity(-1.0)
    keep: str = identity("")
    validation: str = identity("")
    view: str = identity("")
    encoder: str = identity("auto")
    options: tuple[str, ...] = identity(())
    start: str = identity("")
    start_file: str = operational("")
    root: str = operational("")
    device: str = operational("cpu")
    threads: int = operational(0)
    readers: int = operational(1)  # threads that read images
    checkpoint: int = operational(200)  # steps between two

    def __post_init__(self) -> None:
        unknown([self.method], METHODS, "method")
        unknown([self.encoder], ENCODERS, "encoder")
        unknown([self.view] if self.view else [], VIEWS, "view")
        unknown([self.keep] if self.keep else [], KEPT, "keep")
        self._refuse_numbers()
        if self.iterations and self.epochs:
            raise OptionError(f"iterations={self.iterations} and epochs={self.epochs} were both given; give one of them")
        if self.clip < 0 and self.clip != -1:
            raise OptionError(f"clip={self.clip}; accepted are numbers from 0 (0: no limit), and -1 for the method's own")
        if self.start and self.start not in METHODS and not _SHA256.fullmatch(self.start):
            raise OptionError(f"start={self.start!r}; accepted are a method's name, such as 'adain', and the sha256 of a file")

    def _refuse_numbers(self) -> None:
        counts = ("iterations", "epochs", "batch", "accumulate", "load_size", "crop_size", "rate", "seed", "threads")
        least = dict.fromkeys(counts, 0) | {"readers": 1, "checkpoint": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                own = " (0: the method's own)" if name not in ("seed", "readers", "checkpoint") else ""
                raise OptionError(f"{name}={getattr(self, name)}; accepted are numbers from {value}{own}")


def run(config: TransferTrain, context: Context) -> Mapping[str, Json]:
    """Train from the last checkpoint, and keep weights, losses and a picture of results.

    Args:
        config: The configuration of the cell.
        context: Where the cell keeps checkpoints and files.

    Returns:
        The result, as the ledger stores it.
    """
    from recolorist_lab.baselines import store
    from recolorist_lab.baselines.sheet import sample

    trainer = trainer_of(config)
    history: list[Json] = []
    checkpoint = context.resume()
    if checkpoint is not None:
        history = _restore(trainer, checkpoint[1])
    loss: dict[str, float] = {}
    start, begun = time.perf_counter(), trainer.step
    total = trainer.recipe.iterations
    interval = max(1, total // _LINES)
    try:
        while trainer.step < total:
            record = trainer.advance()
            loss = record.loss or loss
            report_step(trainer.step, total, " ".join(f"{name} {value:.3g}" for name, value in record.parts.items()))
            if record.step % interval == 0:
                history.append({"step": record.step, "loss": dict(record.parts), "rate": dict(record.rate)})
            if trainer.step % config.checkpoint == 0 and trainer.step < total:
                context.save(trainer.step, _state(trainer, history))
        seconds = time.perf_counter() - start
        kept = trainer.finish()
        about = {"steps": trainer.step, "kept": kept, "start": dict(trainer.model.started)}
        context.keep(WEIGHTS, store.file_of(trainer.model, about=about))
        context.keep(SAMPLE, sample(trainer))
        context.keep(HISTORY, "".join(f"{json.dumps(line)}\n" for line in history).encode())
    finally:
        trainer.close()
    recipe = trainer.recipe
    return {
        "steps": trainer.step,
        "batch": recipe.batch,
        "load_size": recipe.load_size,
        "crop_size": recipe.crop_size,
        "images": len(trainer.loader.images),
        "loss": dict(loss),
        "kept": kept,
        "seconds_per_step": seconds / max(1, trainer.step - begun),
    }


def _state(trainer: BaselineTrainer, history: list[Json]) -> bytes:
    """Pack a checkpoint: the length of the history, the history, and the state of the trainer."""
    text = json.dumps(history).encode()
    return len(text).to_bytes(8, "little") + text + trainer.state()


def _restore(trainer: BaselineTrainer, data: bytes) -> list[Json]:
    end = 8 + int.from_bytes(data[:8], "little")
    trainer.restore(data[end:])
    history: list[Json] = json.loads(data[8:end])
    return history


def trainer_of(config: TransferTrain) -> BaselineTrainer:
    """Make the network of a configuration, ready for training.

    Args:
        config: The configuration of the cell.

    Returns:
        Its trainer.
    """
    import torch

    from recolorist_lab.baselines.crops import images_of
    from recolorist_lab.baselines.options import parsed
    from recolorist_lab.baselines.registry import build
    from recolorist_lab.baselines.trainer import BaselineTrainer

    if config.threads:
        torch.set_num_threads(config.threads)
    model = build(config.method, encoder=config.encoder, seed=config.seed, **parsed(config.method, config.options))
    if config.start:
        from recolorist_lab.baselines.start import begin_with

        begin_with(model, config.start if config.start in METHODS else _start_file(config))
    images = images_of(config.dataset, split=config.split, root=Path(config.root) if config.root else None)
    recipe = recipe_of(config, model)
    return BaselineTrainer(
        model,
        images,
        recipe,
        seed=config.seed,
        device=config.device,
        threads=config.readers,
        validation=_validation(config) if recipe.keep == "best" else None,
    )


def _validation(config: TransferTrain) -> Images | None:
    """Open the images that choose the best epoch; None where no split was named and the dataset has none."""
    from recolorist_lab.baselines.crops import images_of

    if is_folder(config.dataset):
        if config.validation:
            raise OptionError(f"{config.dataset} is a folder of images and has no split {config.validation!r}; leave it out")
        return None
    root = Path(config.root) if config.root else None
    try:
        return images_of(config.dataset, split=config.validation or _VALIDATION, root=root)
    except OptionError:
        if config.validation:
            raise
        return None


def _start_file(config: TransferTrain) -> Path:
    """Return the file of weights to start with; its checksum must be that of the configuration."""
    path = Path(config.start_file)
    if not config.start_file or not path.is_file():
        raise OptionError(
            f"start_file={config.start_file!r} is not a file; the run starts with the file of sha256 {config.start[:12]}"
        )
    if (came := sha256_of(path)) != config.start:
        raise OptionError(f"{path} has the sha256 {came[:12]}; the run starts with the file of {config.start[:12]}")
    return path


def sha256_of(path: Path) -> str:
    """Hash a file of weights to start with.

    Args:
        path: The file.

    Returns:
        The checksum in hexadecimal.

    Raises:
        OptionError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}") from error


def recipe_of(config: TransferTrain, model: Any) -> Any:
    """Return the method's recipe within the bounds of the configuration.

    Args:
        config: The configuration of the cell.
        model: The network.

    Returns:
        The recipe.
    """
    own = model.defaults
    load = min(own.load_size, config.load_size or own.load_size)
    crop = max(model.least_crop, min(own.crop_size, config.crop_size or own.crop_size))
    size = getattr(model, "size", 0)
    if (config.view or own.view) in _RESIZED and size and config.crop_size:
        crop = min(size, crop)
    changes = {
        "load_size": max(load, crop),
        "crop_size": crop,
        "batch": config.batch or None,
        "iterations": config.iterations or None,
        "epochs": config.epochs or None,
        "accumulate": config.accumulate or (1 if config.batch else None),
        "rate": config.rate or None,
        "clip": None if config.clip < 0 else config.clip,
        "keep": config.keep or None,
        "view": config.view or None,
    }
    recipe = own.but(**changes)
    return recipe.by_iterations() if config.iterations else recipe
