"""`recolorist-lab zoo …`: the authors' published checkpoints, and any folder of the same layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from recolorist.cli import common
from recolorist.cli.app import App

__all__ = ["register"]

_Name = Annotated[
    str, typer.Argument(help="Name of a checkpoint (see `zoo list`), or a folder with model.safetensors and config.json.")
]
_Folder = Annotated[Path | None, typer.Option("--folder", envvar="RECOLORIST_ZOO", help="Folder that holds checkpoints by name.")]
_Revision = Annotated[
    str | None, typer.Option("--revision", help="Commit, tag or branch on the Hub; default: the one downloaded before.")
]
_Dataset = Annotated[str | None, typer.Option("--dataset", "-d", help="Dataset to test on; default: the checkpoint's own.")]
_Root = Annotated[str, typer.Option("--root", help="Folder of the data; default: RECOLORIST_DATA.")]
_Split = Annotated[str, typer.Option("--split", help="Split to test on.")]
_Size = Annotated[
    int | None, typer.Option("--size", min=1, help="Side of the images in pixels; default: the checkpoint's, or 224.")
]
_Resize = Annotated[
    str | None, typer.Option("--resize", help="'letterbox' or 'squash'; default: the checkpoint's, or letterbox.")
]
_Batch = Annotated[int, typer.Option("--batch", min=1, help="Images at a time.")]
_Workers = Annotated[int, typer.Option("--workers", min=0, help="Processes that read images.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [group.name for group in app.registered_groups]
        ['zoo']
    """
    group = App(help="The authors' 57 published classifiers: list, load, evaluate.")
    group.command("list")(list_all)
    group.command("load")(load)
    group.command("evaluate")(evaluate)
    app.add_typer(group, name="zoo")


def list_all(*, as_json: common.Json = False) -> None:
    """List the checkpoints with the accuracies that their authors published."""
    from recolorist_lab.assets.zoo import CHECKPOINTS
    from recolorist_lab.paper.numbers import ZOO

    rows: list[dict[str, Any]] = [
        {"name": checkpoint.name, "dataset": checkpoint.dataset, "seed": checkpoint.seed, "repository": checkpoint.repository}
        | ZOO[checkpoint.their_dataset]._asdict()
        for checkpoint in CHECKPOINTS.values()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    typer.echo("name, classes, balanced accuracy over three seeds with Colorist (published), without augmentation")
    for row in rows:
        published = f"{row['colorist']:6.2f} ± {row['deviation']:.2f}  {row['no_augmentation']:6.2f}"
        typer.echo(f"{row['name']:<76} {row['classes']:>3}  {published}")


def load(name: _Name, *, folder: _Folder = None, revision: _Revision = None, as_json: common.Json = False) -> None:
    """Find or download a checkpoint, check that every tensor fits, and describe it."""
    from recolorist_lab.training import published
    from recolorist_lab.training.models import parameters

    checkpoint = published.load(name, folder, revision=revision)
    facts = {
        "name": checkpoint.name,
        "architecture": checkpoint.architecture,
        "classes": checkpoint.classes,
        "parameters": parameters(checkpoint.classifier),
        "mean": checkpoint.mean,
        "std": checkpoint.std,
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        says = "its own mean and deviation" if checkpoint.mean is not None else "no mean and deviation"
        typer.echo(
            f"{checkpoint.name}: {checkpoint.architecture}, {checkpoint.classes} classes, {facts['parameters']:,} parameters, "
            f"{says}."
        )


def evaluate(
    name: _Name,
    *,
    dataset: _Dataset = None,
    folder: _Folder = None,
    revision: _Revision = None,
    root: _Root = "",
    split: _Split = "test",
    size: _Size = None,
    resize: _Resize = None,
    batch: _Batch = 64,
    workers: _Workers = 0,
    as_json: common.Json = False,
) -> None:
    """Test a checkpoint on a dataset."""
    from recolorist.errors import OptionError
    from recolorist_lab.assets.zoo import CHECKPOINTS
    from recolorist_lab.data.named import open_dataset
    from recolorist_lab.paper.numbers import ZOO
    from recolorist_lab.training import published

    checkpoint = published.load(name, folder, revision=revision)
    published_as = CHECKPOINTS.get(checkpoint.name)
    dataset_name = dataset or (published_as.dataset if published_as else checkpoint.config.get("dataset"))
    if not isinstance(dataset_name, str):
        raise OptionError(f"{checkpoint.name} does not say what it was trained on; name a dataset with --dataset")
    images = open_dataset(dataset_name, root)
    scores: Any = published.evaluate(checkpoint, images, split=split, size=size, resize=resize, batch=batch, workers=workers)
    if as_json:
        typer.echo(json.dumps({"checkpoint": checkpoint.name, "dataset": dataset_name, "split": split, **scores}, indent=2))
        return
    typer.echo(
        f"{checkpoint.name} on {dataset_name}, {split}: {scores['images']:,} images, "
        f"balanced accuracy {scores['balanced_accuracy']:.4f}, accuracy {scores['accuracy']:.4f}, ECE {scores['ece']:.4f}; "
        f"mean and deviation {scores['normalised_with']}."
    )
    if published_as is not None:
        accuracy = ZOO[published_as.their_dataset]
        typer.echo(f"Published over three seeds: {accuracy.colorist:.2f} ± {accuracy.deviation:.2f} %.")
