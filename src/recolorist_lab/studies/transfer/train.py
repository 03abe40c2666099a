"""Study 5, first half: one network trained on one dataset's training split. What it learnt is kept for the evaluation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from recolorist.errors import OptionError
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.runs.config import Json, identity, operational, unknown
from recolorist_lab.runs.kind import Context
from recolorist_lab.runs.seeds import SEEDS

if TYPE_CHECKING:
    from recolorist_lab.baselines.trainer import BaselineTrainer

__all__ = ["SAMPLE", "WEIGHTS", "TransferTrain", "recipe_of", "run"]

WEIGHTS: Final = "weights.safetensors"
SAMPLE: Final = "sample.png"


@dataclass(frozen=True)
class TransferTrain:
    """One training run. Zeros stand for the method's own recipe; ``options`` are the method's, as ``name=value``.

    ``load_size`` and ``crop_size`` bound the method's own, so that one small budget can be set for all.
    """

    method: str = identity()
    dataset: str = identity("synthetic")
    seed: int = identity(SEEDS[0])
    split: str = identity("train")
    iterations: int = identity(0)
    batch: int = identity(0)
    load_size: int = identity(0)
    crop_size: int = identity(0)
    encoder: str = identity("auto")
    options: tuple[str, ...] = identity(())
    root: str = operational("")
    device: str = operational("cpu")
    threads: int = operational(0)
    checkpoint: int = operational(200)  # steps between two

    def __post_init__(self) -> None:
        unknown([self.method], METHODS, "method")
        unknown([self.encoder], ("auto", "random"), "encoder")
        if min(self.iterations, self.batch, self.load_size, self.crop_size, self.seed, self.threads) < 0 or self.checkpoint < 1:
            raise OptionError(
                f"iterations={self.iterations}, batch={self.batch}, load_size={self.load_size}, crop_size={self.crop_size}, "
                f"seed={self.seed}, threads={self.threads}, checkpoint={self.checkpoint}; accepted are numbers from 0 "
                "(0: the method's own), and a checkpoint every step or more"
            )


def run(config: TransferTrain, context: Context) -> Mapping[str, Json]:
    """Train, from the last checkpoint if there is one, and keep the weights and a picture of what they do."""
    from recolorist_lab.baselines import store
    from recolorist_lab.baselines.run import sample

    trainer = trainer_of(config)
    found = context.resume()
    if found is not None:
        trainer.restore(found[1])
    start, begun = time.perf_counter(), trainer.step
    last = None
    try:
        while trainer.step < trainer.recipe.iterations:
            last = trainer.advance()
            if trainer.step % config.checkpoint == 0 and trainer.step < trainer.recipe.iterations:
                context.save(trainer.step, trainer.state())
        seconds = time.perf_counter() - start
        context.keep(WEIGHTS, store.file_of(trainer.model))
        context.keep(SAMPLE, sample(trainer))
    finally:
        trainer.close()
    steps = max(1, trainer.step - begun)
    recipe = trainer.recipe
    return {
        "steps": trainer.step,
        "batch": recipe.batch,
        "load_size": recipe.load_size,
        "crop_size": recipe.crop_size,
        "images": len(trainer.loader.images),
        "loss": dict(last.loss) if last else {},
        "seconds_per_step": seconds / steps,
    }


def trainer_of(config: TransferTrain) -> BaselineTrainer:
    """The method, made and ready to learn."""
    import torch

    from recolorist_lab.baselines.crops import images_of
    from recolorist_lab.baselines.options import parsed
    from recolorist_lab.baselines.registry import build
    from recolorist_lab.baselines.trainer import BaselineTrainer

    if config.threads:
        torch.set_num_threads(config.threads)
    model = build(config.method, encoder=config.encoder, seed=config.seed, **parsed(config.method, config.options))
    images = images_of(config.dataset, split=config.split, root=config.root or None)  # type: ignore[arg-type]
    return BaselineTrainer(model, images, recipe_of(config, model), seed=config.seed, device=config.device)


def recipe_of(config: TransferTrain, model: Any) -> Any:
    """The method's recipe within the bounds of the configuration."""
    own = model.defaults
    load = min(own.load_size, config.load_size or own.load_size)
    crop = max(model.least_crop, min(own.crop_size, config.crop_size or own.crop_size))
    size = getattr(model, "size", 0)
    if own.view in ("whole", "resized_crop") and size and config.crop_size:
        crop = min(size, crop)
    changes = {
        "load_size": max(load, crop),
        "crop_size": crop,
        "batch": config.batch or None,
        "iterations": config.iterations or None,
    }
    made = own.but(**changes)
    if config.batch:
        made = made.but(accumulate=1)
    return made.by_iterations() if config.iterations else made
