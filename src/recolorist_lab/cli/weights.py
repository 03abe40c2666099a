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

_Names = Annotated[list[str] | None, typer.Argument(help="Which weights; see: recolorist-lab weights list.")]
_Ca = Annotated[Path | None, typer.Option("--ca", help="Further certificates to trust (PEM); also RECOLORIST_CA.")]
_Mirror = Annotated[str | None, typer.Option("--mirror", help="Https address with copies under <mirror>/<host>/<path>.")]


def register(app: typer.Typer) -> None:
    """Add the commands.

    >>> app = typer.Typer()
    >>> register(app)
    >>> [group.name for group in app.registered_groups]
    ['weights']
    """
    group = App(help="Weights of networks: what there is, what is here, downloads.")
    for name, command in (("list", list_), ("fetch", fetch), ("check", check)):
        group.command(name)(command)
    app.add_typer(group, name="weights")


def list_(*, as_json: common.Json = False) -> None:
    """List the files: what they are for, their licences, and whether they are on this machine."""
    from recolorist_lab.assets.weights import WEIGHTS, found

    here = {name: found(name) for name in WEIGHTS}
    if as_json:
        told = {
            name: {
                "file": one.file,
                "sha256": one.sha256,
                "bytes": one.bytes,
                "address": one.address,
                "licence": one.licence,
                "what": one.what,
                "path": None if here[name] is None else str(here[name]),
            }
            for name, one in WEIGHTS.items()
        }
        typer.echo(json.dumps(told, indent=2))
        return
    for name, one in WEIGHTS.items():
        typer.echo(f"{name:<28}{'here' if here[name] else 'missing':<9}{one.what}")
        typer.echo(f"{'':<37}{one.file}; {one.licence}")
        typer.echo(f"{'':<37}{here[name] or one.address or ', '.join(f'or {other}' for other in one.instead)}")


def fetch(names: _Names = None, *, ca: _Ca = None, mirror: _Mirror = None) -> None:
    """Download weights, each checked and under its name only when whole; an interrupted download goes on."""
    from recolorist_lab.assets.download import Link
    from recolorist_lab.assets.weights import WEIGHTS, path_of
    from recolorist_lab.progress import bytes_bar

    if not names:
        raise OptionError(f"name what to fetch: {', '.join(WEIGHTS)}")
    with bytes_bar() as tick:
        for name in names:
            typer.echo(f"{name}: {path_of(name, link=Link(ca=ca, mirror=mirror), tick=tick)}")


def check(names: _Names = None) -> None:
    """Hold every file that is here against its size and checksum."""
    from recolorist_lab.assets.weights import WEIGHTS, WeightsError, found

    wrong = False
    for name in names or WEIGHTS:
        try:
            path = found(name)
        except WeightsError as error:
            wrong = True
            typer.echo(f"recolorist-lab: {name}: {error}", err=True)
        else:
            typer.echo(f"{name}: {'not here' if path is None else f'{path} is right'}")
    if wrong:
        raise typer.Exit(common.SOME_FAILED)
