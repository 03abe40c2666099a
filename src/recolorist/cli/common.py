"""What the commands for files and folders share: options, reports, exit codes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist._interrupt import INTERRUPTED
from recolorist.cli.progress import show_progress
from recolorist.errors import RecoloristError

if TYPE_CHECKING:
    from recolorist.collections.options import Where

__all__ = [
    "DRIFTED",
    "INTERRUPTED",
    "SOME_FAILED",
    "STANDARD_OUTPUT",
    "EngineName",
    "Force",
    "Jobs",
    "Json",
    "Lines",
    "Source",
    "check_reports",
    "echo",
    "level_of",
    "refuse_other_than_svg",
    "with_bar",
    "write_text",
]

SOME_FAILED: Final = 3  # the rest was done
DRIFTED: Final = 4
STANDARD_OUTPUT: Final = Path("-")

Source = Annotated[Path, typer.Argument(help="Folder, manifest (CSV, Parquet), list (.txt), .npz, .npy or image.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes; by default one per core. Same result for any.")
]
EngineName = Annotated[str, typer.Option("--engine", metavar="NAME", help="'local' processes, or a 'ray' cluster.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Lines = Annotated[
    Path | None, typer.Option("--lines", metavar="FILE", help="Write one line of JSON per image; - is standard output.")
]


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text in the encoding of standard output or standard error; `typer.echo` alone writes UTF-8 where that is ASCII.

    Args:
        text: The text.
        err: Whether it goes to standard error.
        nl: Whether a line ends after it.

    Raises:
        RecoloristError: The disk that the output is written to is full, say.
    """
    try:
        typer.echo(text, file=sys.stderr if err else sys.stdout, nl=nl)
    except BrokenPipeError:  # the reader closed the pipe
        raise
    except OSError as error:
        raise RecoloristError(f"what is printed cannot be written: {error.strerror}; the output is not complete") from error


def with_bar(where: Where, task: str) -> Where:
    """Return the same place of work with a progress bar for people.

    Args:
        where: Where the work is done.
        task: What is done, as a participle.

    Returns:
        The place of work.
    """
    return replace(where, progress=lambda results, count: show_progress(results, count, task))


def level_of(text: Any) -> int | None:
    """Read a level of sub-folders as typed.

    Args:
        text: A whole number or 'none'.

    Returns:
        The level; None for none.

    Raises:
        BadParameter: It is something else.

    Example:
        >>> level_of("none"), level_of("-1")
        (None, -1)
    """
    if str(text).lower() == "none":
        return None
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a whole number nor 'none'") from None


def refuse_other_than_svg(path: Path | None) -> None:
    """Refuse a name that does not end in .svg, because charts are written as SVG.

    Args:
        path: The file to write.

    Raises:
        OptionError: Its name does not end in .svg.
    """
    from recolorist.errors import OptionError

    if path is not None and path.suffix.lower() != ".svg":
        raise OptionError(f"{path} does not end in .svg; charts are written as SVG, which any browser opens")


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a report, whole or not at all, over nothing that is there unless forced; ``-`` is standard output.

    Args:
        path: The file to write.
        text: Its content.
        force: Whether a file that exists is replaced.
    """
    from recolorist.io.files import atomic_write

    if path == STANDARD_OUTPUT:
        echo(text, nl=False)
        return
    check_reports(path, force=force)
    atomic_write(path, text.encode("utf-8", "backslashreplace"))


def check_reports(*paths: Path | None, force: bool, as_json: bool = False) -> bool:
    """Check where reports go, before the work is done and not after.

    Args:
        paths: The files to write; ``-`` is standard output.
        force: Whether files that exist are replaced.
        as_json: Whether the result is printed as JSON.

    Returns:
        Whether a report goes to standard output, so that what people read must go to standard error.

    Raises:
        OptionError: A file exists, or two things would go to standard output.
    """
    from recolorist.errors import OptionError

    printed = [path for path in paths if path == STANDARD_OUTPUT]
    if len(printed) + as_json > 1:
        raise OptionError("standard output (-, --json) takes one report at a time; give the others the name of a file")
    for path in paths:
        if path is not None and path not in printed and path.exists() and not force:
            raise OptionError(f"{path} exists; pass --force to replace it")
    return bool(printed)
