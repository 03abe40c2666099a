"""`recolorist-lab baseline train`: train a network in a folder of its own, or as a cell of a ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.errors import OptionError
from recolorist_lab.cli import baseline_files as files
from recolorist_lab.cli.plugin import Plugins

if TYPE_CHECKING:
    from collections.abc import Callable

    from recolorist_lab.baselines.run import Schedule, TrainingSummary
    from recolorist_lab.baselines.trainer import BaselineTrainer, Record

__all__ = ["train"]

_Count = Annotated[int | None, typer.Option(min=1, help="Instead of the method's own.")]
_Every = Annotated[int, typer.Option(min=0, help="Steps between; 0: never.")]
_Data = Annotated[str, typer.Option("--data", help="Folder of images, manifest (.parquet), or a dataset's name.")]
_Split = Annotated[str, typer.Option("--split", help="Split of a manifest; never train on what you will test on.")]
_Root = Annotated[Path | None, typer.Option("--root", help="Folder of the data; also RECOLORIST_DATA.")]
_Out = Annotated[Path, typer.Option("--out", "-o", help="Folder of the run; one that was broken off goes on.")]
_Rate = Annotated[float | None, typer.Option("--rate", help="Learning rate at the start, instead of the method's own.")]
_View = Annotated[str | None, typer.Option("--view", help="How images become crops: crop, crop_turned, resized_crop, whole.")]
_Start = Annotated[
    str | None, typer.Option("--start", help="Begin with trained parts: a file of `baseline train` or `convert`, or 'adain'.")
]
_Seed = Annotated[int, typer.Option(min=0, help="Seed of weights and draws.")]
_Threads = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Threads that read images; same result for any.")]
_LedgerAt = Annotated[
    Path | None, typer.Option("--ledger", help="Folder of results: train as a cell of it, which a sweep then finds finished.")
]

#: Options that a cell of the study does not have.
_ONLY_IN_A_FOLDER: Final = ("epochs", "accumulate", "rate", "view", "start")


def train(
    method: files.Method,
    *,
    data: _Data,
    out: _Out,
    split: _Split = "train",
    root: _Root = None,
    iterations: _Count = None,
    epochs: _Count = None,
    batch: _Count = None,
    accumulate: _Count = None,
    load_size: _Count = None,
    crop_size: _Count = None,
    rate: _Rate = None,
    view: _View = None,
    option: files.Options = None,
    encoder: files.Encoder = "auto",
    start: _Start = None,
    seed: _Seed = 0,
    device: files.Device = "auto",
    jobs: _Threads = 2,
    ledger: _LedgerAt = None,
    checkpoint_every: _Every = 1000,
    sample_every: _Every = 1000,
    log_every: _Every = 10,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Train a method on one dataset's training split; broken off, the same command goes on exactly where it was."""
    from recolorist_lab.baselines.run import Schedule

    recipe = {
        "iterations": iterations,
        "epochs": epochs,
        "batch": batch,
        "accumulate": accumulate,
        "load_size": load_size,
        "crop_size": crop_size,
        "rate": rate,
        "view": view,
    }
    made = {"data": data, "split": split, "root": root, "options": option or (), "encoder": encoder, "start": start, "seed": seed}
    if ledger is not None:
        _train_in_ledger(method, recipe, made, device, checkpoint_every, ledger, out, as_json=as_json)
        return
    trainer = _trainer(method, recipe, made, device, jobs)
    summary = _train_in_folder(trainer, out, Schedule(checkpoint_every, sample_every, log_every))
    typer.echo(_summary_as_json(trainer, summary) if as_json else _summary_as_text(summary))


def _trainer(method: str, recipe: Mapping[str, Any], made: Mapping[str, Any], device: str, threads: int) -> BaselineTrainer:
    """Build the network, open the images and put both into a trainer."""
    if recipe["iterations"] is not None and recipe["epochs"] is not None:
        raise OptionError("--iterations and --epochs both came; give one")
    from recolorist_lab.baselines.crops import images_of
    from recolorist_lab.baselines.options import parsed
    from recolorist_lab.baselines.registry import build
    from recolorist_lab.baselines.start import begin_with
    from recolorist_lab.baselines.trainer import BaselineTrainer, device_of

    model = build(method, encoder=made["encoder"], seed=made["seed"], **parsed(method, made["options"]))
    if made["start"] is not None:
        begin_with(model, made["start"])
    changed = model.defaults.but(**recipe)
    if recipe["iterations"] is not None:
        changed = changed.by_iterations()
    images = images_of(made["data"], split=made["split"], root=made["root"])
    return BaselineTrainer(model, images, changed, seed=made["seed"], device=device_of(device), threads=threads)


def _train_in_folder(trainer: BaselineTrainer, out: Path, schedule: Schedule) -> TrainingSummary:
    from recolorist_lab.baselines.run import run

    try:
        with _bar(trainer.recipe.iterations) as tick:
            return run(trainer, out, schedule, tick=tick)
    except KeyboardInterrupt:
        typer.echo("recolorist-lab: interrupted; the same command goes on from the last checkpoint", err=True)
        raise typer.Exit(common.INTERRUPTED) from None
    finally:
        trainer.close()


def _summary_as_json(trainer: BaselineTrainer, summary: TrainingSummary) -> str:
    last = summary.last._asdict() if summary.last else None
    values = asdict(summary) | {"weights": str(summary.weights), "last": last}
    return json.dumps(values | {"images": len(trainer.loader.images), "recipe": asdict(trainer.recipe)}, indent=2)


def _summary_as_text(summary: TrainingSummary) -> str:
    again = f", {summary.resumed:,} of them before" if summary.resumed else ""
    losses = "nothing was left to do"
    if summary.last:
        losses = ", ".join(f"{name} {value:.4g}" for name, value in summary.last.parts.items())
    return f"{summary.weights}: {summary.steps:,} steps{again}, {summary.seconds_per_step:.3f} s each; {losses}."


def _train_in_ledger(
    method: str,
    recipe: Mapping[str, Any],
    made: Mapping[str, Any],
    device: str,
    checkpoint: int,
    ledger: Path,
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Run the cell that a study with these settings has, and copy what it keeps to ``out``."""
    from recolorist_lab.baselines.trainer import device_of
    from recolorist_lab.cli.train import cell_of, copy_files, run_by_hand
    from recolorist_lab.runs.ledger import Ledger

    _refuse_what_cells_lack({**recipe, "start": made["start"]}, made["data"])
    sizes = {name: recipe[name] or 0 for name in ("iterations", "batch", "load_size", "crop_size")}
    names = {name: made[name] for name in ("split", "encoder", "seed")}
    where = {"root": str(made["root"] or ""), "device": device_of(device), "checkpoint": max(1, checkpoint)}
    values = {"method": method, "dataset": made["data"], "options": list(made["options"]), **names, **sizes, **where}
    cell = cell_of("transfer_train", values, ("method", "dataset", "seed"))
    _refuse_other_sizes(cell.config, recipe)
    result = run_by_hand(cell, Ledger(ledger))
    copy_files(result, out)
    values = dict(result.result)
    text = f"{out}: {values['steps']:,} steps, {float(str(values['seconds_per_step'])):.3f} s each; run {cell.run_id[:12]}."
    typer.echo(json.dumps({**values, "run": cell.run_id}, indent=2) if as_json else text)


def _refuse_what_cells_lack(given: Mapping[str, Any], data: str) -> None:
    if extra := [f"--{name}" for name in _ONLY_IN_A_FOLDER if given[name] is not None]:
        raise OptionError(f"{', '.join(extra)} came with --ledger; the cells of a study have no such setting, so leave one out")
    if Path(data).is_dir():
        raise OptionError(
            f"--data {data} is a folder and --ledger came; a cell needs data that can be told from others: "
            "make a manifest with `recolorist-lab data index`"
        )


def _refuse_other_sizes(config: Any, recipe: Mapping[str, Any]) -> None:
    """A cell bounds a method's own sizes; a size above them would be another than was asked for."""
    from recolorist_lab.baselines.registry import class_of

    own = class_of(config.method).defaults
    for name in ("load_size", "crop_size"):
        if recipe[name] is not None and recipe[name] > getattr(own, name):
            raise OptionError(
                f"--{name.replace('_', '-')} {recipe[name]} came with --ledger; cells take at most the method's own "
                f"{getattr(own, name)}"
            )


@contextmanager
def _bar(count: int) -> Iterator[Callable[[Record], None]]:
    """Show steps, losses and time left."""
    from recolorist_lab.progress import steps_bar

    with steps_bar("training", "name", "bar", "count", "left", "text", total=count) as update:

        def tick(record: Record) -> None:
            losses = " ".join(f"{name} {value:.3g}" for name, value in record.parts.items())
            update(record.step + 1, count, losses)

        yield tick
