"""Ctrl-C while a command is still being loaded: one line and exit code 130, no traceback."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NoReturn

__all__ = ["INTERRUPTED", "exit_interrupted", "is_command"]

INTERRUPTED: Final = 130  # what a shell expects of a program that Ctrl-C has ended
_COMMANDS: Final = ("recolorist", "recolorist-lab")
_PACKAGES: Final = ("recolorist", "recolorist_lab")
_MODULE: Final = "-m"  # the option of Python, and its sys.argv[0] until it has found the module


def is_command() -> bool:
    """Return whether this process runs one of our commands, and not another program that imports the library.

    Returns:
        Whether it was started as `recolorist`, `recolorist-lab` or `python -m` with a module of ours.
    """
    name = sys.argv[0] if sys.argv else ""
    if name == _MODULE and _MODULE in sys.orig_argv[:-1]:
        module = sys.orig_argv[sys.orig_argv.index(_MODULE) + 1]
        return module.partition(".")[0] in _PACKAGES
    path = Path(name)
    if path.name == "__main__.py":
        return path.parent.name in _PACKAGES
    return path.stem.removesuffix("-script") in _COMMANDS


def exit_interrupted(name: str) -> NoReturn:
    """Leave with one line on standard error.

    Args:
        name: The name of the command.

    Raises:
        SystemExit: Always, with the code 130.
    """
    sys.stderr.write(f"{name}: interrupted\n")
    sys.exit(INTERRUPTED)
