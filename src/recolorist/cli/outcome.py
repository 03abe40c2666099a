"""The end of a command on many files: its JSON, the files that failed or were not read, and its exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import typer

from recolorist.cli.common import SOME_FAILED, echo
from recolorist.cli.wording import for_commands

if TYPE_CHECKING:
    from recolorist.collections.chunks import Failure
    from recolorist.io.listing import Ignored

__all__ = ["finish", "name_failures"]

_NAMED: Final = 20  # failures that are printed; --json has all


def finish(result: dict[str, Any], failures: list[Failure], ignored: Ignored, *, as_json: bool, code: int = 0) -> None:
    """Print JSON if asked, name what failed or was not read, and leave with ``code``, or with that of failures if it is 0.

    Args:
        result: What the command found, as plain values.
        failures: Files that could not be worked on.
        ignored: What a folder holds and was not read.
        as_json: Whether the result is printed as JSON.
        code: The exit code, if it is not 0.

    Raises:
        Exit: Something failed, or ``code`` is not 0.
    """
    if as_json:
        listed = [{"source": failure.key, "error": for_commands(failure.message)} for failure in failures]
        echo(json.dumps(result | {"failures": listed, "ignored": ignored.to_dict()}, indent=2))
    for sentence in ignored.sentences():
        echo(f"recolorist: {for_commands(sentence)}", err=True)
    name_failures(failures)
    if code or failures:
        raise typer.Exit(code or SOME_FAILED)


def name_failures(failures: list[Failure]) -> None:
    """One line each on standard error.

    Args:
        failures: The files and what was wrong.
    """
    from recolorist.io.reading import display_path

    for failure in failures[:_NAMED]:
        message, name = for_commands(" ".join(failure.message.split())), display_path(failure.key)
        echo(f"recolorist: {'' if name in message else name + ': '}{message}", err=True)
    if len(failures) > _NAMED:
        echo(f"recolorist: and {len(failures) - _NAMED} more; --json lists all", err=True)
