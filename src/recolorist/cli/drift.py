"""`recolorist drift`: is today's data inside what the model was trained on?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.cli.options import with_options
from recolorist.cli.outcome import finish
from recolorist.collections.options import DriftOptions, SourceOptions, Where
from recolorist.io.images import Reading

if TYPE_CHECKING:
    from recolorist.collections.tasks import DriftResult

__all__ = ["register"]

_Bank = Annotated[Path, typer.Option("--bank", metavar="FILE", help="The bank of the training data.")]
_GROUP: Final = "Sub-folder level that names the group, or 'none'."
_Groups = Annotated[int | None, typer.Option("--group-from", parser=common.level_of, metavar="LEVEL", help=_GROUP)]
_FailOver = Annotated[
    float | None, typer.Option("--fail-over", metavar="SHARE", help="Exit with 4 if a larger share of any group is outside.")
]
_Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw both clouds (SVG).")]


def register(app: typer.Typer) -> None:
    """Add the command.

    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.name for command in app.registered_commands]
    ['drift']
    """
    app.command("drift")(drift)


@with_options("label_from", "domain_from")
def drift(
    source: common.Source,
    *,
    bank: _Bank,
    options: DriftOptions,
    group_from: _Groups = 0,
    fail_over: _FailOver = None,
    lines: common.Lines = None,
    plot: _Plot = None,
    select: SourceOptions,
    reading: Reading,
    where: Where,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Compare the colours of a collection with those of the training data."""
    from recolorist.collections.journal import as_line
    from recolorist.collections.tasks import compare_images, open_bank

    common.refuse_other_than_svg(plot)
    is_piped = common.check_reports(lines, plot, force=force, as_json=as_json)
    trained, coverage = open_bank(bank), options.coverage
    select = replace(select, domain_from=group_from)
    result = compare_images(trained, source, options, select, reading, common.with_bar(where, "measured"))
    if lines is not None:
        common.write_text(lines, "".join(as_line(line) + "\n" for line in result.lines), force=force)
    if plot is not None:
        from recolorist.report.charts import drift_chart

        common.write_text(plot, drift_chart(trained, result.measured, result.region), force=force)
    if not as_json:
        _print(result, coverage, is_piped=is_piped)
    over = fail_over is not None and any(group.share > fail_over for group in (result.overall, *result.groups))
    told = _told(result) | {"coverage": coverage, "fail_over": fail_over, "over": over}
    code = common.DRIFTED if over else 0  # before failed files: drift is what a pipeline asked about
    finish(told, result.failures, result.passed, as_json=as_json, code=code)


def _told(result: DriftResult) -> dict[str, Any]:
    outside = sorted((line for line in result.lines if line["outside"]), key=lambda line: -line["distance"])
    return {
        "threshold": result.region.threshold,
        "threshold_rule": result.region.rule,
        "styles": result.region.styles,
        "overall": result.overall.to_dict(),
        "groups": [group.to_dict() for group in result.groups],
        "outside": outside,
    }


def _print(result: DriftResult, coverage: float, *, is_piped: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from recolorist.io.reading import display_path

    console = Console(stderr=is_piped)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("group", overflow="fold")
    for name in ("images", "outside", "expected", "chance"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for group in (*result.groups, result.overall):
        chance = "< 0.0001" if group.chance < 1e-4 else f"{group.chance:.4f}"
        share, expected = f"{100 * group.share:.1f} %", f"{100 * (1 - coverage):.1f} %"
        table.add_row(display_path(group.name) or ".", str(group.images), share, expected, chance, group.verdict)
    console.print(table)
    for group in (*result.groups, result.overall):
        console.print(Text(f"{display_path(group.name) or '.'}: most moved {group.words}"), soft_wrap=True)
    rule = {
        "leave-one-out": "taken from the bank itself, leaving out each of its images in turn",
        "F": "that of normal data, by the F distribution, since the bank is small",
    }[result.region.rule]
    threshold = (
        f"inside: up to {result.region.threshold:.2f} deviations from the centre of {result.region.styles} styles; {rule}."
    )
    console.print(Text(threshold), soft_wrap=True)
    for line in sorted(result.lines, key=lambda line: -line["distance"])[:5]:
        if line["outside"]:
            console.print(Text(f"  {line['distance']:6.1f}  {display_path(line['source'])}: {line['words']}"), soft_wrap=True)
