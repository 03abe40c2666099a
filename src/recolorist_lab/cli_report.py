"""`recolorist-lab report`: every table and figure of finished studies, and a page that ties them together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from recolorist import cli_common as common

__all__ = ["register"]

_Studies = Annotated[list[Path], typer.Argument(help="Studies, TOML files.")]
_Out = Annotated[Path, typer.Option("--out", "-o", help="Folder to write into.")]
_Ledger = Annotated[Path, typer.Option("--ledger", envvar="RECOLORIST_LEDGER", help="Folder of results.")]
_Partial = Annotated[bool, typer.Option("--partial", help="Report although cells are missing; they are listed.")]

_HERE: Final = Path("ledger")


def register(app: typer.Typer) -> None:
    """Add the command.

    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.name for command in app.registered_commands]
    ['report']
    """
    app.command("report")(report)


def report(
    studies: _Studies, *, out: _Out, ledger: _Ledger = _HERE, partial: _Partial = False, as_json: common.Json = False
) -> None:
    """Write tables (Markdown, LaTeX, CSV, HTML), figures (PNG, PDF) and a page; refused, naming the cells, if any is missing."""
    from recolorist_lab.ledger import Ledger
    from recolorist_lab.report.build import build
    from recolorist_lab.study import load

    told = build([load(path) for path in studies], Ledger(ledger), out, partial=partial)
    if as_json:
        typer.echo(json.dumps({"page": str(told.page), "tables": told.tables, "figures": told.figures}))
    else:
        typer.echo(f"{told.tables} tables and {told.figures} figures; open {told.page}")
