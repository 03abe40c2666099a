"""`recolorist-lab weights list | fetch | check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from recolorist.cli import common
from recolorist.cli.app import App
from recolorist.errors import OptionError

__all__ = ["register"]

_Names = Annotated[list[str] | None, typer.Argument(help="Name of the weights; see: recolorist-lab weights list.")]
_Ca = Annotated[Path | None, typer.Option("--ca", help="Additional certificates to trust (PEM); default: RECOLORIST_CA.")]
_Mirror = Annotated[str | None, typer.Option("--mirror", help="Https address with copies under <mirror>/<host>/<path>.")]


def register(app: typer.Typer) -> None:
    """Add the commands.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [group.name for group in app.registered_groups]
        ['weights']
    """
    group = App(help="List, download and verify weights of networks.")
    for name, command in (("list", list_), ("fetch", fetch), ("check", check)):
        group.command(name)(command)
    app.add_typer(group, name="weights")


def list_(*, as_json: common.Json = False) -> None:
    """List the weight files: purpose, licence, and whether they are on this machine."""
    from recolorist_lab.assets.weights import WEIGHTS, find_weights

    paths = {name: find_weights(name) for name in WEIGHTS}
    if as_json:
        files = {
            name: {
                "file": weights.file,
                "sha256": weights.sha256,
                "bytes": weights.bytes,
                "address": weights.address,
                "licence": weights.licence,
                "what": weights.what,
                "path": None if paths[name] is None else str(paths[name]),
            }
            for name, weights in WEIGHTS.items()
        }
        typer.echo(json.dumps(files, indent=2))
        return
    for name, weights in WEIGHTS.items():
        typer.echo(f"{name:<28}{'here' if paths[name] else 'missing':<9}{weights.what}")
        typer.echo(f"{'':<37}{weights.file}; {weights.licence}")
        typer.echo(
            f"{'':<37}{paths[name] or weights.address or ', '.join(f'or {name_instead}' for name_instead in weights.instead)}"
        )


def fetch(names: _Names = None, *, ca: _Ca = None, mirror: _Mirror = None) -> None:
    """Download weights and verify them. An interrupted download is continued."""
    from recolorist_lab.assets.download import Link
    from recolorist_lab.assets.weights import WEIGHTS, path_of
    from recolorist_lab.progress import bytes_bar

    if not names:
        raise OptionError(f"no weights were named; accepted are {', '.join(WEIGHTS)}")
    with bytes_bar() as tick:
        for name in names:
            typer.echo(f"{name}: {path_of(name, link=Link(ca=ca, mirror=mirror), tick=tick)}")


def check(names: _Names = None) -> None:
    """Compare every file on this machine with its size and checksum."""
    from recolorist_lab.assets.weights import WEIGHTS, WeightsError, find_weights

    wrong = False
    for name in names or WEIGHTS:
        try:
            path = find_weights(name)
        except WeightsError as error:
            wrong = True
            typer.echo(f"recolorist-lab: {name}: {error}", err=True)
        else:
            typer.echo(f"{name}: {'not here' if path is None else f'{path} is right'}")
    if wrong:
        raise typer.Exit(common.SOME_FAILED)
