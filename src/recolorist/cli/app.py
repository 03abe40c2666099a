"""What `recolorist` and `recolorist-lab` share: help screens, Ctrl-C, terminals without Unicode, errors as one sentence."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from recolorist.cli.common import INTERRUPTED, echo
from recolorist.errors import RecoloristError

__all__ = ["App", "run_app"]

_ASCII_ERRORS: Final = "recolorist.ascii"
_ASCII: Final = {
    "█": "#",
    "α": "a",
    "β": "b",
    "σ": "s",
    "μ": "m",
    "Δ": "d",
    "χ": "chi",
    "ε": "eps",
    "→": ">",
    "←": "<",
    "×": "x",
    "·": "*",
    "±": "+-",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "≤": "<=",
    "≥": ">=",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "²": "2",
    "µ": "u",
    "°": " deg",
    "✓": "ok",
}


class App(typer.Typer):
    """A `typer.Typer` whose flags are shown without a type, and whose commands answer Ctrl-C with a sentence.

    Args:
        **settings: Settings of `typer.Typer`.

    Example:
        >>> app = App(help="Count sheep.")
        >>> _ = app.command("count")(print)
        >>> [command.name for command in app.registered_commands]
        ['count']
    """

    def __init__(self, **settings: Any) -> None:
        # a bug should show Python's own traceback, which people know how to report
        super().__init__(cls=_Group, no_args_is_help=True, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Add a command; the settings are those of `typer.Typer.command`."""
        return super().command(name, **{"cls": _Command, **settings})


def run_app(app: typer.Typer, name: str, translate: Callable[[str], str] = str) -> None:
    """Run a command line; an error of ours is one sentence on standard error and exit code 1.

    Args:
        app: The commands.
        name: Name of the program, which begins the sentence.
        translate: Puts a message of the library into the words of the command line.
    """
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors=_ASCII_ERRORS)
    try:
        _build(app)(obj={"program": name})
    except RecoloristError as error:
        echo(f"{name}: {translate(' '.join(str(error).split()))}", err=True)
        sys.exit(1)


@cache
def _build(app: typer.Typer) -> Any:
    """Build the commands of an app, once; that takes longer than most commands run."""
    return typer.main.get_command(app)


class _Command(TyperCommand):
    """A command whose help names no type where an option takes no value."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters."""
        return _without_types_of_flags(super().get_params(ctx))


class _Group(TyperGroup):
    """Commands that answer Ctrl-C with a sentence; Click itself would only say that it was aborted."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters."""
        return _without_types_of_flags(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            name = (ctx.obj or {}).get("program", "recolorist")
            echo(f"{name}: interrupted; every file written is whole, and --resume goes on from here", err=True)
            sys.exit(INTERRUPTED)


def _without_types_of_flags(parameters: Any) -> Any:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


def _replace_by_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace what a terminal cannot show: letters and signs by others, the rest by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    text = "".join(_ASCII.get(character) or character.encode("ascii", "backslashreplace").decode() for character in characters)
    return text, error.end


codecs.register_error(_ASCII_ERRORS, _replace_by_ascii)
