"""`recolorist-lab report`: write every table and figure of finished studies, and a page with all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from recolorist.cli import common

__all__ = ["register"]

_Studies = Annotated[
    list[str] | None,
    typer.Option(
        "--study", help="Study: its TOML file, or its name in the ledger; may be repeated. Default: all studies of the ledger."
    ),
]
_Out = Annotated[Path, typer.Option("--out", "-o", help="Folder to write into.")]
_Ledger = Annotated[Path, typer.Option("--ledger", envvar="RECOLORIST_LEDGER", help="Folder of results.")]
_Partial = Annotated[bool, typer.Option("--partial", help="Write the report although cells are missing, and mark the gaps.")]

_HERE: Final = Path("ledger")


def register(app: typer.Typer) -> None:
    """Add the command.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [command.name for command in app.registered_commands]
        ['report']
    """
    app.command("report")(report)


def report(
    *, study: _Studies = None, out: _Out, ledger: _Ledger = _HERE, partial: _Partial = False, as_json: common.Json = False
) -> None:
    """Write the tables, figures and page of finished studies. If a result is missing, name its cell and stop."""
    from recolorist_lab.report.build import build
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.runs.remembered import studies_of

    book = Ledger(ledger, must_exist=True)
    summary = build(studies_of(book, study or ()), book, out, partial=partial)
    if as_json:
        typer.echo(
            json.dumps({"page": str(summary.page), "tables": summary.tables, "figures": summary.figures, "gaps": summary.gaps})
        )
    else:
        gaps = f"; {summary.gaps} cells are missing and marked" if summary.gaps else ""
        typer.echo(f"{summary.tables} tables and {summary.figures} figures{gaps}; open {summary.page}")
