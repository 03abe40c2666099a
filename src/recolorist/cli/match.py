"""`recolorist match`: one file to another's colours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.cli.options import with_options
from recolorist.collections.options import Masks, OutputOptions
from recolorist.core.options import MatchOptions
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import Reading
from recolorist.io.reading import describe_unopened

if TYPE_CHECKING:
    from recolorist.collections.one_file import MatchResult
    from recolorist.core.audit import Audit
    from recolorist.core.plan import Plan

__all__ = ["match"]

_Content = Annotated[Path, typer.Argument(help="The image to change.")]
_Style = Annotated[str | None, typer.Argument(help="The image, or BANK[:domain], whose colours it gets.")]
_Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; its suffix chooses the format.")]
_PlanIn = Annotated[
    Path | None, typer.Option("--plan", metavar="FILE", help="Apply this plan (JSON) instead of matching a style.")
]
_PlanOut = Annotated[
    Path | None, typer.Option("--save-plan", metavar="FILE", help="Write the plan as JSON; - is standard output.")
]
_AUDIT: Final = "Write what was done to the image, one line of JSON; - is standard output."
_MUCH_CLIPPED: Final = 0.05  # share of the values; above it the command names the option that limits clipping
_AuditOut = Annotated[Path | None, typer.Option("--audit", metavar="FILE", help=_AUDIT)]
_Triptych = Annotated[
    Path | None, typer.Option("--triptych", metavar="FILE", help="Write content, style and output side by side (PNG).")
]
_MaskFile = Annotated[
    str | None,
    typer.Option("--mask", metavar="FILE|NAME", help="Pixels to measure: a file (0 is outside), 'tissue' or 'fundus'."),
]
_Pyramid = Annotated[bool, typer.Option("--pyramid", help="Add smaller levels to a huge TIFF.")]


@with_options("full_audit", "resume", "blank", mask=_MaskFile)
def match(
    content: _Content,
    style: _Style = None,
    *,
    out: _Out,
    plan: _PlanIn = None,
    options: MatchOptions,
    masks: Masks,
    save_plan: _PlanOut = None,
    audit: _AuditOut = None,
    triptych: _Triptych = None,
    pyramid: _Pyramid = False,
    output: OutputOptions,
    reading: Reading,
    as_json: common.Json = False,
) -> None:
    """Give an image the colour statistics of another one, of a bank, or of a saved plan."""
    from recolorist.collections.one_file import match_file

    force = output.force
    goal = _choose_goal(style, plan, options)
    if save_plan is not None and plan is None and options.needs_pixels:
        raise OptionError(f"method={options.method!r} has no plan to write; use mean_std or covariance, or drop --save-plan")
    is_piped = common.check_reports(save_plan, audit, triptych, force=force, as_json=as_json)
    result = match_file(content, goal, out, options, masks=masks, output=output, reading=reading, pyramid=pyramid)
    if save_plan is not None and result.plan is not None:
        common.write_text(save_plan, result.plan.to_json() + "\n", force=force)
    if audit is not None:
        if result.audit is None:
            raise ImageError("an image that is read in strips cannot be audited; the output was written")
        common.write_text(audit, result.audit.to_json() + "\n", force=force)
    if triptych is not None:
        _write_triptych(triptych, result)
    _print(result, out, as_json=as_json, is_piped=is_piped)


def _choose_goal(style: str | None, plan: Path | None, options: MatchOptions) -> str | Plan:
    """Return the style or the plan, of which one must be given."""
    from recolorist.core.plan import Plan

    if (style is None) == (plan is None):
        raise typer.BadParameter("give either a STYLE or --plan FILE")
    if plan is None:
        return str(style)
    if replace(options, apply_to="all") != MatchOptions():
        raise typer.BadParameter("--plan says how to match; with it, only --apply-to can be chosen")
    try:
        return Plan.from_json(plan.read_text("utf-8"))
    except OSError as error:
        raise OptionError(describe_unopened(plan, error)) from error
    except UnicodeDecodeError as error:
        raise OptionError(f"{plan} is not text; a plan is the JSON that --save-plan writes") from error


def _print(result: MatchResult, out: Path, *, as_json: bool, is_piped: bool) -> None:
    if as_json:
        summary: dict[str, Any] = {"output": str(out), "size": list(result.size)}
        summary["contrast"] = result.contrast
        summary["plan"] = None if result.plan is None else json.loads(result.plan.to_json())
        summary["audit"] = None if result.audit is None else json.loads(result.audit.to_json())
        common.echo(json.dumps(summary, indent=2))
        return
    if result.plan is not None:
        common.echo(str(result.plan), err=is_piped)
    if result.audit is not None:
        for line in _audit_lines(result.audit):
            common.echo(line, err=is_piped)
    if result.contrast < 1 and result.plan is not None:
        share = f"{result.contrast:.0%} of the style's contrast"
        common.echo(f"to keep the limits: {share}, strength {result.plan.strength:.2f}", err=is_piped)
    common.echo(f"{result.size[1]} x {result.size[0]} pixels in {out}", err=is_piped)


def _audit_lines(audit: Audit) -> list[str]:
    """Say what was clipped, where detail was lost, and what the flags mean."""
    from recolorist.collections.flags import describe_flags

    hint = "; --max-clip 0.02 limits it" if audit.clipped_overall > _MUCH_CLIPPED else ""
    lines = [
        f"clipped {100 * audit.clipped_overall:.2f} % of the values{hint}",
        f"correlation of content and output, channels together: {audit.pearson_pooled:.4f}",
    ]
    if audit.loss_worst_box is not None:
        left, top, right, bottom = audit.loss_worst_box
        share, worst = f"{100 * audit.loss_share:.1f} %", f"{100 * audit.loss_worst:.0f} %"
        lines.append(
            f"detail: {share} of the patches lost more than half; the worst lost {worst} (x {left}-{right}, y {top}-{bottom})"
        )
    return lines + describe_flags(flag for channel in audit.flags for flag in channel)


def _write_triptych(path: Path, result: MatchResult) -> None:
    from recolorist.io.files import atomic_write
    from recolorist.io.write import encode
    from recolorist.report.thumbnails import side_by_side

    if result.content is None or result.output is None:
        raise ImageError("a triptych cannot be made of an image that is read in strips; the output was written")
    pictures = [("content", result.content), ("style", result.style), ("output", result.output)]
    atomic_write(path, encode(side_by_side([(name, pixels) for name, pixels in pictures if pixels is not None]), ".png"))
