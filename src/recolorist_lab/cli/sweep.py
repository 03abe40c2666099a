"""`recolorist-lab sweep …`: run a study, show its progress, verify it, export its table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.cli.app import App
from recolorist.core.image import option
from recolorist.errors import OptionError
from recolorist_lab.cli.plugin import Plugins

__all__ = ["bar", "engine_of", "register"]

_Study = Annotated[Path, typer.Argument(help="The study, a TOML file.")]
_Studies = Annotated[list[Path] | None, typer.Argument(help="Studies (TOML files); default: the whole ledger.")]
_Ledger = Annotated[
    Path, typer.Option("--ledger", envvar="RECOLORIST_LEDGER", help="Folder of results; several machines may share it.")
]
_Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of cells at a time on this machine; default: one per core.")
]
_Address = Annotated[str | None, typer.Option("--address", help="Ray cluster ('auto' or host:port); default: one is started.")]
_Retries = Annotated[int, typer.Option("--retries", min=0, help="Number of further tries of a cell whose process died.")]
_Lease = Annotated[
    float, typer.Option("--lease", min=0.5, help="Seconds after which a claim that is not refreshed is free for another process.")
]
_Out = Annotated[Path | None, typer.Option("--out", "-o", help="File to write: .csv, .parquet or .json.")]
_Partial = Annotated[bool, typer.Option("--partial", help="Write the table although cells are missing; a column marks them.")]
_Timings = Annotated[bool, typer.Option("--timings", help="Add the time of each cell.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]
_Watch = Annotated[bool, typer.Option("--watch", "-w", help="Update the display until nothing is left to do.")]
_Cells = Annotated[bool, typer.Option("--cells", help="List every cell.")]
_Unused = Annotated[bool, typer.Option("--unused", help="Also delete runs that belong to none of the studies named.")]
_Dry = Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")]
_Only = Annotated[list[str] | None, typer.Option("--run", help="Only runs whose id begins with this text; may be repeated.")]

_HERE: Final = Path("ledger")


def register(app: typer.Typer) -> None:
    """Add the group of commands.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [group.name for group in app.registered_groups]
        ['sweep']
    """
    group = App(help="Run studies, show their progress, verify them, export their tables.")
    for command in (run, status, retry, verify, gc, export):
        group.command(command.__name__)(command)
    app.add_typer(group, name="sweep")


def run(
    study: _Study,
    *,
    ledger: _Ledger = _HERE,
    engine: common.EngineName = "local",
    jobs: _Jobs = None,
    address: _Address = None,
    retries: _Retries = 3,
    lease: _Lease = 120.0,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Run every cell that has no result. The command can be repeated, and run on several machines at once."""
    from recolorist.collections.run import interrupt_on_termination, usable_cores
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.runs.remembered import remember
    from recolorist_lab.runs.study import load
    from recolorist_lab.runs.sweep import run_study

    option(engine, ("local", "ray"), "engine")
    if address is not None and engine != "ray":
        raise OptionError("--address names a Ray cluster; add --engine ray, or leave it out")
    plan, book = load(study), Ledger(ledger, lease=lease)
    book.refuse_unwritable()
    remember(book, study)
    try:
        # Standard output is for the report; what Ray and others have to say meanwhile goes where messages go.
        with interrupt_on_termination(), redirect_stdout(sys.stderr), bar(plan.name, shown=not as_json) as update:
            kinds = {cell.kind for cell in plan.cells}
            works = engine_of(engine, book, jobs or usable_cores(), address, retries, trains="classify" in kinds)
            report = run_study(plan, book, works, retries=retries, on_progress=update)
    except KeyboardInterrupt:
        typer.echo("recolorist-lab: interrupted; finished cells are kept, and the same command continues from here", err=True)
        raise typer.Exit(common.INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps({"study": plan.name, **vars(report), "done": report.done}, indent=2))
    else:
        typer.echo(
            f"{plan.name}: {report.done} of {report.total} cells done ({report.ran} now, {report.reused} before, "
            f"{report.elsewhere} by others) in {report.seconds:.1f} s."
        )
    for name, message in report.failed.items():
        typer.echo(f"recolorist-lab: {name} failed: {' '.join(message.split())}", err=True)
    if report.failed:
        typer.echo(f"recolorist-lab: to try these again: recolorist-lab sweep retry {study} --ledger {ledger}", err=True)
    for name in report.blocked:
        typer.echo(f"recolorist-lab: {name} was not run, because a cell that it needs failed", err=True)
    if not report.is_complete:
        raise typer.Exit(common.SOME_FAILED)


def status(
    study: _Study,
    *,
    ledger: _Ledger = _HERE,
    watch: _Watch = False,
    cells: _Cells = False,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Show the progress of a study: cells by state, running cells and their processes, and the estimated time left."""
    from recolorist_lab.runs import status as view
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.runs.study import load

    plan, book = load(study), Ledger(ledger, must_exist=True)
    if as_json:
        typer.echo(json.dumps(view.survey(plan, book).to_json(cells=cells), indent=2))
    elif watch:
        view.watch(plan, book, cells=cells)
    else:
        view.show(view.survey(plan, book), cells=cells)


def retry(
    study: _Study, *, ledger: _Ledger = _HERE, only: _Only = None, _plugin: Plugins = None, as_json: common.Json = False
) -> None:
    """Clear the failures of a study, so that the next `sweep run` tries those cells again."""
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.runs.study import load

    plan, book = load(study), Ledger(ledger, must_exist=True)
    selected = [cell for cell in plan.cells if not only or cell.run_id.startswith(tuple(only))]
    if not selected:
        raise OptionError(
            f"no cell of {plan.name} has a run id that begins with {' or '.join(only or [])}; `sweep status --json` lists them"
        )
    cleared = [cell for cell in selected if book.state(cell).name == "failed"]
    for cell in cleared:
        book.retry(cell)
    names = [cell.name for cell in cleared]
    typer.echo(
        json.dumps({"cleared": names}, indent=2) if as_json else f"{len(names)} failures cleared; run the sweep to try again."
    )


def verify(studies: _Studies = None, *, ledger: _Ledger = _HERE, _plugin: Plugins = None, as_json: common.Json = False) -> None:
    """Read every result and its files, and compare them with their checksums."""
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.runs.status import damages
    from recolorist_lab.runs.study import load

    checked, corrupt = damages(Ledger(ledger, must_exist=True), [load(study) for study in studies or []])
    if as_json:
        typer.echo(json.dumps({"verified": checked - len(corrupt), "corrupt": corrupt}, indent=2))
    else:
        typer.echo(f"{checked - len(corrupt)} of {checked} results verified.")
    for message in corrupt.values():
        typer.echo(f"recolorist-lab: {message}", err=True)
    if corrupt:
        raise typer.Exit(common.SOME_FAILED)


def gc(
    studies: _Studies = None,
    *,
    ledger: _Ledger = _HERE,
    unused: _Unused = False,
    dry_run: _Dry = False,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Remove what killed processes left. Results are deleted only with --unused, if no named study uses them."""
    from recolorist_lab.runs import tidy
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.runs.study import load

    if unused and not studies:
        raise OptionError("--unused deletes the runs of all studies that are not named; name at least one study")
    book = Ledger(ledger, must_exist=True)
    removed = tidy.unused(book, [load(study) for study in studies or []], dry=dry_run) if unused else []
    left = tidy.leftovers(book, book.folders(), dry=dry_run)
    if as_json:
        inside = [[str(path.relative_to(book.root)) for path in paths] for paths in (left, removed)]
        typer.echo(json.dumps({"leftovers": inside[0], "runs": inside[1], "dry_run": dry_run}, indent=2))
    else:
        would = "would be " if dry_run else ""
        typer.echo(f"{len(left)} leftovers and {len(removed)} unused runs {would}removed.")


def export(
    study: _Study,
    *,
    ledger: _Ledger = _HERE,
    out: _Out = None,
    partial: _Partial = False,
    timings: _Timings = False,
    force: _Force = False,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Write the table of a study. If a result is missing, stale or damaged, name its cell and stop."""
    from recolorist.io.files import atomic_write
    from recolorist_lab.report import rows as table
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.runs.study import load

    if (out is None) == (not as_json):
        raise OptionError("no output was named; give a file with --out (.csv, .parquet or .json), or print the rows with --json")
    common.check_reports(out, force=force)
    rows = table.rows(load(study), Ledger(ledger, must_exist=True), partial=partial, timings=timings)
    if out is None:
        typer.echo(table.render(rows, ".json").decode(), nl=False)
    else:
        atomic_write(out, table.render(rows, out.suffix.lower()))
        typer.echo(f"{out}: {len(rows)} rows.")


def engine_of(name: str, ledger: Any, jobs: int, address: str | None, retries: int, *, trains: bool = False) -> Any:
    """Return the engine that runs cells: processes of this machine, or a Ray cluster.

    Args:
        name: ``"local"`` or ``"ray"``.
        ledger: Where results are kept.
        jobs: Cells at once.
        address: Of a Ray cluster.
        retries: Times a cell is tried again.
        trains: Whether cells train networks: torch is then loaded once, in the process that they are forked from.

    Returns:
        The engine.
    """
    if name == "ray":
        from recolorist_lab.runs.engines.ray import RayEngine

        return RayEngine(ledger, jobs, address, retries)
    from recolorist_lab.runs.engines.local import LocalEngine

    return LocalEngine(ledger, jobs, "recolorist_lab.compare.preload") if trains else LocalEngine(ledger, jobs)


@contextmanager
def bar(name: str, *, shown: bool) -> Iterator[Callable[[Any], None]]:
    """Show the progress of a sweep, unless it is switched off.

    Args:
        name: Of the study.
        shown: Show it.

    Yields:
        A function that takes a sweep's state and shows it.
    """
    from recolorist_lab.progress import steps_bar

    if not shown:
        yield lambda _: None
        return
    with steps_bar(name, "name", "bar", "count", "text", "elapsed", "left", is_kept=True) as update:
        yield lambda now: update(now.done, now.total, f"{now.running} running, {now.failed} failed")
