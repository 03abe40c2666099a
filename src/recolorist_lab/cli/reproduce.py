"""`recolorist-lab reproduce`: run all studies and write the report with one command."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.core.image import option
from recolorist.errors import OptionError

if TYPE_CHECKING:
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.runs.sweep import Report
    from recolorist_lab.studies.estimate import Needs
    from recolorist_lab.studies.reproduce import Reproduction

__all__ = ["register"]

_Quick = Annotated[
    bool, typer.Option("--quick", help="Every study's quick configuration, on synthetic hospitals: minutes, no data needed.")
]
_Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the ledger and the report.")]
_LedgerAt = Annotated[Path | None, typer.Option("--ledger", help="Folder of results; default: OUT/ledger.")]
_Configs = Annotated[Path | None, typer.Option("--configs", help="Folder of study files; default: the paper's.")]
_Only = Annotated[list[str] | None, typer.Option("--only", help="Only this study; may be repeated.")]
_Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of cells at a time on this machine; default: one per core.")
]
_Address = Annotated[str | None, typer.Option("--address", help="Ray cluster ('auto' or host:port); default: one is started.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")]
_Dry = Annotated[bool, typer.Option("--dry-run", help="Only print what is needed.")]
_Partial = Annotated[bool, typer.Option("--partial", help="Run without datasets that are not available, and mark the gaps.")]

_HERE: Final = Path("reproduction")
_RETRIES: Final = 3


def register(app: typer.Typer) -> None:
    """Add the command.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [command.name for command in app.registered_commands]
        ['reproduce']
    """
    app.command("reproduce")(reproduce)


def reproduce(
    *,
    quick: _Quick = False,
    out: _Out = _HERE,
    ledger: _LedgerAt = None,
    configs: _Configs = None,
    only: _Only = None,
    jobs: _Jobs = None,
    engine: common.EngineName = "local",
    address: _Address = None,
    partial: _Partial = False,
    yes: _Yes = False,
    dry_run: _Dry = False,
    as_json: common.Json = False,
) -> None:
    """Run every study and write the report. Finished cells are kept, so the command can be repeated at any time."""
    from recolorist.collections.run import usable_cores
    from recolorist_lab.runs.ledger import Ledger
    from recolorist_lab.studies.reproduce import configs as own
    from recolorist_lab.studies.reproduce import planned

    option(engine, ("local", "ray"), "engine")
    if address is not None and engine != "ray":
        raise OptionError("--address names a Ray cluster; add --engine ray, or leave it out")
    plan, book = planned(configs or own(), quick=quick, only=only or ()), Ledger(ledger or out / "ledger")
    book.refuse_unwritable()
    summary: dict[str, Any] = {"quick": quick, "left_out": list(plan.left_out)}
    say = _nothing if as_json else typer.echo
    say(f"{len(plan.studies)} studies, {plan.cells} cells; results in {book.root}.")
    for words in plan.left_out:
        say(f"Left out: {words}.")
    if not quick:
        plan, needs = _prepare(plan, book, say, start=not dry_run, yes=yes, partial=partial)
        summary["needs"] = needs.to_json()
    if dry_run:
        say("Nothing was started.")
    else:
        where = {"engine": engine, "address": address, "jobs": jobs or usable_cores()}
        summary |= _run_and_report(plan, book, out / "report", say, where, bars=not as_json)
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
    if not summary.get("complete", True):
        raise typer.Exit(common.SOME_FAILED)


# ---- the full study: what it needs, and whether to start --------------------------------------------------------------------


def _prepare(plan: Reproduction, book: Ledger, say: Any, *, start: bool, yes: bool, partial: bool) -> tuple[Reproduction, Needs]:
    """Print what is needed, ask, and fetch open data; read the plan again, since data are part of every run id."""
    from dataclasses import replace

    from recolorist_lab.assets.weights import find_weights
    from recolorist_lab.runs.study import load
    from recolorist_lab.studies.estimate import measured, needs_of
    from recolorist_lab.studies.reproduce import NETWORKS, on_device

    device = _device()
    say("Running small cells to estimate the time …")
    with redirect_stdout(sys.stderr):
        rates = measured(plan.studies, networks=all(find_weights(name) is not None for name in NETWORKS), device=device)
    needs = needs_of(plan.studies, book, rates)
    for line in lines_of(needs):
        say(line)
    if start:
        _confirm(needs, yes=yes, partial=partial)
        _fetch(needs, say)
        plan = replace(plan, studies=on_device((load(path) for path in plan.files.values()), device))
    return plan, needs


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def lines_of(needs: Needs) -> list[str]:
    """Write what is needed as text.

    Args:
        needs: Time, space and data.

    Returns:
        Lines for people.
    """
    lines = ["Data:"]
    for dataset in needs.data:
        size = "size not published" if dataset.bytes is None else _bytes(dataset.bytes)
        how = "to download" if dataset.fetchable else f"must be requested ({dataset.access})"
        lines.append(f"  {dataset.name:<18}{'here' if dataset.is_present else f'missing, {how}, {size}'}")
    lines += [] if needs.data else ["  no files: synthetic images only"]
    lines.append("Time, one cell after the other:")
    for work in needs.work:
        hours = "moments" if work.hours is None else f"{_hours(work.hours)} h on this machine"
        hours += f", most of it {work.largest}" if work.largest else ""
        lines.append(f"  {work.study:<18}{work.left:,} of {work.cells:,} cells left, {hours}")
    if needs.gpu_hours is not None:
        lines.append(f"  together about {_hours(needs.gpu_hours)} GPU hours")
    unknown = sum(dataset.bytes is None and not dataset.is_present for dataset in needs.data)
    more = f", and {unknown} datasets whose size is not published" if unknown else ""
    lines.append(f"Disk: {_bytes(needs.disk)} for data and trained weights{more}.")
    return [*lines, *(f"How: {words}" for words in needs.how)]


def _hours(count: float) -> str:
    """Format a number of hours with two digits, since more would suggest a precision that is not there.

    >>> _hours(23244606.05), _hours(0.0231), _hours(0.0)
    ('23,000,000', '0.023', '0')
    """
    return f"{float(f'{count:.2g}'):,.10g}"


def _bytes(count: int) -> str:
    """Format a size in bytes.

    >>> _bytes(12_629_854_322), _bytes(30_903_564)
    ('12.6 GB', '30.9 MB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def _confirm(needs: Needs, *, yes: bool, partial: bool) -> None:
    asked_for = [dataset.name for dataset in needs.data if not dataset.is_present and not dataset.fetchable]
    if asked_for and not partial:
        raise OptionError(
            f"{len(asked_for)} datasets are missing and cannot be downloaded by a program: {', '.join(asked_for)}. "
            "`recolorist-lab data info NAME` says how to get each; --partial goes on without them and marks the gaps"
        )
    if yes:
        return
    if not _is_terminal():
        raise OptionError(
            "nothing was started: without a terminal the command cannot ask; add --yes to start, or --quick for a first look"
        )
    if not typer.confirm("Start?"):
        typer.echo("Nothing was started.")
        raise typer.Exit(1)


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _fetch(needs: Needs, say: Any) -> None:
    """Download and index open datasets that are missing."""
    from recolorist_lab.assets import fetch as fetching
    from recolorist_lab.data.index import index
    from recolorist_lab.data.named import data_root
    from recolorist_lab.data.registry import card_of
    from recolorist_lab.progress import bytes_bar

    for dataset in needs.data:
        if dataset.is_present or not dataset.fetchable:
            continue
        root = data_root()
        say(f"Fetching {dataset.title} into {root} …")
        with bytes_bar() as tick:
            fetching.fetch(card_of(dataset.name), root, tick=tick)
        index(card_of(dataset.name), root).write(root / f"{dataset.name}.parquet")


# ---- running and reporting --------------------------------------------------------------------------------------------------


def _run_and_report(
    plan: Reproduction, book: Ledger, out: Path, say: Any, where: dict[str, Any], *, bars: bool
) -> dict[str, Any]:
    from recolorist.collections.run import interrupt_on_termination
    from recolorist_lab.cli import sweep as cli_sweep
    from recolorist_lab.report.build import build
    from recolorist_lab.studies.reproduce import run

    start = time.monotonic()
    try:
        with interrupt_on_termination():
            reports = run(
                plan,
                book,
                lambda jobs: cli_sweep.engine_of(where["engine"], book, jobs, where["address"], _RETRIES),
                where["jobs"],
                lambda name: _bar(name, shown=bars),
                lambda name, report: _tell(name, report, say),
            )
            complete = all(report.is_complete for report in reports.values())
            say("Writing the report …")
            summary = build(plan.studies, book, out, partial=not complete)
    except KeyboardInterrupt:
        typer.echo("recolorist-lab: interrupted; finished cells are kept, and the same command continues from here", err=True)
        raise typer.Exit(common.INTERRUPTED) from None
    seconds = time.monotonic() - start
    say(f"{summary.tables} tables and {summary.figures} figures in {seconds / 60:.1f} minutes; open {summary.page}")
    studies = [{"study": name, **vars(report), "done": report.done} for name, report in reports.items()]
    written_report = {"page": str(summary.page), "tables": summary.tables, "figures": summary.figures, "gaps": summary.gaps}
    return {"complete": complete, "seconds": seconds, "studies": studies, "report": written_report}


@contextmanager
def _bar(name: str, *, shown: bool) -> Iterator[Callable[[Any], None]]:
    """Show a progress bar; the output of Ray and others goes to standard error meanwhile."""
    from recolorist_lab.cli.sweep import bar

    with redirect_stdout(sys.stderr), bar(name, shown=shown) as update:
        yield update


def _tell(name: str, report: Report, say: Any) -> None:
    counts = f"{report.ran} now, {report.reused} before, {report.elsewhere} by others"
    say(f"{name}: {report.done} of {report.total} cells done ({counts}) in {report.seconds:.0f} s.")
    for cell, message in report.failed.items():
        typer.echo(f"recolorist-lab: {cell} failed: {' '.join(message.split())}", err=True)
    for cell in report.blocked:
        typer.echo(f"recolorist-lab: {cell} was not run, because a cell that it needs failed", err=True)


def _nothing(_: str) -> None:
    """Print nothing, since with --json only the JSON is printed."""
