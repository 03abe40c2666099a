"""Run one training from the name of a dataset to its scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment

from recolorist.errors import OptionError
from recolorist_lab.runs.config import Json
from recolorist_lab.runs.kind import Context
from recolorist_lab.training import models, state
from recolorist_lab.training.feed import Feed, bytes_on_their_way, refuse_small_shared_memory
from recolorist_lab.training.followers import following
from recolorist_lab.training.harmony import harmonies
from recolorist_lab.training.loop import ClassifierTrainer
from recolorist_lab.training.predict import AT_ONCE, Reader, predict
from recolorist_lab.training.prepare import Prepared, prepare
from recolorist_lab.training.scores import brief, scores
from recolorist_lab.training.settings import Settings
from recolorist_lab.training.watch import watchers
from recolorist_lab.training.watchdog import watched

__all__ = ["WEIGHTS", "make_fabric", "run"]

WEIGHTS = "model.safetensors"  #: as on the Hugging Face Hub
CONFIG = "config.json"


def run(settings: Settings, context: Context) -> Mapping[str, Json]:
    """Train, choose the best epoch, and test. On several devices the others are processes that end with this one.

    Args:
        settings: Of the run.
        context: Where checkpoints and files are kept.

    Returns:
        The result, as the ledger stores it.

    Raises:
        TrainingError: Training cannot go on.
    """
    with following(settings, work):
        result = work(settings, context)
    assert result is not None  # noqa: S101 - only followers have none
    return result


def work(settings: Settings, context: Context | None) -> Mapping[str, Json] | None:
    """Do this device's part of a run.

    Args:
        settings: Of the run.
        context: Where checkpoints and files are kept; None for all devices but the first.

    Returns:
        The result on the first device, and None on others.
    """
    fabric = make_fabric(settings)
    ready = prepare(settings, rank=fabric.global_rank)
    if settings.fit == "head":
        return _fit_head(settings, ready, fabric, context)
    refuse_small_shared_memory(_shared_bytes(settings))
    val = _reader(Feed(ready.splits.val), settings, fabric)
    looking = watchers(settings.tensorboard, _name(settings)) if context is not None else watchers()
    trainer = ClassifierTrainer(settings, ready, val, fabric, context, looking)
    with watched(settings.hang_seconds):
        try:
            trainer.fit()
        finally:
            looking.close()
        tested = _tested(settings, ready, val, fabric)
    if context is None:
        return None
    _keep(settings, ready, trainer, tested, context)
    return _result(ready, trainer, tested)


def _fit_head(settings: Settings, ready: Prepared, fabric: Any, context: Context | None) -> Mapping[str, Json] | None:
    from recolorist_lab.training.frozen import fit_head

    tested, facts = fit_head(settings, ready, fabric)
    if context is None:
        return None
    context.keep("scores.json", _json(tested))
    sizes: dict[str, Json] = {name: len(part) for name, part in ready.splits._asdict().items() if part is not None}
    return {"classes": list(ready.splits.train.classes), "images": sizes, **facts}


def make_fabric(settings: Settings, *, launch: bool = True) -> Any:
    """Set up Lightning Fabric for this process.

    The processes of the other devices are ours (:mod:`.followers`). Fabric must not take SLURM's tasks for them, which it
    does by itself wherever SLURM's variables are set; so its environment is given explicitly.

    Args:
        settings: Of the run.
        launch: Whether to meet the other processes now.

    Returns:
        The Fabric of this device.

    Raises:
        OptionError: The device does not support the precision.
    """
    if settings.threads:
        torch.set_num_threads(settings.threads)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    fabric = Fabric(
        accelerator=settings.accelerator,
        devices=settings.devices,
        precision=settings.precision,  # type: ignore[arg-type]
        strategy="ddp" if settings.devices > 1 else "auto",
        plugins=[LightningEnvironment()],
    )
    if fabric._precision.precision != settings.precision:  # noqa: SLF001 - Fabric would go on with another, and a warning
        raise OptionError(
            f"precision={settings.precision!r} is not available on {fabric.device.type}; use another, such as 'bf16-mixed'"
        )
    if launch:
        fabric.launch()
    return fabric


def _reader(feed: Feed, settings: Settings, fabric: Any) -> Reader:
    return Reader.of(feed, fabric, settings.batch, settings.workers, seconds=settings.hang_seconds / 2)


def _shared_bytes(settings: Settings) -> int:
    """Return what the minibatches of training and of validation take of shared memory, on all devices."""
    sizes = (-(-settings.batch // (settings.devices * settings.accumulate)), min(settings.batch, AT_ONCE))
    return settings.devices * sum(bytes_on_their_way(images, settings.size, settings.workers) for images in sizes)


def _tested(settings: Settings, ready: Prepared, val: Reader, fabric: Any) -> dict[str, dict[str, Json]]:
    """Return the scores of the kept weights, by name of the set."""
    splits = ready.splits
    readers = {"val": val, "test": _reader(Feed(splits.test), settings, fabric)}
    for name, part in (("source", splits.source), ("val_split", splits.val_split)):
        if part is not None:
            readers[name] = _reader(Feed(part), settings, fabric)
    if settings.harmonise:
        for name, harmony in harmonies(ready.images.bank()).items():
            readers[name] = _reader(Feed(splits.test, harmony=harmony), settings, fabric)
    results = {}
    for name, reader in readers.items():
        predictions = predict(ready.algorithm.network, reader, ready.normalise, ready.algorithm.task, fabric)
        results[name] = {**scores(predictions, splits.train.classes), "batch_loss": predictions.batch_loss(settings.batch)}
    return results


def _keep(
    settings: Settings, ready: Prepared, trainer: ClassifierTrainer, tested: dict[str, dict[str, Json]], context: Context
) -> None:
    """Keep the weights in timm's keys with what is needed to use them, and all measurements."""
    facts = ready.splits.train.manifest.facts
    config = {
        "architecture": settings.model,
        "num_classes": len(facts.classes),
        "classes": list(facts.classes),
        "task": facts.task,
        "dataset": facts.dataset,
        "seed": settings.seed,
        "size": settings.size,
        "resize": settings.resize,
        "mean": list(ready.normalise.mean),
        "std": list(ready.normalise.std),
        "augmentation": settings.augmentation,
        "algorithm": settings.algorithm,
        "epoch": trainer.progress.best_epoch,
    }
    context.keep(WEIGHTS, state.weights(trainer.best))
    context.keep(CONFIG, _json(config))
    context.keep("scores.json", _json(tested))
    context.keep("history.json", _json(trainer.progress.history))


def _result(ready: Prepared, trainer: ClassifierTrainer, tested: dict[str, dict[str, Json]]) -> Mapping[str, Json]:
    now = trainer.progress
    sizes: dict[str, Json] = {name: len(part) for name, part in ready.splits._asdict().items() if part is not None}
    return {
        "parameters": models.parameters(ready.algorithm.network),
        "classes": list(ready.splits.train.classes),
        "images": sizes,
        "epochs": now.epoch,
        "best_epoch": now.best_epoch,
        "best_val_loss": now.best_loss,
        "skipped_minibatches": now.skipped,
        "parts": trainer.parts,
        "method": ready.algorithm.facts(),
        "domains_in_minibatches": len(ready.order.names) if ready.order.split_by_domain else 1,
        **{name: brief(part) for name, part in tested.items()},
    }


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def _name(settings: Settings) -> str:
    parts = (settings.dataset, settings.algorithm, settings.augmentation, settings.seed)
    return "-".join(str(part).replace("/", "_").replace(":", "_") for part in parts)
