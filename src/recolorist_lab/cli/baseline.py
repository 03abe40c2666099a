"""`recolorist-lab baseline list | info | train | stylise | convert`."""

from __future__ import annotations

import json
from typing import Any

import typer

from recolorist.cli import common
from recolorist.cli.app import App
from recolorist.errors import OptionError
from recolorist_lab.cli import baseline_files as files
from recolorist_lab.cli import baseline_train
from recolorist_lab.cli.plugin import Plugins

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [group.name for group in app.registered_groups]
        ['baseline']
    """
    group = App(help="The thirteen style-transfer networks of the paper.")
    for name, command in (
        ("list", list_),
        ("info", info),
        ("train", baseline_train.train),
        ("stylise", files.stylise),
        ("convert", files.convert),
    ):
        group.command(name)(command)
    group.command("apply", hidden=True, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(apply)
    app.add_typer(group, name="baseline")


def apply() -> None:
    """Refuse `baseline apply`, and name the right command."""
    raise OptionError(
        "there is no command `baseline apply`; to run images through a network, use `recolorist-lab baseline stylise`"
    )


def list_(*, _plugin: Plugins = None, as_json: common.Json = False) -> None:
    """List the networks: publication, licence, image size, parameters, training, and whether they are implemented."""
    from recolorist_lab.baselines.registry import METHODS

    rows = [_facts(name) for name in METHODS]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = [["method", "name", "published", "licence", "size", "parameters", "trained", "training", "in place"]]
    for row in rows:
        if not row["in_place"]:
            table.append([row["method"], row["name"], row["venue"], "", "", "", "", "", "not yet"])
            continue
        training = "from scratch" if row["needs_training"] else "as published"
        numbers = [f"{row['parameters']:,}", f"{row['trained_parameters']:,}"]
        licence = row["licence"].split(" (")[0].split(";")[0]  # info and --json have the whole sentence
        table.append([row["method"], row["name"], row["venue"], licence, str(row["size"]), *numbers, training, "yes"])
    files.columns(table, right=(4, 5, 6))


def info(method: files.Method, *, _plugin: Plugins = None, as_json: common.Json = False) -> None:
    """Print everything known about one network: paper, parts, options, recipe, official files."""
    from recolorist_lab.baselines.registry import class_of, options_of

    network = class_of(method)
    facts: dict[str, Any] = {
        **_facts(method),
        "options": {name: list(value) if isinstance(value, tuple) else value for name, value in options_of(method).items()},
        "recipe": network.defaults.described(),
        "official": [{**file._asdict(), "git_blobs": dict(file.git_blobs)} for file in network.official],
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(f"{facts['name']}: {facts['paper']}\nLicence of the official code: {facts['licence']}")
    for section in ("parts", "options", "recipe"):
        typer.echo(f"\n{section}")
        files.columns(
            [[f"  {name}", f"{value:,}" if section == "parts" else str(value)] for name, value in facts[section].items()]
        )
        if section == "parts":
            typer.echo(f"  trained: {facts['trained_parameters']:,}")
    typer.echo("\nofficial files")
    for file in network.official:
        typer.echo(f"  {file.part}: {file.file}, {file.what}\n    where: {file.address or 'not known'}")
        blobs = [f"git blob {blob}: {description}" for blob, description in file.git_blobs.items()]
        for line in blobs if blobs and not file.sha256 else [f"sha256 {file.sha256 or 'not known; pass --sha256'}"]:
            typer.echo(f"    {line}")


def _facts(name: str) -> dict[str, Any]:
    """Collect the facts about a network; parameters are counted without allocating them."""
    from recolorist_lab.baselines.registry import METHODS, build, class_of, name_of

    name = name_of(name)
    method = METHODS[name]
    facts: dict[str, Any] = {"method": name, "name": method.title, "venue": method.venue, "in_place": method.in_place}
    if not method.in_place:
        return facts
    import torch

    network = class_of(name)
    with torch.device("meta"):
        model = build(name, encoder="random")
    parts = model.parameters_by_part()
    return facts | {
        "paper": network.paper,
        "licence": network.licence,
        "size": network.native_size,
        "needs_training": network.needs_training,
        "parts": parts,
        "parameters": sum(count for part, count in parts.items() if part not in network.training_only),
        "trained_parameters": model.trained_count(),
    }
