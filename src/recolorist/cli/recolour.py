"""`recolorist augment` and `recolorist harmonise`: whole collections in other colours."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recolorist.cli import common

if TYPE_CHECKING:
    from recolorist.collections.write import RunResult

__all__ = ["register"]

_Out = Annotated[Path, typer.Argument(help="Folder to write into; it gets the structure of the source.")]
_Bank = Annotated[Path, typer.Option("--bank", help="The bank styles are drawn from.")]
_Copies = Annotated[int, typer.Option("--copies", "-k", min=1, help="Copies of each image, each in another style.")]
_P = Annotated[float, typer.Option("--p", help="Probability that an image is changed.")]
_Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same images, same outputs.")]
_Sampler = Annotated[str, typer.Option("--sampler", help="How styles are drawn: uniform, interpolate, gaussian, …")]
_Cross = Annotated[bool, typer.Option("--cross-domain", help="Styles of other domains only (sampler other_domain).")]
_Strength = Annotated[str, typer.Option("--strength", help="A number from 0 to 1, or a range to draw from: 0.5-1.")]
_MaxClip = Annotated[float | None, typer.Option("--max-clip", help="Largest share of values a style may clip.")]
_AllowSplit = Annotated[bool, typer.Option("--allow-split", help="Use a bank that is not of a training split, knowingly.")]
_To = Annotated[str, typer.Option("--to", help="The style: an image, a bank, or BANK:domain.")]
_Pool = Annotated[bool, typer.Option("--pool", help="Measure all images of a folder (tiles of a slide) together.")]


def register(app: typer.Typer) -> None:
    """Add the commands.

    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.name for command in app.registered_commands]
    ['augment', 'harmonise']
    """
    app.command("augment")(augment)
    app.command("harmonise")(harmonise)


def augment(
    source: common.Source,
    out: _Out,
    *,
    bank: _Bank,
    copies: _Copies = 1,
    p: _P = 1.0,
    seed: _Seed = 0,
    sampler: _Sampler = "uniform",
    cross_domain: _Cross = False,
    method: common.Method = "mean_std",
    space: common.Space = "rgb",
    strength: _Strength = "1",
    max_gain: common.MaxGain = 10.0,
    max_clip: _MaxClip = None,
    mask: common.Mask = None,
    apply_to: common.ApplyTo = "all",
    allow_split: _AllowSplit = False,
    label_from: common.LabelFrom = "-1",
    domain_from: common.DomainFrom = "none",
    split: common.Split = None,
    root: common.Root = None,
    quality: common.Quality = 95,
    keep_icc: common.KeepIcc = False,
    full_audit: common.FullAudit = False,
    max_pixels: common.MaxPixels = None,
    convert: common.Convert = False,
    bits: common.Bits = None,
    data_range: common.DataRange = None,
    level: common.Level = 0,
    jobs: common.Jobs = None,
    engine: common.EngineName = "local",
    address: common.Address = None,
    resume: common.Resume = False,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Write stylised copies of a collection, and one line of provenance for each."""
    from recolorist.collections import api as batch

    result = batch.augment(
        source,
        out,
        batch.open_bank(bank),
        copies=copies,
        p=p,
        seed=seed,
        sampler="other_domain" if cross_domain else sampler,
        method=method,
        space=space,
        strength=_range(strength),
        max_gain=max_gain,
        max_clip=max_clip,
        mask=mask,
        apply_to=apply_to,
        allow_split=allow_split,
        label_from=common.level_of(label_from),
        domain_from=common.level_of(domain_from),
        split=split,
        root=root,
        quality=quality,
        keep_icc=keep_icc,
        full_audit=full_audit,
        force=force,
        resume=resume,
        reading=common.reading_of(max_pixels, bits, data_range, level, convert=convert),
        where=common.where_of(jobs, engine, address, "augmented"),
    )
    _tell(result, out, as_json=as_json)


def harmonise(
    source: common.Source,
    out: _Out,
    *,
    to: _To,
    method: common.Method = "mean_std",
    space: common.Space = "rgb",
    strength: Annotated[float, typer.Option("--strength", help="0 leaves images alone, 1 matches fully.")] = 1.0,
    max_gain: common.MaxGain = 10.0,
    mask: common.Mask = None,
    apply_to: common.ApplyTo = "all",
    pool: _Pool = False,
    split: common.Split = None,
    root: common.Root = None,
    quality: common.Quality = 95,
    keep_icc: common.KeepIcc = False,
    full_audit: common.FullAudit = False,
    max_pixels: common.MaxPixels = None,
    convert: common.Convert = False,
    bits: common.Bits = None,
    data_range: common.DataRange = None,
    level: common.Level = 0,
    jobs: common.Jobs = None,
    engine: common.EngineName = "local",
    address: common.Address = None,
    resume: common.Resume = False,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Give every image of a collection one style: that of an image, of a bank, or of one of its domains."""
    from recolorist.collections import api as batch
    from recolorist.collections.one_file import style_of

    reading = common.reading_of(max_pixels, bits, data_range, level, convert=convert)
    result = batch.harmonise(
        source,
        out,
        style_of(to, reading, space, mask),
        style_name=Path(to).name,
        method=method,
        space=space,
        strength=strength,
        max_gain=max_gain,
        mask=mask,
        apply_to=apply_to,
        pool=pool,
        split=split,
        root=root,
        quality=quality,
        keep_icc=keep_icc,
        full_audit=full_audit,
        force=force,
        resume=resume,
        reading=reading,
        where=common.where_of(jobs, engine, address, "harmonised"),
    )
    _tell(result, out, as_json=as_json)


def _tell(result: RunResult, out: Path, *, as_json: bool) -> None:
    clipped = [record["audit"]["clipped_overall"] for record in result.records if record["audit"]]
    flags = Counter(flag for record in result.records if record["audit"] for c in record["audit"]["flags"] for flag in c)
    told: dict[str, Any] = {
        "folder": str(out),
        "written": len(result.records) - result.kept,
        "kept": result.kept,
        "failed": len(result.failures),
        "clipped_mean": sum(clipped) / len(clipped) if clipped else None,
        "clipped_worst": max(clipped, default=None),
        "flags": dict(flags),
    }
    if not as_json:
        kept = f", {result.kept} kept from before" if result.kept else ""
        typer.echo(f"{told['written']} written{kept}, {told['failed']} failed; provenance.jsonl in {out} says what was done")
        if clipped:
            typer.echo(f"clipped {100 * told['clipped_mean']:.2f} % on average, {100 * told['clipped_worst']:.2f} % at worst")
    common.finish(told, result.failures, as_json=as_json)


def _range(text: str) -> float | tuple[float, float]:
    """A number, or two with a dash between.

    >>> _range("1"), _range("0.5-1")
    (1.0, (0.5, 1.0))
    """
    try:
        low, dash, high = text.partition("-")
        return (float(low), float(high)) if dash else float(low)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor a range like 0.5-1") from None
