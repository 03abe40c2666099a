"""`recolorist-lab baseline train`: train one network as a cell of the ledger, so that a sweep finds it finished."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.errors import OptionError
from recolorist_lab.baselines.recipe import VIEWS
from recolorist_lab.cli import baseline_files as files
from recolorist_lab.cli.plugin import Plugins

if TYPE_CHECKING:
    from recolorist_lab.runs.ledger import Ledger, Result
    from recolorist_lab.runs.study import Cell
    from recolorist_lab.studies.transfer.train import TransferTrain

__all__ = ["clip_of", "differences", "train"]

_OWN: Final = "default: that of the network."


def clip_of(text: Any) -> float:
    """Read the limit of the gradient's norm as typed.

    Args:
        text: A number, or 'none'.

    Returns:
        The number; 0, which lifts the limit, for 'none'.

    Raises:
        BadParameter: It is something else, or below 0.

    Example:
        >>> clip_of("0.5"), clip_of("none")
        (0.5, 0.0)
    """
    try:
        limit = 0.0 if str(text).lower() == "none" else float(text)
    except ValueError:
        limit = -1.0
    if not 0.0 <= limit < float("inf"):
        raise typer.BadParameter(f"{text!r} is not accepted; give a number from 0, or 'none'")
    return limit


_Iterations = Annotated[int | None, typer.Option("--iterations", min=1, help=f"Training steps; {_OWN}")]
_Epochs = Annotated[int | None, typer.Option("--epochs", min=1, help=f"Passes over the images; {_OWN}")]
_Batch = Annotated[int | None, typer.Option("--batch", min=1, help=f"Images in a step; {_OWN}")]
_Accumulate = Annotated[
    int | None, typer.Option("--accumulate", min=1, help=f"Number of equal parts of a batch, to save memory; {_OWN}")
]
_LoadSize = Annotated[int | None, typer.Option("--load-size", min=1, help=f"Side to which images are resized first; {_OWN}")]
_CropSize = Annotated[int | None, typer.Option("--crop-size", min=1, help=f"Side of the training crops; {_OWN}")]
_Steps = Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")]
_Data = Annotated[str, typer.Option("--data", help="Folder of images, manifest (.parquet), or name of a dataset.")]
_Split = Annotated[str, typer.Option("--split", help="Split of a manifest; do not train on images that you test on.")]
_Root = Annotated[Path | None, typer.Option("--root", help="Folder of the data; default: RECOLORIST_DATA.")]
_Out = Annotated[Path | None, typer.Option("--out", "-o", help="Folder for a copy of weights, losses and a picture.")]
_Rate = Annotated[float | None, typer.Option("--rate", help=f"Learning rate at the start; {_OWN}")]
_Clip = Annotated[
    float | None,
    typer.Option("--clip", parser=clip_of, metavar="NORM", help="Largest norm of the gradient; 'none' or 0 for no limit."),
]
_Keep = Annotated[
    str | None,
    typer.Option("--keep", help="Weights to keep: of the 'last' step, or of the 'best' epoch by the loss on --validation."),
]
_Validation = Annotated[
    str, typer.Option("--validation", help="Split that chooses the best epoch; default: 'val' if there is one.")
]
_View = Annotated[str | None, typer.Option("--view", help=f"How images become crops: {', '.join(VIEWS)}.")]
_Start = Annotated[
    str | None, typer.Option("--start", help="Start with trained parts: a file of `baseline train` or `convert`, or 'adain'.")
]
_Seed = Annotated[int, typer.Option(min=0, help="Seed of weights and draws.")]
_Threads = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Threads that read images; the result does not depend on it.")]
_Ledger = Annotated[
    Path, typer.Option("--ledger", envvar="RECOLORIST_LEDGER", help="Folder of results (ledger), shared with sweeps.")
]

_HERE: Final = Path("ledger")
#: Values of a configuration that stand for the method's own recipe.
_UNSET: Final[dict[str, object]] = {
    **dict.fromkeys(("iterations", "epochs", "batch", "accumulate", "load_size", "crop_size", "rate"), 0),
    **dict.fromkeys(("keep", "view"), ""),
    "clip": -1,
}


def train(
    method: files.Method,
    *,
    data: _Data,
    out: _Out = None,
    split: _Split = "train",
    root: _Root = None,
    iterations: _Iterations = None,
    epochs: _Epochs = None,
    batch: _Batch = None,
    accumulate: _Accumulate = None,
    load_size: _LoadSize = None,
    crop_size: _CropSize = None,
    rate: _Rate = None,
    clip: _Clip = None,
    keep: _Keep = None,
    validation: _Validation = "",
    view: _View = None,
    option: files.Options = None,
    encoder: files.Encoder = "auto",
    start: _Start = None,
    seed: _Seed = 0,
    device: files.Device = "auto",
    jobs: _Threads = 2,
    ledger: _Ledger = _HERE,
    checkpoint_every: _Steps = 1000,
    _plugin: Plugins = None,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Train a network on one training split, as released unless options change it.

    If it is interrupted, the same command continues where it stopped.
    """
    from recolorist_lab.baselines.registry import name_of
    from recolorist_lab.baselines.trainer import device_of
    from recolorist_lab.cli.train import cell_of, copy_files, run_by_hand
    from recolorist_lab.progress import shown_steps
    from recolorist_lab.runs.ledger import Ledger

    sizes = {"batch": batch, "accumulate": accumulate, "load_size": load_size, "crop_size": crop_size}
    lengths, choices = {"iterations": iterations, "epochs": epochs}, {"rate": rate, "clip": clip, "keep": keep, "view": view}
    recipe: dict[str, Any] = {**lengths, **sizes, **choices}
    work = {"seed": seed, "root": str(root or ""), "device": device_of(device), "readers": jobs, "checkpoint": checkpoint_every}
    values = {
        **{name: value for name, value in recipe.items() if value is not None},
        "method": name_of(method),
        "dataset": _dataset(data),
        "split": split,
        "validation": validation,
        "options": list(option or ()),
        "encoder": encoder,
        **work,
        **_start_of(start),
    }
    cell = cell_of("transfer_train", values, ("method", "dataset", "seed"))
    _refuse_recipe(cell.config, recipe)
    common.check_reports(None if out is None else out / "result.json", force=force)
    _tell_nearest(cell, book := Ledger(ledger))
    result = run_by_hand(cell, book, shown_steps("training"))
    if out is not None:
        copy_files(result, out)
    typer.echo(_as_json(cell.run_id, result) if as_json else _as_text(cell.config, cell.run_id, result))


def _tell_nearest(cell: Cell, book: Ledger) -> None:
    """Report on standard error in which fields a new run differs from the most similar finished one."""
    if book.state(cell).name not in ("missing", "stale"):
        return
    from recolorist_lab.baselines.registry import class_of
    from recolorist_lab.runs.config import identity_of
    from recolorist_lab.runs.ledger import Result

    identity = identity_of(cell.config)
    candidates = []
    for path in (folder / "result.json" for folder in book.folders()):
        if path.exists():
            other = Result.load(path.parent)
            if all(other.config.get(name) == identity[name] for name in ("method", "dataset")):
                candidates.append((differences(other.config, identity), path.parent.name))
    if not candidates:
        return
    fields, run = min(candidates, key=lambda pair: len(pair[0]))
    if not fields:  # other code or other data
        return
    network = class_of(cell.config.method)
    note = f"this is a new run; the most similar one in {book.root}, {run[:12]}, differs in " + "; ".join(fields)
    if network.defaults.rate_depends_on_length and any(field.startswith(("iterations", "epochs")) for field in fields):
        note += (
            f". The learning rate of {network.name} depends on the length of a run, so a longer run cannot continue a shorter one"
        )
    typer.echo(f"recolorist-lab: {note}.", err=True)


def differences(other: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    """List the fields of two configurations that differ, with both values in full.

    Args:
        other: The configuration of a finished run.
        present: That of the new one.

    Returns:
        A phrase for each field; values that are not set are called the method's own.

    Example:
        >>> differences({"rate": 0.1, "clip": -1.0, "options": ["a=1"]}, {"rate": 0.2, "clip": 0.0, "options": ["a=1", "b=2"]})
        ['rate: 0.1 there, 0.2 now', "clip: the method's own there, 0.0 now", 'options: without b=2 there']
    """
    fields = []
    for name in present:
        before, now = other.get(name), present[name]
        if before == now:
            continue
        if isinstance(before, list) and isinstance(now, list):
            parts = [f"without {item} there" for item in now if item not in before]
            parts += [f"without {item} now" for item in before if item not in now]
            fields.append(f"{name}: {', '.join(parts) or 'in another order'}")
        else:
            fields.append(f"{name}: {_format_value(name, before)} there, {_format_value(name, now)} now")
    return fields


def _format_value(name: str, value: object) -> str:
    """Format a value; one that is not set is the method's own."""
    is_unset = name in _UNSET and value == _UNSET[name]
    return "the method's own" if is_unset else repr(value)


def _dataset(data: str) -> str:
    """Return the name of a dataset; a folder of images gets a slash, so that it differs from a name."""
    from recolorist_lab.data.named import is_folder

    is_plain_folder = Path(data).is_dir() and not is_folder(data)
    if not is_plain_folder and not is_folder(data):
        return data
    from recolorist_lab.baselines.crops import Folder

    Folder(Path(data))  # refuses a folder without images
    return f"{data}/" if is_plain_folder else data


def _start_of(start: str | None) -> dict[str, str]:
    """Return the weights to start with: a method's name, or a file by its checksum."""
    from recolorist_lab.baselines.registry import METHODS, name_of
    from recolorist_lab.studies.transfer.train import sha256_of

    if start is None:
        return {}
    if (name := name_of(start, must_exist=False)) in METHODS:
        return {"start": name}
    return {"start": sha256_of(Path(start)), "start_file": start}


def _refuse_recipe(config: TransferTrain, changes: Mapping[str, Any]) -> None:
    """Refuse wrong options before anything runs, and sizes outside the bounds of the method."""
    from recolorist_lab.baselines.options import parsed
    from recolorist_lab.baselines.registry import class_of
    from recolorist_lab.studies.transfer.train import recipe_of

    parsed(config.method, config.options)
    network = class_of(config.method)
    network.defaults.but(**changes)
    recipe = recipe_of(config, network)
    for name in ("load_size", "crop_size"):
        if changes[name] is not None and changes[name] != getattr(recipe, name):
            least = network.least_crop if name == "crop_size" else recipe.crop_size
            raise OptionError(
                f"--{name.replace('_', '-')} {changes[name]}; accepted for {network.name} are {least} to "
                f"{getattr(network.defaults, name)}, its own"
            )


def _as_json(run: str, result: Result) -> str:
    return json.dumps({**result.result, "run": run}, indent=2)


def _as_text(config: TransferTrain, run: str, result: Result) -> str:
    values: Any = result.result
    losses = ", ".join(f"{name} {value:.4g}" for name, value in values["loss"].items())
    return (
        f"{config.method} on {config.dataset}: {values['steps']:,} steps, {values['seconds_per_step']:.3f} s each; "
        f"loss {losses}; {_describe_kept(values['kept'])}; run {run[:12]}."
    )


def _describe_kept(kept: Mapping[str, Any]) -> str:
    if kept["keep"] == "best":
        return f"kept the weights after step {kept['step']:,}, validation loss {kept['validation_loss']:.4g}"
    return "kept the weights of the last step"
