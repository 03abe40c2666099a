"""`recolorist-lab train`: train one classifier as a cell of the ledger, so that a sweep finds it finished."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.collections.run import usable_cores
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.cli.plugin import Plugins
from recolorist_lab.runs.seeds import SEEDS

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from recolorist_lab.runs.ledger import Ledger, Result
    from recolorist_lab.runs.study import Cell

__all__ = ["cell_of", "copy_files", "register", "run_by_hand"]

_Dataset = Annotated[
    str, typer.Argument(help="'synthetic', the name of a dataset such as 'pathmnist', or a manifest of `data index`.")
]
_Augmentation = Annotated[str, typer.Option("--augmentation", "-a", help="none, colorist, randaugment, colorist+random_flip, …")]
_Algorithm = Annotated[str, typer.Option("--algorithm", help="plain, erm, ib_erm, rsc, sd or selfreg.")]
_Seed = Annotated[int, typer.Option("--seed", help=f"The paper's single-seed analyses use {SEEDS[-1]}.")]
_Probability = Annotated[
    float | None, typer.Option("--probability", "-p", help="Probability of the augmentation; default: its own.")
]
_Model = Annotated[str, typer.Option("--model", help="Name of a timm model, such as resnet18.")]
_Set = Annotated[list[str] | None, typer.Option("--set", help="Another setting, as name=value; may be repeated.")]
_Root = Annotated[str, typer.Option("--root", help="Folder of the data; default: RECOLORIST_DATA.")]
_Ledger = Annotated[Path, typer.Option("--ledger", envvar="RECOLORIST_LEDGER", help="Folder of results.")]
_Out = Annotated[Path | None, typer.Option("--out", "-o", help="Folder for a copy of weights, scores and history.")]

_HERE: Final = Path("ledger")
_WORKERS: Final = 4  # as in a study; no more than there are cores, of which torch would warn
_SETS: Final = ("source", "val", "val_split", "test", "test_harmonised", "test_gated")


def register(app: typer.Typer) -> None:
    """Add the command.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [command.name for command in app.registered_commands]
        ['train']
    """
    app.command("train")(train)


def train(
    dataset: _Dataset,
    *,
    augmentation: _Augmentation = "none",
    algorithm: _Algorithm = "plain",
    seed: _Seed = SEEDS[-1],
    probability: _Probability = None,
    model: _Model = "densenet121",
    more: _Set = None,
    root: _Root = "",
    ledger: _Ledger = _HERE,
    out: _Out = None,
    _plugin: Plugins = None,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Train a classifier and test it.

    If it is interrupted, the same command continues where it stopped.
    """
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.training.watch import bar

    _refuse_folder(dataset, root)
    options = {
        "dataset": dataset,
        "augmentation": augmentation,
        "algorithm": algorithm,
        "seed": seed,
        "model": model,
        "root": root,
    }
    from_options = {**options, **({} if probability is None else {"probability": probability})}
    values = {"workers": min(_WORKERS, usable_cores()), **from_options, **_parse_settings(more or [], from_options)}
    cell, book = cell_of("classify", values, ("dataset", "seed")), Ledger(ledger)
    common.check_reports(None if out is None else out / "result.json", force=force)
    result = run_by_hand(cell, book, bar())
    if out is not None:
        copy_files(result, out)
    typer.echo(json.dumps(dict(result.result), indent=2) if as_json else _describe(cell, result))


def _refuse_folder(dataset: str, root: str) -> None:
    from recolorist_lab.data.named import ABSENT, fingerprint_of, is_folder

    if Path(dataset).is_dir() and (is_folder(dataset) or fingerprint_of(dataset, root) == ABSENT):
        raise OptionError(
            f"{dataset} is a folder; index its images first, with: recolorist-lab data index --folder {dataset} --test-share 0.2 "
            "--val-share 0.2, then train with the file that it writes"
        )


def cell_of(name: str, values: Mapping[str, Any], axes: tuple[str, ...]) -> Cell:
    """Return the same cell that a study of this kind with these settings has.

    Args:
        name: Of the kind of study.
        values: Settings, as a study's file has them.
        axes: Settings that a study varies.

    Returns:
        The cell.
    """
    from recolorist_lab.runs.config import parse
    from recolorist_lab.runs.kinds import KINDS
    from recolorist_lab.runs.study import Cell

    kind = KINDS[name]
    config = parse(kind.config, values, "train")
    return Cell("train", name, config, axes, code=kind.fingerprint(config), data=kind.data(config))


def _parse_settings(items: list[str], from_options: Mapping[str, Any]) -> dict[str, Any]:
    """Parse settings of the form name=value; values are TOML, and text needs no quotes."""
    settings: dict[str, Any] = {}
    for item in items:
        name, equals, text = (part.strip() for part in item.partition("="))
        if not equals or name in settings or name in from_options:
            raise OptionError(f"--set {item!r}; accepted is name=value, each name once, and no name that has its own option")
        try:
            settings[name] = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            settings[name] = text
    return settings


def run_by_hand(cell: Cell, book: Ledger, bar: AbstractContextManager[None]) -> Result:
    """Run a cell in this process with a progress bar; return its result, new or from an earlier run.

    Args:
        cell: The cell.
        book: Where its result is kept.
        bar: Shows progress.

    Returns:
        The result.

    Raises:
        RecoloristError: Another process is at it, or it failed.
    """
    from recolorist.collections.run import interrupt_on_termination
    from recolorist_lab.runs.cell import run_cell

    if book.state(cell).name == "failed":  # a command that is repeated by hand tries a failed cell again
        book.retry(cell)
    try:
        with interrupt_on_termination(), bar:
            outcome = run_cell(book.root, book.lease, cell)
    except KeyboardInterrupt:
        typer.echo("recolorist-lab: interrupted; the same command continues from the last checkpoint", err=True)
        raise typer.Exit(common.INTERRUPTED) from None
    if outcome.name == "busy":
        raise RecoloristError("another process runs the same training; wait for it, or name another --ledger")
    if outcome.name not in {"done", "reused"}:
        raise RecoloristError(f"the run failed: {outcome.message}")
    return book.result(cell)


def copy_files(result: Result, out: Path) -> None:
    """Copy a result and the files kept with it into a folder.

    Args:
        result: The result.
        out: The folder; made where it is missing.
    """
    from recolorist.io.files import atomic_write

    out.mkdir(parents=True, exist_ok=True)
    for name in result.payload["files"]:
        atomic_write(out / name, result.read(name))
    atomic_write(out / "result.json", (json.dumps(dict(result.result), indent=1) + "\n").encode())


def _describe(cell: Cell, result: Result) -> str:
    scores: Any = result.result
    config = cell.config
    title = f"{config.dataset}, {config.model}, augmentation {config.augmentation}, algorithm {config.algorithm}"
    epochs = f"best epoch {scores['best_epoch'] + 1} of {scores['epochs']}"
    lines = [f"{title}, seed {config.seed}: {epochs}, {scores['parameters']:,} parameters, run {cell.run_id[:12]}."]
    for name in _SETS:
        if name in scores:
            part = scores[name]
            auc = "–" if part["auc"] is None else f"{part['auc']:.4f}"
            lines.append(
                f"  {name:<16} {part['images']:>7,} images  balanced accuracy {part['balanced_accuracy']:.4f}  "
                f"accuracy {part['accuracy']:.4f}  AUC {auc}  ECE {part['ece']:.4f}"
            )
    return "\n".join(lines)
