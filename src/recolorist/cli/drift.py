"""`recolorist drift`: is today's data inside what the model was trained on?"""

from __future__ import annotations

import math
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
    from recolorist.bank.drift import Group, Region
    from recolorist.collections.tasks import DriftResult

__all__ = ["drift"]

_Bank = Annotated[Path, typer.Option("--bank", metavar="FILE", help="The bank of the training data.")]
_GROUP: Final = "Sub-folder level that names the group, or 'none'."
_Groups = Annotated[int | None, typer.Option("--group-from", parser=common.level_of, metavar="LEVEL", help=_GROUP)]
_OVER: Final = "Exit with 4 if a larger share of a group is outside than this, and chance is ruled out."
_SHIFT: Final = "Exit with 4 if a group moved by more deviations than this, and chance is ruled out."
_LEAST: Final = "Groups with fewer images do not fail."
_FailOver = Annotated[float | None, typer.Option("--fail-over", metavar="SHARE", help=_OVER)]
_FailShift = Annotated[float | None, typer.Option("--fail-shift", metavar="SDS", help=_SHIFT)]
_FailLeast = Annotated[int, typer.Option("--fail-least", metavar="N", help=_LEAST)]
_NAMED: Final = 5  # images outside that are printed; --json has all
_Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the training data and the new images (SVG).")]


@with_options("label_from", "domain_from")
def drift(
    source: common.Source,
    *,
    bank: _Bank,
    options: DriftOptions,
    group_from: _Groups = 0,
    fail_over: _FailOver = None,
    fail_shift: _FailShift = None,
    fail_least: _FailLeast = 20,
    lines: common.Lines = None,
    plot: _Plot = None,
    select: SourceOptions,
    reading: Reading,
    where: Where,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Compare the colours of a collection with those of the training data."""
    from recolorist.bank.style_bank import StyleBank
    from recolorist.collections.journal import as_line
    from recolorist.collections.tasks import compare_images

    common.refuse_other_than_svg(plot)
    _check_limits(fail_over, fail_shift, fail_least)
    is_piped = common.check_reports(lines, plot, force=force, as_json=as_json)
    trained = StyleBank.open(bank)
    select = replace(select, domain_from=group_from)
    result = compare_images(trained, source, options, select, reading, common.with_bar(where, "measured"))
    if lines is not None:
        common.write_text(lines, "".join(as_line(line) + "\n" for line in result.lines), force=force)
    if plot is not None:
        from recolorist.report.charts import drift_chart

        common.write_text(plot, drift_chart(trained, result.measured, result.region, result.overall), force=force)
    failed = [group.name for group in (*result.groups, result.overall) if _fails(group, fail_over, fail_shift, fail_least)]
    if not as_json:
        _print(result, failed, is_piped=is_piped)
    limits = {"fail_over": fail_over, "fail_shift": fail_shift, "fail_least": fail_least}
    summary = _summarise(result) | {"coverage": options.coverage, **limits, "over": bool(failed), "failed_groups": failed}
    code = common.DRIFTED if failed else 0  # before failed files: drift is what a pipeline asked about
    finish(summary, result.failures, result.ignored, as_json=as_json, code=code)


def _check_limits(over: float | None, shift: float | None, least: int) -> None:
    """Refuse limits that no group could ever exceed, or that every group does."""
    from recolorist.core.image import number
    from recolorist.io.reading import check_whole

    if over is not None:
        number(over, 0, 1, "fail_over")
    if shift is not None:
        number(shift, 0, math.inf, "fail_shift")
    check_whole(least, 1, None, "fail_least")


def _fails(group: Group, over: float | None, shift: float | None, least: int) -> bool:
    """Whether a group is large enough, exceeds a limit, and chance is ruled out."""
    if group.images < least:
        return False
    is_over = over is not None and group.share > over and group.has_images_outside
    return is_over or (shift is not None and group.shift.size > shift and group.is_shifted)


def _summarise(result: DriftResult) -> dict[str, Any]:
    outside = sorted((line for line in result.lines if line["outside"]), key=lambda line: -line["distance"])
    return {
        "threshold": result.region.threshold,
        "threshold_rule": result.region.rule,
        "expected": result.region.expected,
        "styles": result.region.styles,
        "overall": result.overall.to_dict(),
        "groups": [group.to_dict() for group in result.groups],
        "outside": outside,
    }


def _print(result: DriftResult, failed: list[str], *, is_piped: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from recolorist.io.reading import display_path

    console = Console(stderr=is_piped)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("group", overflow="fold", min_width=6)
    for name in ("images", "outside", "chance", "shift", "chance"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", min_width=15)
    for group in (*result.groups, result.overall):
        share, moved = f"{100 * group.share:.1f} %", f"{group.shift.size:.2f} SD"
        tested = _format_chance(group.shift.chance) if group.images > 1 else "-"
        figures = (str(group.images), share, _format_chance(group.chance), moved, tested)
        table.add_row(display_path(group.name) or ".", *figures, group.verdict)
    console.print(table)
    alpha = f"below {result.overall.alpha:g} the verdict names it"
    lines = [f"chance: how often as much or more is seen where nothing has changed; {alpha}."]
    lines += _describe_groups(result) + _describe_edge(result.region) + _name_farthest(result.lines)
    if failed:
        lines.append(f"failed (exit code {common.DRIFTED}): {', '.join(display_path(name) or '.' for name in failed)}")
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _describe_groups(result: DriftResult) -> list[str]:
    """What moved most in each group that drifted, and in all; of a single image its distance and rank: no test can judge it."""
    from recolorist.io.reading import display_path

    lines = []
    for group in (*(group for group in result.groups if group.drifted or group.images == 1), result.overall):
        text = f"{display_path(group.name) or '.'}: largest change in {group.words}"
        if group.images == 1:
            (line,) = (line for line in result.lines if group is result.overall or line["group"] == group.name)
            text += f"; {line['distance']:.1f} deviations from the centre, {line['nearer']:.0%} of the bank's images are nearer"
        lines.append(text)
    return lines


def _describe_edge(region: Region) -> list[str]:
    """Where the edge is, where it comes from, and what is expected outside."""
    from recolorist.bank.drift import SMALL_BANK

    rule = {
        "leave-one-out": "taken from the bank itself, leaving out each of its images in turn",
        "small bank": "the bank is small, so this is the larger of two estimates: its farthest style, and normal data",
    }[region.rule]
    edge = f"inside: up to {region.threshold:.2f} deviations from the centre of {region.styles} styles; {rule}."
    lines = [f"{edge} Of images like the bank's {100 * region.expected:.1f} % are expected outside."]
    if region.is_poorly_known:
        lines.append(f"The bank has fewer than {SMALL_BANK} styles, so that its edge is poorly known; build it from more images.")
    return lines


def _name_farthest(images: list[dict[str, Any]]) -> list[str]:
    """Name the images outside that are farthest from the bank."""
    from recolorist.io.reading import display_path

    outside = sorted((line for line in images if line["outside"]), key=lambda line: -line["distance"])
    shown = [f"  {line['distance']:6.1f}  {display_path(line['source'])}: {line['words']}" for line in outside[:_NAMED]]
    return [f"outside, the farthest first ({len(shown)} of {len(outside)}):", *shown] if outside else []


def _format_chance(value: float) -> str:
    return "≤ 1e-4" if value <= 1e-4 else f"{value:.4f}"
