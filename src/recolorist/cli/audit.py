"""`recolorist audit`: a collection looked at before anything is done to it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.cli.options import with_options
from recolorist.cli.outcome import finish
from recolorist.collections.options import AuditOptions, SourceOptions, Where
from recolorist.io.images import Reading

if TYPE_CHECKING:
    from recolorist.collections.tasks import AuditResult

__all__ = ["audit"]

_Bank = Annotated[Path | None, typer.Option("--bank", metavar="FILE", help="Also try every image against styles of this bank.")]
_Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report with pictures: one file, no scripts.")]

_CLIP: Final = "Flag an image if the median style clips a larger share of its values."
_LOSS: Final = "Flag an image if a larger share of its patches loses more than half of its detail."
_MaxClip = Annotated[float, typer.Option("--max-clip", metavar="SHARE", help=_CLIP)]
_MaxLoss = Annotated[float, typer.Option("--max-loss", metavar="SHARE", help=_LOSS)]


@with_options(clip=_MaxClip, loss=_MaxLoss)
def audit(
    source: common.Source,
    *,
    bank: _Bank = None,
    lines: common.Lines = None,
    html: _Html = None,
    options: AuditOptions,
    select: SourceOptions,
    reading: Reading,
    where: Where,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Report images that would clip or lose detail, are flat or blank, or differ from the rest."""
    from recolorist.bank.style_bank import StyleBank
    from recolorist.collections.journal import as_line
    from recolorist.collections.tasks import audit_images

    is_piped = common.check_reports(lines, html, force=force, as_json=as_json)
    opened = None if bank is None else StyleBank.open(bank)
    result = audit_images(source, opened, options, select, reading, common.with_bar(where, "audited"))
    if lines is not None:
        common.write_text(lines, "".join(as_line(line) + "\n" for line in result.lines), force=force)
    if html is not None:
        from recolorist.collections.audit_page import audit_page

        common.write_text(html, audit_page(result, source, reading, select), force=force)
    if not as_json:
        _print(result, is_piped=is_piped)
    finish({**result.summary, "images_flagged": _list_flagged(result)}, result.failures, result.ignored, as_json=as_json)


def _list_flagged(result: AuditResult) -> list[dict[str, Any]]:
    return [{"source": line["source"], "flags": line["flags"]} for line in result.lines if line["flags"]]


def _print(result: AuditResult, *, is_piped: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from recolorist.collections.flags import flags_of_summary
    from recolorist.io.reading import display_path

    console = Console(stderr=is_piped)
    summary = result.summary
    table = Table(
        title=f"{summary['images']} images, {summary['unflagged']} without a flag", title_justify="left", box=SIMPLE_HEAD
    )
    table.add_column("flag", no_wrap=True)
    table.add_column("images", justify="right", no_wrap=True)
    table.add_column("what it means, and what to do")
    for name, flag in flags_of_summary(summary).items():
        count = summary["flags"][name]
        table.add_row(name, str(count), f"{flag.meaning}: {flag.remedy}" if count else flag.meaning)
    console.print(table)
    if "clip_median" in summary:
        for bar in _histogram([line["clip_median"] for line in result.lines]):
            console.print(Text(bar), soft_wrap=True)
        worst = sorted(result.lines, key=lambda line: -line["clip_median"])[:5]
        for line in worst:
            console.print(Text(f"  {100 * line['clip_median']:5.1f} %  {display_path(line['source'])}"), soft_wrap=True)


def _histogram(shares: list[float]) -> list[str]:
    """Bars of text: how many images the median style would clip how much.

    >>> _histogram([0.0, 0.0, 0.3])[1].split()
    ['none', '2', '████████████████████████████████████████']
    """
    edges = [0.0, 0.001, 0.01, 0.02, 0.05, 0.10, 0.20, 1.0]
    names = ["none", "to 0.1 %", "to 1 %", "to 2 %", "to 5 %", "to 10 %", "to 20 %", "more"]
    counts = [sum(share == 0 for share in shares)]
    counts += [sum(low < share <= high for share in shares) for low, high in pairwise(edges)]
    most = max(*counts, 1)
    lines = ["values clipped by the median style of the bank, and the images with the most:"]
    for name, count in zip(names, counts, strict=True):
        bar = "█" * round(40 * count / most)
        lines.append(f"  {name:>9} {count:6}  {bar}".rstrip())
    return lines
