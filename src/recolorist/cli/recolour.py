"""`recolorist augment` and `recolorist harmonise`: whole collections in other colours."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.cli.options import strength_of, with_options
from recolorist.cli.outcome import finish
from recolorist.collections.options import AugmentOptions, HarmoniseOptions, OutputOptions, SourceOptions, Where
from recolorist.io.images import Reading

if TYPE_CHECKING:
    from recolorist.collections.tasks import RunResult

__all__ = ["augment", "harmonise"]

_FOLDER: Final = "Folder to write into; it gets the structure of the source."
_Out = Annotated[Path | None, typer.Argument(help=_FOLDER)]
_OutOption = Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="The same, given by name.")]
_Bank = Annotated[Path, typer.Option("--bank", metavar="FILE", help="The bank styles are drawn from.")]
_Cross = Annotated[bool, typer.Option("--cross-domain", help="Styles of other domains only (sampler other_domain).")]
_RANGE: Final = "A number from 0 to 1, or a range to draw from: 0.5-1."
_Strength = Annotated[float, typer.Option(parser=strength_of, metavar="STRENGTH", help=_RANGE)]
_To = Annotated[str, typer.Option("--to", metavar="STYLE", help="The style: an image, a bank, or BANK:domain.")]


@with_options("eps_mode", "strict", "ties", strength=_Strength)
def augment(
    source: common.Source,
    out: _Out = None,
    *,
    folder: _OutOption = None,
    bank: _Bank,
    options: AugmentOptions,
    cross_domain: _Cross = False,
    select: SourceOptions,
    output: OutputOptions,
    reading: Reading,
    where: Where,
    as_json: common.Json = False,
) -> None:
    """Write stylised copies of a collection, and one line of provenance for each."""
    from recolorist.collections.tasks import write_augmented

    if cross_domain:
        options = replace(options, sampler="other_domain")
    target, where = _choose_folder(out, folder), common.with_bar(where, "augmented")
    result = write_augmented(source, target, bank, options, select, output, reading, where)
    _report(result, target, as_json=as_json)


@with_options("eps_mode", "strict", "ties", "label_from", "domain_from")
def harmonise(
    source: common.Source,
    out: _Out = None,
    *,
    folder: _OutOption = None,
    to: _To,
    options: HarmoniseOptions,
    select: SourceOptions,
    output: OutputOptions,
    reading: Reading,
    where: Where,
    as_json: common.Json = False,
) -> None:
    """Give every image of a collection one style: that of an image, of a bank, or of one of its domains.

    Images that lie inside the bank are left as they are, unless --gate off.
    """
    from recolorist.collections.one_file import open_style
    from recolorist.collections.tasks import write_harmonised

    target = _choose_folder(out, folder)
    style = open_style(to, reading, options.match.space, options.mask)
    options, where = replace(options, style_name=Path(to).name), common.with_bar(where, "harmonised")
    _report(write_harmonised(source, target, style, options, select, output, reading, where), target, as_json=as_json)


def _choose_folder(out: Path | None, folder: Path | None) -> Path:
    """Return the target folder, which is given by place or by name."""
    target = folder if out is None else out
    if target is None or (out is not None and folder is not None):
        raise typer.BadParameter("give the folder to write into once: as the second argument, or with --out FOLDER")
    return target


def _report(result: RunResult, out: Path, *, as_json: bool) -> None:
    clipped = [record["audit"]["clipped_overall"] for record in result.records if record["audit"]]
    flags = Counter(flag for record in result.records if record["audit"] for c in record["audit"]["flags"] for flag in c)
    summary: dict[str, Any] = {
        "folder": str(out),
        "written": len(result.records) - result.kept,
        "kept": result.kept,
        "failed": len(result.failures),
        "clipped_mean": sum(clipped) / len(clipped) if clipped else None,
        "clipped_worst": max(clipped, default=None),
        "flags": dict(flags),
        "blank": _count_flagged(result.records, "blank"),
        "detail_lost": _count_flagged(result.records, "detail_lost"),
    }
    judged = [record["gate"] for record in result.records if "gate" in record]
    gate = Counter(entry["reason"] for entry in judged)
    beyond = sum(entry["reason"] == "outside" and entry["distance_after"] > entry["edge"] for entry in judged)
    if {"inside", "outside"} & set(gate):
        summary["gate"] = dict(gate) | {"still_outside": beyond}
    if not as_json:
        from_before = f", {result.kept} kept from before" if result.kept else ""
        common.echo(
            f"{summary['written']} written{from_before}, {summary['failed']} failed; provenance.jsonl in {out} says what was done"
        )
        if "gate" in summary:
            common.echo(f"{gate['inside']} inside the bank and left as they are, {gate['outside']} outside and moved")
            if beyond:
                common.echo(
                    f"{beyond} of them are still outside: their channels are correlated differently; try --method covariance"
                )
        if summary["blank"]:
            common.echo(f"{summary['blank']} are blank and stay as they are, flagged 'blank'; --blank match changes them too")
        if summary["detail_lost"]:
            common.echo(
                f"{summary['detail_lost']} lost detail in more than 2 % of the patches, flagged 'detail_lost'; "
                "--max-loss 0.01 limits it"
            )
        if clipped:
            common.echo(
                f"clipped {100 * summary['clipped_mean']:.2f} % on average, {100 * summary['clipped_worst']:.2f} % at worst"
            )
    finish(summary, result.failures, result.ignored, as_json=as_json)


def _count_flagged(records: list[dict[str, Any]], flag: str) -> int:
    """Return the number of images of which a channel has the flag."""
    return sum(any(flag in channel for channel in record["audit"]["flags"]) for record in records if record["audit"])
