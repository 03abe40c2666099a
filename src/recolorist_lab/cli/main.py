"""`recolorist-lab`: the command line of the study. Each group of commands lives in a module of its own."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Final

import typer

from recolorist._version import __version__
from recolorist.errors import RecoloristError
from recolorist_lab.cli import baseline as cli_baseline
from recolorist_lab.cli import compare as cli_compare
from recolorist_lab.cli import data as cli_data
from recolorist_lab.cli import metrics as cli_metrics
from recolorist_lab.cli import report as cli_report
from recolorist_lab.cli import reproduce as cli_reproduce
from recolorist_lab.cli import sweep as cli_sweep
from recolorist_lab.cli import train as cli_train
from recolorist_lab.cli import weights as cli_weights
from recolorist_lab.cli import zoo as cli_zoo

__all__ = ["app", "main"]

app: Final = typer.Typer(
    help="The study behind Recolorist: datasets, sweeps, tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a bug should show Python's own traceback, which people know how to report
)


def _version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"recolorist-lab {__version__}")
        raise typer.Exit


_Version = Annotated[bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)]


@app.callback()
def _options(*, version: _Version = False) -> None:
    """The study behind Recolorist: datasets, sweeps, tables."""


for _register in (
    cli_baseline.register,
    cli_compare.register,
    cli_data.register,
    cli_metrics.register,
    cli_report.register,
    cli_reproduce.register,
    cli_sweep.register,
    cli_train.register,
    cli_weights.register,
    cli_zoo.register,
):
    _register(app)


def main() -> None:
    """Run the command line; an error of ours is one sentence on standard error and exit code 1."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="replace")  # a terminal without Greek letters gets question marks, not a traceback
    try:
        app()
    except RecoloristError as error:
        typer.echo(f"recolorist-lab: {' '.join(str(error).split())}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
