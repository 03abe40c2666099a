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

if TYPE_CHECKING:
    from recolorist.collections.one_file import Matched
    from recolorist.core.audit import Audit
    from recolorist.core.plan import Plan

__all__ = ["register"]

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
_AuditOut = Annotated[Path | None, typer.Option("--audit", metavar="FILE", help=_AUDIT)]
_Triptych = Annotated[
    Path | None, typer.Option("--triptych", metavar="FILE", help="Write content, style and output side by side (PNG).")
]
_MaskFile = Annotated[
    str | None,
    typer.Option("--mask", metavar="FILE|NAME", help="Pixels to measure: a file (0 is outside), 'tissue' or 'fundus'."),
]
_Pyramid = Annotated[bool, typer.Option("--pyramid", help="Add smaller levels to a huge TIFF.")]


def register(app: typer.Typer) -> None:
    """Add the command.

    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.name for command in app.registered_commands]
    ['match']
    """
    app.command("match")(match)


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
    given = _given(style, plan, options)
    if save_plan is not None and plan is None and options.needs_pixels:
        raise OptionError(f"method={options.method!r} has no plan to write; use mean_std or covariance, or drop --save-plan")
    is_piped = common.check_reports(save_plan, audit, triptych, force=force, as_json=as_json)
    done = match_file(content, given, out, options, masks=masks, output=output, reading=reading, pyramid=pyramid)
    if save_plan is not None and done.plan is not None:
        common.write_text(save_plan, done.plan.to_json() + "\n", force=force)
    if audit is not None:
        if done.audit is None:
            raise ImageError("an image that goes through in strips has no audit; the output was written")
        common.write_text(audit, done.audit.to_json() + "\n", force=force)
    if triptych is not None:
        _write_triptych(triptych, done)
    _print(done, out, as_json=as_json, is_piped=is_piped)


def _given(style: str | None, plan: Path | None, options: MatchOptions) -> str | Plan:
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
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{plan} cannot be read: {error}") from error


def _print(done: Matched, out: Path, *, as_json: bool, is_piped: bool) -> None:
    if as_json:
        result: dict[str, Any] = {"output": str(out), "size": list(done.size)}
        result["contrast"] = done.contrast
        result["plan"] = None if done.plan is None else json.loads(done.plan.to_json())
        result["audit"] = None if done.audit is None else json.loads(done.audit.to_json())
        common.echo(json.dumps(result, indent=2))
        return
    if done.plan is not None:
        common.echo(str(done.plan), err=is_piped)
    if done.audit is not None:
        for line in _audit_lines(done.audit):
            common.echo(line, err=is_piped)
    if done.contrast < 1 and done.plan is not None:
        share = f"{done.contrast:.0%} of the style's contrast"
        common.echo(f"to keep the limits: {share}, strength {done.plan.strength:.2f}", err=is_piped)
    common.echo(f"{done.size[1]} x {done.size[0]} pixels in {out}", err=is_piped)


def _audit_lines(audit: Audit) -> list[str]:
    """Say what was clipped, where detail was lost, and what the flags mean."""
    from recolorist.collections.flags import describe_flags

    lines = [f"clipped {100 * audit.clipped_overall:.2f} % of the values, correlation {audit.pearson_pooled:.4f}"]
    if audit.loss_worst_box is not None:
        left, top, right, bottom = audit.loss_worst_box
        share, worst = f"{100 * audit.loss_share:.1f} %", f"{100 * audit.loss_worst:.0f} %"
        lines.append(f"detail: {share} of the patches lost more than half; the worst {worst}, x {left}-{right}, y {top}-{bottom}")
    return lines + describe_flags(flag for channel in audit.flags for flag in channel)


def _write_triptych(path: Path, done: Matched) -> None:
    from recolorist.io.files import atomic_write
    from recolorist.io.write import encode
    from recolorist.report.thumbnails import side_by_side

    if done.content is None or done.output is None:
        raise ImageError("an image that goes through in strips has no triptych; the output was written")
    pictures = [("content", done.content), ("style", done.style), ("output", done.output)]
    atomic_write(path, encode(side_by_side([(name, pixels) for name, pixels in pictures if pixels is not None]), ".png"))
