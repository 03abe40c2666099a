"""`recolorist studio`: write the page, and open it if asked."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from recolorist.cli import common

__all__ = ["studio"]

_Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write.")]
_Open = Annotated[bool, typer.Option("--open", help="Open it in the browser.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")]


def studio(*, out: _Out = Path("studio.html"), open_it: _Open = False, force: _Force = False) -> None:
    """Write one web page that matches colours in the browser; nothing leaves the machine."""
    from recolorist.studio import write  # draws the examples, so it is loaded only when asked for

    path = write(out, overwrite=force).resolve()
    common.echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB): open it in any browser; it needs no server and no network.")
    if open_it and not webbrowser.open(path.as_uri()):
        common.echo("No browser could be started; open the file by hand.", err=True)
