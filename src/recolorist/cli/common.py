"""What the commands for files and folders share: options, progress, what is said of failures, exit codes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

if TYPE_CHECKING:
    from recolorist.collections.chunks import Failure
    from recolorist.collections.options import Where
    from recolorist.io.listing import Passed

__all__ = [
    "DRIFTED",
    "INTERRUPTED",
    "SOME_FAILED",
    "EngineName",
    "Force",
    "Jobs",
    "Json",
    "Lines",
    "Source",
    "finish",
    "interrupted",
    "level_of",
    "name_failures",
    "progress",
    "refuse_existing",
    "refuse_other_than_svg",
    "with_bar",
    "write_text",
]

SOME_FAILED: Final = 3  # the rest was done
DRIFTED: Final = 4
INTERRUPTED: Final = 130
_PATIENCE: Final = 2.0  # seconds before a progress bar is worth looking at
_NAMED: Final = 20  # failures that are printed; --json has all

Source = Annotated[Path, typer.Argument(help="Folder, manifest (CSV, Parquet), list (.txt), .npz, .npy or image.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Processes; by default one per core. Same result for any.")]
EngineName = Annotated[str, typer.Option("--engine", help="'local' processes, or a 'ray' cluster.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Lines = Annotated[Path | None, typer.Option("--lines", help="Write one line of JSON per image.")]


def with_bar(where: Where, what: str) -> Where:
    """Return the same place of work with a progress bar for people."""
    return replace(where, progress=lambda results, count: progress(results, count, what))


def level_of(text: Any) -> int | None:
    """Read a level of sub-folders as typed.

    >>> level_of("none"), level_of("-1")
    (None, -1)
    """
    if str(text).lower() == "none":
        return None
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a whole number nor 'none'") from None


def progress(results: Iterable[Any], count: int, what: str) -> Iterator[Any]:
    """Pass results on; show a bar on a terminal if it takes longer than two seconds."""
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=False, auto_refresh=False) as bar:
        task = bar.add_task(what, total=count, rate="", visible=False)
        start = shown = time.monotonic()
        for number, result in enumerate(results, 1):
            yield result
            now = time.monotonic()
            if now - start > _PATIENCE and now - shown > 0.1:
                shown = now
                bar.update(task, completed=number, rate=f"{number / (now - start):.1f}/s", visible=True)
                bar.refresh()


def finish(result: dict[str, Any], failures: list[Failure], passed: Passed, *, as_json: bool, code: int = 0) -> None:
    """Print JSON if asked, name what failed or was not read, and leave with ``code``, or with that of failures if it is 0."""
    if as_json:
        listed = [{"source": failure.key, "error": failure.message} for failure in failures]
        typer.echo(json.dumps(result | {"failures": listed, "ignored": passed.to_dict()}, indent=2))
    for sentence in passed.sentences():
        typer.echo(f"recolorist: {sentence}", err=True)
    name_failures(failures)
    if code or failures:
        raise typer.Exit(code or SOME_FAILED)


def name_failures(failures: list[Failure]) -> None:
    """One line each on standard error."""
    from recolorist.io.reading import display_path

    for one in failures[:_NAMED]:
        message = " ".join(one.message.split())
        typer.echo(f"recolorist: {'' if display_path(one.key) in message else display_path(one.key) + ': '}{message}", err=True)
    if len(failures) > _NAMED:
        typer.echo(f"recolorist: and {len(failures) - _NAMED} more; --json lists all", err=True)


def interrupted() -> NoReturn:
    """Say that nothing is half-written, and leave as an interrupted program does."""
    typer.echo("recolorist: interrupted; every file written is whole, and --resume goes on from here", err=True)
    sys.exit(INTERRUPTED)


def refuse_other_than_svg(path: Path | None) -> None:
    """Charts are SVG, which every browser shows at any size; a file named otherwise would mislead."""
    from recolorist.errors import OptionError

    if path is not None and path.suffix.lower() != ".svg":
        raise OptionError(f"{path} does not end in .svg; charts are written as SVG, which any browser opens")


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a report, whole or not at all, over nothing that is there unless forced."""
    from recolorist.io.files import atomic_write

    refuse_existing(force, path)
    atomic_write(path, text.encode("utf-8", "backslashreplace"))


def refuse_existing(force: bool, *paths: Path | None) -> None:
    """Refuse before the work is done, not after."""
    from recolorist.errors import OptionError

    for path in paths:
        if path is not None and path.exists() and not force:
            raise OptionError(f"{path} exists; pass --force to replace it")
