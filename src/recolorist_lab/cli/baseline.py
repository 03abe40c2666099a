"""`recolorist-lab baseline list | info | train | stylise | convert`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recolorist.cli import common
from recolorist.errors import OptionError
from recolorist_lab.cli import baseline_files as files
from recolorist_lab.cli.plugin import Plugins

if TYPE_CHECKING:
    from collections.abc import Callable

    from recolorist_lab.baselines.trainer import Record

__all__ = ["register"]

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


def register(app: typer.Typer) -> None:
    """Add the commands.

    >>> app = typer.Typer()
    >>> register(app)
    >>> [group.name for group in app.registered_groups]
    ['baseline']
    """
    group = typer.Typer(help="The thirteen style-transfer networks of the paper.", no_args_is_help=True)
    for name, command in (
        ("list", list_),
        ("info", info),
        ("train", train),
        ("stylise", files.stylise),
        ("convert", files.convert),
    ):
        group.command(name)(command)
    app.add_typer(group, name="baseline")


def list_(*, _plugin: Plugins = None, as_json: common.Json = False) -> None:
    """List the methods: where published, on what terms, size, parameters, whether trained here, whether in place."""
    from recolorist_lab.baselines.registry import METHODS

    rows = [_facts(name) for name in METHODS]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = [["method", "name", "published", "licence", "size", "parameters", "trained", "training", "in place"]]
    for row in rows:
        if not row["in_place"]:
            table.append([row["method"], row["name"], row["venue"], "", "", "", "", "", "not yet"])
            continue
        training = "from scratch" if row["needs_training"] else "as published"
        numbers = [f"{row['parameters']:,}", f"{row['trained_parameters']:,}"]
        licence = row["licence"].split(" (")[0].split(";")[0]  # info and --json have the whole sentence
        table.append([row["method"], row["name"], row["venue"], licence, str(row["size"]), *numbers, training, "yes"])
    files.columns(table, right=(4, 5, 6))


def info(method: files.Method, *, _plugin: Plugins = None, as_json: common.Json = False) -> None:
    """Print all that is known of one method: paper, parts, options, recipe, official files."""
    from recolorist_lab.baselines.registry import class_of, options_of

    found = class_of(method)
    told = {
        **_facts(method),
        "options": {name: list(value) if isinstance(value, tuple) else value for name, value in options_of(method).items()},
        "recipe": asdict(found.defaults),
        "official": [file._asdict() for file in found.official],
    }
    if as_json:
        typer.echo(json.dumps(told, indent=2))
        return
    typer.echo(f"{told['name']}: {told['paper']}\nLicence of the official code: {told['licence']}")
    for what in ("parts", "options", "recipe"):
        typer.echo(f"\n{what}")
        files.columns([[f"  {name}", f"{value:,}" if what == "parts" else str(value)] for name, value in told[what].items()])
    typer.echo("\nofficial files")
    files.columns([[f"  {file.part}", file.file, file.what, f"sha256 {file.sha256 or 'not known'}"] for file in found.official])


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
    checkpoint_every: _Every = 1000,
    sample_every: _Every = 1000,
    log_every: _Every = 10,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Train a method on one dataset's training split; broken off, the same command goes on exactly where it was."""
    if iterations is not None and epochs is not None:
        raise OptionError("--iterations and --epochs both came; give one")
    from recolorist_lab.baselines.crops import images_of
    from recolorist_lab.baselines.options import parsed
    from recolorist_lab.baselines.registry import build
    from recolorist_lab.baselines.run import Schedule, run
    from recolorist_lab.baselines.start import begin_with
    from recolorist_lab.baselines.trainer import BaselineTrainer, device_of

    model = build(method, encoder=encoder, seed=seed, **parsed(method, option or ()))
    if start is not None:
        begin_with(model, start)
    recipe = model.defaults.but(
        iterations=iterations,
        epochs=epochs,
        batch=batch,
        accumulate=accumulate,
        load_size=load_size,
        crop_size=crop_size,
        rate=rate,
        view=view,
    )
    if iterations is not None:
        recipe = recipe.by_iterations()
    images = images_of(data, split=split, root=root)
    trainer = BaselineTrainer(model, images, recipe, seed=seed, device=device_of(device), threads=jobs)
    try:
        with _bar(trainer.recipe.iterations) as tick:
            done = run(trainer, out, Schedule(checkpoint_every, sample_every, log_every), tick=tick)
    except KeyboardInterrupt:
        typer.echo("recolorist-lab: interrupted; the same command goes on from the last checkpoint", err=True)
        raise typer.Exit(common.INTERRUPTED) from None
    finally:
        trainer.close()
    if as_json:
        told = asdict(done) | {"weights": str(done.weights), "last": done.last._asdict() if done.last else None}
        typer.echo(json.dumps(told | {"images": len(images), "recipe": asdict(trainer.recipe)}, indent=2))
        return
    again = f", {done.resumed:,} of them before" if done.resumed else ""
    losses = (
        ", ".join(f"{name} {value:.4g}" for name, value in done.last.parts.items()) if done.last else "nothing was left to do"
    )
    typer.echo(f"{done.weights}: {done.steps:,} steps{again}, {done.seconds_per_step:.3f} s each; {losses}.")


def _facts(name: str) -> dict[str, Any]:
    """What the list says of a method; parameters are counted without making a single one."""
    from recolorist_lab.baselines.registry import METHODS, build, class_of

    method = METHODS[name]
    told: dict[str, Any] = {"method": name, "name": method.name, "venue": method.venue, "in_place": method.in_place}
    if not method.in_place:
        return told
    import torch

    found = class_of(name)
    with torch.device("meta"):
        parts = build(name, encoder="random").parameters_by_part()
    return told | {
        "paper": found.paper,
        "licence": found.licence,
        "size": found.native_size,
        "needs_training": found.needs_training,
        "parts": parts,
        "parameters": sum(count for part, count in parts.items() if part not in found.training_only),
        "trained_parameters": sum(parts[part] for part in found.trained),
    }


@contextmanager
def _bar(count: int) -> Iterator[Callable[[Record], None] | None]:
    """Steps, losses and time left, for people who look."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=count)

        def tick(record: Record) -> None:
            losses = " ".join(f"{name} {value:.3g}" for name, value in record.parts.items())
            bar.update(task, completed=record.step + 1, description=losses)

        yield tick
