"""`recolorist-lab compare`: does an augmentation help on your own images?"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Final

import typer

from recolorist.cli import common
from recolorist.cli.progress import show_progress
from recolorist_lab.cli.plugin import Plugins

__all__ = ["register"]

_Source = Annotated[Path, typer.Argument(help="Folder (hospital/class/*.png or class/*.png), table (CSV, Parquet) or manifest.")]
_Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for report, picture, numbers and trainings.")]
_TestShare = Annotated[
    float,
    typer.Option(
        "--test-share", min=0.0, max=0.9, help="Share of the images that is held out for the test, if there is one hospital."
    ),
]
_GroupPattern = Annotated[str, typer.Option("--group-pattern", help="Regular expression that finds the patient in a path.")]
_Root = Annotated[Path | None, typer.Option("--root", help="Folder that a table's paths are relative to.")]
_PathColumn = Annotated[str, typer.Option("--path-column", help="Column of the paths; default: path, file, filename or image.")]
_LabelColumn = Annotated[str, typer.Option("--label-column", help="Column of the classes.")]
_HospitalColumn = Annotated[str, typer.Option("--hospital-column", help="Column of the hospitals.")]
_GroupColumn = Annotated[str, typer.Option("--group-column", help="Column of the patients or slides.")]
_Method = Annotated[
    list[str] | None,
    typer.Option("--method", "-m", help="Augmentation to compare, instead of the default four; may be repeated."),
]
_Seeds = Annotated[int, typer.Option("--seeds", min=1, help="Number of trainings of each kind.")]
_Model = Annotated[str, typer.Option("--model", help="Name of a timm model, such as resnet18.")]
_Weights = Annotated[Path | None, typer.Option("--weights", help="File of weights to start from, such as ImageNet's.")]
_Size = Annotated[int, typer.Option("--size", min=16, help="Side of the images in pixels.")]
_Epochs = Annotated[
    int, typer.Option("--epochs", min=0, help="Passes over the training images; 0 for about 700 updates of the weights.")
]
_Batch = Annotated[int, typer.Option("--batch", min=2, help="Images in a minibatch.")]
_Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of trainings at a time; default: one per core or GPU.")
]

_HERE: Final = Path("compare")


def register(app: typer.Typer) -> None:
    """Add the command.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [command.name for command in app.registered_commands]
        ['compare']
    """
    app.command("compare")(compare)


def compare(
    source: _Source,
    *,
    out: _Out = _HERE,
    test_share: _TestShare = 0.0,
    group_pattern: _GroupPattern = "",
    root: _Root = None,
    path_column: _PathColumn = "",
    label_column: _LabelColumn = "label",
    hospital_column: _HospitalColumn = "domain",
    group_column: _GroupColumn = "group",
    method: _Method = None,
    seeds: _Seeds = 3,
    model: _Model = "test_byobnet",
    weights: _Weights = None,
    size: _Size = 48,
    epochs: _Epochs = 0,
    batch: _Batch = 32,
    jobs: _Jobs = None,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Train with and without augmentations, test on each hospital in turn, and state what can be concluded.

    If it is interrupted, the same command continues where it stopped.
    """
    from recolorist.collections.run import interrupt_on_termination, usable_cores
    from recolorist_lab.cli.sweep import bar
    from recolorist_lab.compare.images import ImageSource
    from recolorist_lab.compare.plan import METHODS, Training
    from recolorist_lab.compare.report import plain_text, write_report
    from recolorist_lab.compare.run import Request
    from recolorist_lab.compare.run import compare as run
    from recolorist_lab.data.own import Columns
    from recolorist_lab.runs.engines.devices import visible_devices

    columns = Columns(path_column, label_column, hospital_column, "", group_column)
    cores, gpus = usable_cores(), len(visible_devices())
    count = min(jobs or cores, gpus or jobs or cores)  # where there are GPUs, each training has one of its own
    file = "" if weights is None else str(weights.resolve())
    threads = max(1, cores // count)
    training = Training(tuple(method or METHODS), model, file, size, epochs, batch, threads, gpus=min(gpus, 1))
    images = ImageSource(source, root, columns, group_pattern, is_one_hospital=bool(test_share))
    try:
        with interrupt_on_termination(), redirect_stdout(sys.stderr):
            results = run(
                Request(images, out, training, seeds, test_share, count),
                say=typer.echo,
                shown=lambda name: bar(name, shown=not as_json),
                bar=lambda files, number: show_progress(files, number, "opening files"),
            )
    except KeyboardInterrupt:
        typer.echo("recolorist-lab: interrupted; finished trainings are kept, and the same command continues from here", err=True)
        raise typer.Exit(common.INTERRUPTED) from None
    files = write_report(results, out)
    if as_json:
        typer.echo((out / "results.json").read_text("utf-8"), nl=False)
    else:
        typer.echo(plain_text(results))
        typer.echo(f"\nWritten: {', '.join(str(path) for path in files)}.")
