"""`recolorist bank build | info | merge | plot | share`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recolorist.cli import common
from recolorist.cli.app import App
from recolorist.cli.options import with_options
from recolorist.cli.outcome import finish
from recolorist.collections.options import BankOptions, SourceOptions, Where
from recolorist.io.images import Reading

if TYPE_CHECKING:
    from recolorist.bank.style_bank import StyleBank

__all__ = ["build", "commands", "info", "merge", "plot", "share"]

_Bank = Annotated[Path, typer.Argument(help="A bank file.")]
_Banks = Annotated[list[Path], typer.Argument(help="Two or more bank files.")]
_Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The bank file to write; .json writes JSON.")]
_Plot = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The picture to write (SVG).")]
_Step = Annotated[float, typer.Option("--step", metavar="N", help="Round to this many levels of 255.")]
_AtLeast = Annotated[int, typer.Option("--at-least", metavar="N", help="Leave out styles that fewer patients or images share.")]
_PATIENTS: Final = "Regular expression for the patient in the keys; patients are counted instead of images."
_Patients = Annotated[str | None, typer.Option("--patients", metavar="REGEX", help=_PATIENTS)]
_KeepName = Annotated[bool, typer.Option("--keep-name", help="Keep the name and the preprocessing.")]
_Gaussian = Annotated[bool, typer.Option("--gaussian", help="Share the Gaussian of the bank alone, and no style.")]
_EPSILON: Final = "Privacy budget of --gaussian: noise makes it differentially private."
_Epsilon = Annotated[float | None, typer.Option("--epsilon", metavar="N", help=_EPSILON)]
_Delta = Annotated[
    float, typer.Option("--delta", metavar="P", help="Delta of --epsilon; well below one over the number of patients.")
]
_KeepLabels = Annotated[bool, typer.Option("--labels", help="Keep the labels.")]
_KeepDomains = Annotated[bool, typer.Option("--domains/--no-domains", help="Keep the domains.")]
_Drop = Annotated[bool, typer.Option("--drop-outliers", help="Also leave out outliers, such as failed scans.")]


@dataclass(frozen=True)
class _Rounding:
    """How a bank is rounded for sharing, and what it keeps."""

    step: float = 8.0
    at_least: int = 5
    keep_labels: bool = False
    keep_domains: bool = True
    keep_name: bool = False


@dataclass(frozen=True)
class _GaussianOnly:
    """Whether the Gaussian of a bank is shared alone, and the privacy budget for it."""

    gaussian: bool = False
    epsilon: float | None = None
    delta: float = 1e-6


@with_options()
def build(
    source: common.Source,
    *,
    out: _Out,
    options: BankOptions,
    select: SourceOptions,
    drop_outliers: _Drop = False,
    reading: Reading,
    where: Where,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Measure every image of a collection and save the moments."""
    from recolorist.collections.tasks import measure_bank
    from recolorist.io.reading import display_path

    common.check_reports(out, force=force)
    result = measure_bank(source, options, select, reading, common.with_bar(where, "measured"))
    bank = result.bank.drop_outliers() if drop_outliers else result.bank
    _save(bank, out, force=force)
    if not as_json:
        common.echo(f"{len(bank)} styles, {len(bank.domains)} domains, {len(bank.labels)} labels in {out}")
        if bank.left_out:
            examples = ", ".join(display_path(entry.key) for entry in bank.left_out[:3]) + (
                ", …" if len(bank.left_out) > 3 else ""
            )
            common.echo(f"{len(bank.left_out)} blank image(s) left out: {examples}")
    finish({"bank": str(out), **bank.summary()}, result.failures, result.ignored, as_json=as_json)


def info(bank: _Bank, *, as_json: common.Json = False) -> None:
    """Print counts, the mean colour of each domain, and outliers."""
    from recolorist.bank.style_bank import StyleBank

    opened = StyleBank.open(bank)
    summary = opened.summary() | {"outlier_keys": [opened.keys[row] for row in opened.outliers()]}
    if as_json:
        common.echo(json.dumps(summary, indent=2))
    else:
        _print(opened, summary)


def merge(banks: _Banks, *, out: _Out, force: common.Force = False, as_json: common.Json = False) -> None:
    """Make one bank of several."""
    from recolorist.bank.style_bank import StyleBank

    common.check_reports(out, force=force)
    first, *others = [StyleBank.open(path) for path in banks]
    merged = first.merge(*others)
    _save(merged, out, force=force)
    summary = {"bank": str(out), **merged.summary()}
    common.echo(json.dumps(summary, indent=2) if as_json else f"{len(merged)} styles of {len(banks)} banks in {out}")


def plot(bank: _Bank, *, out: _Plot, force: common.Force = False, as_json: common.Json = False) -> None:
    """Draw every style as a point in its own colour, with an outline for its domain."""
    from recolorist.bank.style_bank import StyleBank
    from recolorist.report.charts import bank_chart

    common.refuse_other_than_svg(out)
    common.write_text(out, bank_chart(StyleBank.open(bank)), force=force)
    common.echo(json.dumps({"picture": str(out)}) if as_json else f"picture in {out}")


@with_options(
    step=_Step,
    at_least=_AtLeast,
    keep_labels=_KeepLabels,
    keep_domains=_KeepDomains,
    keep_name=_KeepName,
    gaussian=_Gaussian,
    epsilon=_Epsilon,
    delta=_Delta,
)
def share(
    bank: _Bank,
    *,
    out: _Out,
    rounding: _Rounding,
    only: _GaussianOnly,
    patients: _Patients = None,
    force: common.Force = False,
    as_json: common.Json = False,
) -> None:
    """Make a bank to give away: rounded numbers, no keys, and no style that fewer than a few patients share."""
    from recolorist.bank import share as bank_share
    from recolorist.bank.names import find_patients
    from recolorist.bank.style_bank import StyleBank

    common.check_reports(out, force=force)
    opened = StyleBank.open(bank)
    owners = None if patients is None else find_patients(opened.keys, patients)
    if only.gaussian or only.epsilon is not None:
        _share_gaussian(opened, out, owners, only, force=force, as_json=as_json)
        return
    shared = bank_share.share(opened, patients=owners, **asdict(rounding))
    _save(shared.bank, out, force=force)
    shift = 255 * float(abs(shared.bank.mean.mean(axis=0) - opened.mean.mean(axis=0)).max())
    summary = {
        "bank": str(out),
        "styles": len(shared.bank),
        "left_out": shared.left_out,
        "alone_before": shared.alone_before,
        "alone_after": shared.alone_after,
        "mean_shift_levels": shift,
    }
    text = (
        f"{len(shared.bank)} styles in {out}, {shared.left_out} left out; "
        f"{shared.alone_before:.1%} of the styles stood alone before, {shared.alone_after:.1%} do now; "
        f"the mean colour moved by {shift:.1f} levels"
    )
    if shared.left_out > len(shared.bank):
        text += "\nMost styles are left out, and with them most colours: raise --step, or share the Gaussian alone (--gaussian)."
    common.echo(json.dumps(summary, indent=2) if as_json else text)


def _share_gaussian(bank: StyleBank, out: Path, patients: Any, only: _GaussianOnly, *, force: bool, as_json: bool) -> None:
    """Write the Gaussian of a bank and say what it reveals."""
    from recolorist.bank.gaussian import Budget, share_gaussian

    shared = share_gaussian(bank, None if only.epsilon is None else Budget(only.epsilon, only.delta), patients)
    _save(shared.bank, out, force=force)
    kind = "images" if patients is None else "patients"
    spent = None if shared.budget is None else shared.budget._asdict()
    summary = {"bank": str(out), "styles": len(shared.bank), "fitted_to": shared.fitted_to, "counted": kind, "budget": spent}
    private = "not differentially private" if spent is None else f"epsilon {spent['epsilon']:g}, delta {spent['delta']:g}"
    text = f"the Gaussian of {shared.fitted_to} {kind} in {out}, {private}; draw from it with the sampler gaussian"
    common.echo(json.dumps(summary, indent=2) if as_json else text)


def _save(bank: StyleBank, out: Path, *, force: bool) -> None:
    common.check_reports(out, force=force)
    bank.save(out)


def _print(bank: StyleBank, summary: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from recolorist.bank.making import describe_mask

    console = Console()
    size = "mixed sizes" if bank.size is None else f"{bank.size[1]} x {bank.size[0]} pixels"
    facts = {
        "measured": describe_mask(bank.mask),
        "blank images": f"{bank.blank or 'not recorded'}{f' ({len(bank.left_out)})' if bank.left_out else ''}",
        "preparation": bank.preprocessing or "not recorded",
    }
    split = bank.split or "not recorded"
    head = f"{bank.name or 'unnamed'}: {len(bank)} styles, split {split}, {bank.channels} channel(s), {size}"
    console.print(Text(head, style="bold"), soft_wrap=True)
    for name, text in facts.items():
        console.print(Text(f"{name}: {text}"), soft_wrap=True)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("domain")
    for name in ("styles", "", "mean", "SD"):
        table.add_column(name, justify="right")
    for name, facts in {
        "all": {"styles": len(bank), "mean": summary["mean"], "std": summary["std"]},
        **summary["domains"],
    }.items():
        table.add_row(name, str(facts["styles"]), _swatch(facts["mean"]), _levels(facts["mean"]), _levels(facts["std"]))
    console.print(table)
    if summary["labels"]:
        labels = ", ".join(f"{name} {count}" for name, count in summary["labels"].items())
        console.print(Text(f"labels: {labels}"), soft_wrap=True)
    keys = summary["outlier_keys"]
    shown = ", ".join(repr(key) for key in keys[:5]) + (", …" if len(keys) > 5 else "")
    console.print(Text(f"outliers: {len(keys)} {'(' + shown + ')' if keys else ''}".rstrip()), soft_wrap=True)


def _swatch(mean: list[float]) -> Any:
    """A patch of the mean colour; terminals without colours show nothing there."""
    from rich.text import Text

    red, green, blue = (round(255 * min(1.0, max(0.0, value))) for value in (mean * 3)[:3])
    return Text("      ", style=f"on rgb({red},{green},{blue})")


def _levels(values: list[float]) -> str:
    return " ".join(f"{255 * value:5.1f}" for value in values)


commands: Final = App(help="Style banks: the moments of a training split, without its pixels.")
for _command in (build, info, merge, plot, share):
    commands.command(_command.__name__)(_command)
