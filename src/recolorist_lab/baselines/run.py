"""A training run in a folder: what it is, its checkpoints, its record, its samples, and in the end its weights."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from recolorist.errors import OptionError
from recolorist.io.files import atomic_write
from recolorist_lab.baselines import store
from recolorist_lab.baselines.sheet import contact_sheet, pictures
from recolorist_lab.baselines.trainer import BaselineTrainer, Record
from recolorist_lab.runs import checkpoints, sealed

__all__ = ["Schedule", "TrainingSummary", "identity_of", "run"]

RUN: Final = "run.json"
LOG: Final = "log.jsonl"
SAMPLES: Final = "samples"
_SHOWN: Final = 4
_PROBES: Final = (0, 1, 10, 100, 1_000, 10_000, 100_000)  # steps whose learning rates tell one schedule from another
_CONTENT, _STYLE = 2, 3  # shuffles of their own, so that samples stay the same throughout


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is written every so many steps: a checkpoint, a picture, a line of the record. 0: never; otherwise also at the end."""

    checkpoint: int = 1000
    sample: int = 1000
    log: int = 10


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """What a run came to."""

    weights: Path
    steps: int
    resumed: int
    seconds: float
    seconds_per_step: float
    last: Record | None


def run(
    trainer: BaselineTrainer,
    folder: Path,
    schedule: Schedule | None = None,
    *,
    resume: bool = True,
    tick: Callable[[Record], None] | None = None,
) -> TrainingSummary:
    """Train to the end of the recipe; a folder of the same run that was broken off goes on, one of another run is refused."""
    plan = schedule or Schedule()
    told = identity_of(trainer)
    resumed = _begin(trainer, folder, told, resume=resume)
    last: Record | None = None
    seconds = 0.0
    while trainer.step < trainer.recipe.iterations:
        start = time.perf_counter()
        last = trainer.advance()
        seconds += time.perf_counter() - start  # of training alone, without checkpoints and pictures
        if tick is not None:
            tick(last)
        _keep(trainer, folder, plan, last)
    about = {**told, "steps": trainer.step, "loss": last.loss if last else {}}
    weights = store.save(trainer.model, folder / f"{told['method']}.safetensors", about=about)
    done = trainer.step - resumed
    return TrainingSummary(weights, trainer.step, resumed, seconds, seconds / done if done else 0.0, last)


def identity_of(trainer: BaselineTrainer) -> dict[str, Any]:
    """What makes this run this run. The number of iterations does only where the learning rate depends on it."""
    made = trainer.model.made
    if made is None:
        raise OptionError(f"this {trainer.model.name} was not made by build(), so the run could not be repeated")
    recipe = {name: value for name, value in asdict(trainer.recipe).items() if name not in ("iterations", "epochs")}
    return {
        "format": "recolorist.baseline.run/1",
        "method": made.method,
        "options": _plain(made.options),
        "encoder": made.encoder,
        "model_seed": made.seed,
        "seed": trainer.seed,
        "recipe": recipe,
        "rates": {name: [one.rate(step) for step in _PROBES] for name, one in trainer.optimisers.items()},
        "images": len(trainer.loader.images),
        "data": trainer.loader.images.fingerprint,
        "frozen": store.frozen_prints(trainer.model),
        "start": dict(trainer.model.started) or None,
    }


def _begin(trainer: BaselineTrainer, folder: Path, told: dict[str, Any], *, resume: bool) -> int:
    """Make the folder this run's, or go on in it; the step to go on from."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUN
    if not path.exists():
        atomic_write(path, sealed.seal(told))
        return 0
    if not resume:
        raise OptionError(f"{folder} holds a run already; resume it, or choose another folder")
    before = sealed.read(path)
    other = [name for name in told if before.get(name) != told[name]]
    if other:
        changes = "; ".join(f"{name} was {_short(before.get(name))} and is {_short(told[name])}" for name in other)
        raise OptionError(f"{folder} holds another run: {changes}. Choose another folder, or the same options")
    found = checkpoints.load(folder)
    if found is not None:
        trainer.restore(found[1], f"the checkpoint of step {found[0]} in {folder}")
    _shorten(folder / LOG, trainer.step)
    return trainer.step


def _keep(trainer: BaselineTrainer, folder: Path, plan: Schedule, record: Record) -> None:
    done, final = trainer.step, trainer.step >= trainer.recipe.iterations
    if plan.log and (final or done % plan.log == 0):
        with (folder / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record._asdict()) + "\n")
    if plan.sample and (final or done % plan.sample == 0):
        (folder / SAMPLES).mkdir(exist_ok=True)
        atomic_write(folder / SAMPLES / f"step-{done:09d}.png", sample(trainer))
    if plan.checkpoint and (final or done % plan.checkpoint == 0):
        checkpoints.save(folder, done, trainer.state())


def sample(trainer: BaselineTrainer, count: int = _SHOWN) -> bytes:
    """A picture of what the model does now: contents above, styles below them, results at the bottom; always the same pairs."""
    content = trainer.loader.batch(_CONTENT, 0, count).to(trainer.device)
    style = trainer.loader.batch(_STYLE, 0, count).to(trainer.device)
    return contact_sheet([pictures(content), pictures(style), pictures(trainer.model.stylise(content, style))])


def _shorten(path: Path, step: int) -> None:
    """Lines of steps that will be done again, and one that was cut short, are dropped."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            if json.loads(line)["step"] < step:
                kept.append(line)
        except ValueError:
            break
    atomic_write(path, "".join(f"{line}\n" for line in kept).encode())


def _plain(options: Any) -> dict[str, Any]:
    """As JSON reads it back."""
    return dict(json.loads(json.dumps(dict(options))))


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
