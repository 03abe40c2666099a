"""The option `--plugin`, shared by all commands that look up names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Plugins"]


def _add(files: list[Path] | None) -> list[Path] | None:
    """Load the plugin files before the rest of the command line is checked."""
    from recolorist_lab.plugins import add_file

    for file in files or ():
        add_file(file)
    return files


#: Files with augmentations, networks, metrics or datasets. They are in use when the command begins.
Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin", callback=_add, is_eager=True, help="Python file that adds augmentations, networks, metrics or datasets."
    ),
]
