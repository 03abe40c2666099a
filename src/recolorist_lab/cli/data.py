"""`recolorist-lab data list | info | fetch | unpack | index | check | pack | stats | synthetic`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recolorist.cli import common
from recolorist.cli.app import App
from recolorist.cli.progress import show_progress
from recolorist.errors import OptionError

if TYPE_CHECKING:
    from recolorist_lab.data.cards import Card
    from recolorist_lab.data.index import Bar
    from recolorist_lab.data.manifest import Manifest
    from recolorist_lab.data.own import IndexOptions

__all__ = ["register"]

_NAMED = 20  # excluded files and faults that are printed; --json has all

_Name = Annotated[str, typer.Argument(help="A dataset of the study; see: recolorist-lab data list.")]
_MaybeName = Annotated[str | None, typer.Argument(help="A dataset of the study. Leave out with --folder, --csv or --npz.")]
_Manifests = Annotated[list[Path], typer.Argument(help="Manifests, or folders with manifests.")]
_Root = Annotated[Path, typer.Option("--root", help="Folder of the data.")]
_Ca = Annotated[Path | None, typer.Option("--ca", help="Additional certificates to trust (PEM); default: RECOLORIST_CA.")]
_Mirror = Annotated[str | None, typer.Option("--mirror", help="Https address with copies under <mirror>/<host>/<path>.")]
_AcceptNew = Annotated[
    bool,
    typer.Option("--accept-new", help="Accept files that changed since their first download, unless the card pins them."),
]
_Keep = Annotated[bool, typer.Option("--keep-archives", help="Keep archives after unpacking.")]
_Out = Annotated[Path | None, typer.Option("--out", "-o", help="Manifest to write; default: <root>/<name>.parquet.")]
_Allow = Annotated[
    bool,
    typer.Option(
        "--allow-different", help="Write the manifest although counts differ from the card, and record the differences."
    ),
]
_Options = Annotated[list[str] | None, typer.Option("--option", help="Option of the dataset, such as idrid=official516.")]
_Folder = Annotated[Path | None, typer.Option("--folder", help="Index your own images below a folder.")]
_Npz = Annotated[Path | None, typer.Option("--npz", help="Index your own images in an archive of arrays.")]
_Csv = Annotated[Path | None, typer.Option("--csv", help="Index your own images, listed in a table.")]
_As = Annotated[str | None, typer.Option("--name", help="Name of your own data; default: the name of the folder or file.")]
_LabelFrom = Annotated[str, typer.Option("--label-from", help="Folder level (0, 1, … or -1) or column that names the label.")]
_DomainFrom = Annotated[str, typer.Option("--domain-from", help="Folder level or column that names the domain, or 'none'.")]
_SplitFrom = Annotated[str, typer.Option("--split-from", help="Folder level or column that names the split, or 'none'.")]
_GroupFrom = Annotated[str, typer.Option("--group-from", help="Column that names the patient, or 'none'.")]
_ValDomain = Annotated[list[str] | None, typer.Option("--val-domain", help="Domain that becomes the validation split.")]
_TestDomain = Annotated[list[str] | None, typer.Option("--test-domain", help="Domain that becomes the test split.")]
_TestShare = Annotated[float, typer.Option("--test-share", help="Share of your own images that becomes the test split.")]
_ValShare = Annotated[float, typer.Option("--val-share", help="Share of your own images that becomes the validation split.")]
_GroupPattern = Annotated[str, typer.Option("--group-pattern", help="Regular expression that finds the patient in a path.")]
_Multi = Annotated[bool, typer.Option("--multilabel", help="An image may have several labels, joined by '|' in the table.")]


def register(app: typer.Typer) -> None:
    """Add the commands.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [group.name for group in app.registered_groups]
        ['data']
    """
    group = App(help="The nineteen datasets, your own, and synthetic ones.")
    for name, command in (
        ("list", list_),
        ("info", info),
        ("fetch", fetch),
        ("unpack", unpack),
        ("index", index),
        ("check", check),
        ("pack", pack),
        ("stats", stats),
        ("synthetic", synthetic),
    ):
        group.command(name)(command)
    app.add_typer(group, name="data")


def list_() -> None:
    """List the datasets: classes, number of images, access and licence."""
    from recolorist_lab.data.registry import CARDS

    rows = [["dataset", "classes", "images", "access", "licence"]]
    for card in CARDS.values():
        access = dict.fromkeys(source.access for source in card.sources)
        licences = dict.fromkeys(source.licence.split(";")[0].split(" as ")[0].split(" (")[0] for source in card.sources)
        total = sum(card.expected.sizes.values())
        rows.append([card.key, str(len(card.classes)), f"{total:,}", ", ".join(access), ", ".join(licences)])
    _columns(rows, right=(1, 2))


def info(name: _Name) -> None:
    """Print a dataset's card."""
    from recolorist_lab.data.describe import describe_card
    from recolorist_lab.data.registry import card_of

    typer.echo(describe_card(card_of(name)))


def fetch(
    name: _Name,
    *,
    root: _Root,
    ca: _Ca = None,
    mirror: _Mirror = None,
    keep_archives: _Keep = False,
    accept_new: _AcceptNew = False,
) -> None:
    """Download the open files of a dataset, and print how to get the others."""
    from recolorist_lab.assets import fetch as fetching
    from recolorist_lab.assets.download import Link
    from recolorist_lab.data.registry import card_of
    from recolorist_lab.progress import bytes_bar

    card = card_of(name)
    with bytes_bar() as tick:
        link = Link(ca=ca, mirror=mirror)
        fetched = fetching.fetch(card, root, link=link, tick=tick, keep_archives=keep_archives, accept_new=accept_new)
    for file in fetched.files:
        typer.echo(f"{file}: downloaded and verified.")
    for file in fetched.present:
        typer.echo(f"{file}: present and verified.")
    for source in fetched.by_hand:
        typer.echo(fetching.instructions(source, root))
    typer.echo(f"Then: recolorist-lab data index {card.key} --root {root}")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip or tar archive into a new folder. An archive with one bad member is refused as a whole."""
    from recolorist_lab.assets.archives import unpack as unpack_

    typer.echo(f"{unpack_(archive, folder):,} files in {folder}.")


def index(
    name: _MaybeName = None,
    *,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            help="Folder of the data, or the folder that paths of a table are relative to. The manifest is written there, "
            "and the arrays of --npz.",
        ),
    ] = None,
    out: _Out = None,
    allow_different: _Allow = False,
    option: _Options = None,
    folder: _Folder = None,
    csv: _Csv = None,
    npz: _Npz = None,
    called: _As = None,
    label_from: _LabelFrom = "",
    domain_from: _DomainFrom = "",
    split_from: _SplitFrom = "",
    group_from: _GroupFrom = "",
    val_domain: _ValDomain = None,
    test_domain: _TestDomain = None,
    test_share: _TestShare = 0.0,
    val_share: _ValShare = 0.0,
    group_pattern: _GroupPattern = "",
    multilabel: _Multi = False,
    jobs: common.Jobs = None,
) -> None:
    """Write the manifest of a dataset or of your own images. Every image is read once; unreadable ones are left out."""
    from recolorist_lab.data.own import IndexOptions
    from recolorist_lab.data.shares import split_by_shares

    if sum(value is not None for value in (name, folder, csv, npz)) != 1:
        raise OptionError("give exactly one of: the name of a dataset, --folder, --csv, --npz")
    bar = _bar("reading images")
    if name is not None:
        manifest, base = _of_card(name, root, out, option, bar, jobs or 2, allow_different=allow_different)
    else:
        name = called or (folder or csv or npz or Path()).resolve().stem
        plan = IndexOptions(
            name, "train", tuple(val_domain or ()), tuple(test_domain or ()), multilabel, group_pattern=group_pattern
        )
        levels = (label_from, domain_from, split_from, group_from)
        if npz is not None:
            manifest, base = _of_arrays(npz, root, out, plan, levels, bar, jobs or 2)
        else:
            manifest, base = _of_own(folder, csv, root, plan, levels, bar, jobs or 2)
        if test_share or val_share:
            manifest = split_by_shares(manifest, test=test_share, val=val_share)
    path = out or (root or base) / f"{manifest.facts.dataset}.parquet"
    if folder is not None or csv is not None:
        manifest = _relative_to(path.parent, manifest, base)
    _say(manifest, manifest.write(path))


def check(
    target: Annotated[str, typer.Argument(help="A dataset's name, or a manifest.")],
    *,
    root: Annotated[
        Path | None, typer.Option("--root", help="Folder of the data; default: that of the manifest, or RECOLORIST_DATA.")
    ] = None,
    jobs: common.Jobs = None,
) -> None:
    """Read every image of a manifest again, and compare pixels and counts with the manifest and the card."""
    from recolorist_lab.data.index import check as check_
    from recolorist_lab.data.manifest import Manifest
    from recolorist_lab.data.named import manifest_path
    from recolorist_lab.data.packed import check_packs
    from recolorist_lab.data.registry import find_card

    path = manifest_path(target, root)
    manifest = Manifest.read(path)
    folder = root or path.parent
    wrong = check_(manifest, folder, find_card(manifest.facts.dataset), jobs=jobs or 2, bar=_bar("checking"))
    wrong += check_packs(manifest, folder)
    for sentence in wrong[:_NAMED]:
        typer.echo(f"recolorist-lab: {sentence}", err=True)
    if len(wrong) > _NAMED:
        typer.echo(f"recolorist-lab: and {len(wrong) - _NAMED:,} more", err=True)
    if wrong:
        raise typer.Exit(common.SOME_FAILED)
    typer.echo(f"{path}: {len(manifest):,} images, all as indexed; fingerprint {manifest.fingerprint()[:16]}.")


def pack(
    target: Annotated[str, typer.Argument(help="A dataset's name, or a manifest.")],
    *,
    root: Annotated[Path | None, typer.Option("--root", help="Folder of the data; default: RECOLORIST_DATA.")] = None,
    size: Annotated[int, typer.Option(min=1, help="Side of the images in training.")] = 224,
    resize: Annotated[
        str, typer.Option(help="How images become square: 'letterbox' (as in training) or 'squash'.")
    ] = "letterbox",
    jobs: common.Jobs = None,
) -> None:
    """Decode and resize every image once into one array, from which training then reads.

    If it is interrupted, the same command continues where it stopped.
    """
    from recolorist.collections.run import usable_cores
    from recolorist_lab.data.loader import Samples
    from recolorist_lab.data.named import manifest_path
    from recolorist_lab.data.pack import pack as pack_

    path = manifest_path(target, root)
    samples = Samples(path, size=size, resize=resize)  # type: ignore[arg-type]  # which refuses other words
    folder = pack_(samples, jobs=jobs or usable_cores(), bar=_bar("packing"))
    taken = sum(file.stat().st_size for file in folder.iterdir())
    typer.echo(f"{folder}: {len(samples):,} images of {size} × {size} pixels, {resize}, {taken / 2**20:,.1f} MiB.")


def stats(manifests: _Manifests, *, as_json: common.Json = False) -> None:
    """Print the paper's table of datasets from manifests, with the paper's numbers beside them."""
    from recolorist_lab.data.describe import stats_rows
    from recolorist_lab.data.manifest import Manifest
    from recolorist_lab.data.registry import find_card
    from recolorist_lab.data.statistics import summary

    paths = [file for source in manifests for file in (sorted(source.glob("*.parquet")) if source.is_dir() else [source])]
    read = [Manifest.read(path) for path in paths]
    if not read:
        raise OptionError(f"{', '.join(map(str, manifests))} contains no manifest; make one with: recolorist-lab data index")
    lines = [summary(manifest, find_card(manifest.facts.dataset)) for manifest in read]
    if as_json:
        typer.echo(json.dumps([{**asdict(line), "agrees": line.agrees} for line in lines], indent=2))
    else:
        _columns(stats_rows(lines), right=(1, 2, 3, 4, 5, 6, 7))


def synthetic(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for tiles and manifest.")],
    hospitals: Annotated[int, typer.Option(min=1, help="Number of hospitals.")] = 5,
    tiles: Annotated[int, typer.Option(min=1, help="Tiles per hospital.")] = 160,
    size: Annotated[int, typer.Option(min=8, help="Pixels a side.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the tiles.")] = 0,
    png: Annotated[bool, typer.Option("--png", help="One PNG file per tile instead of one array.")] = False,
) -> None:
    """Draw synthetic hospitals: labelled tissue-like tiles that differ between hospitals only in colour."""
    from recolorist_lab.data.manifest import Manifest
    from recolorist_lab.data.synthetic import Recipe, write

    path = write(Recipe(hospitals=hospitals, tiles=tiles, size=size, seed=seed), out, png=png)
    _say(Manifest.read(path), path)


# ---- helpers ----------------------------------------------------------------------------------------------------------------


def _of_card(
    name: str, root: Path | None, out: Path | None, option: list[str] | None, bar: Bar, jobs: int, *, allow_different: bool
) -> tuple[Manifest, Path]:
    from recolorist_lab.data.index import index as index_
    from recolorist_lab.data.registry import card_of

    card: Card = card_of(name)
    if root is None:
        raise OptionError(f"--root is missing; give the folder that contains {card.title}")
    options = dict(_pair(text) for text in option or ())
    into = out.parent if out is not None and card.layout == "medmnist" else None
    return index_(card, root, into=into, allow_different=allow_different, options=options, jobs=jobs, bar=bar), root


def _of_arrays(
    npz: Path, root: Path | None, out: Path | None, plan: IndexOptions, levels: tuple[str, ...], bar: Bar, jobs: int
) -> tuple[Manifest, Path]:
    from recolorist_lab.data.own_arrays import index_npz

    if any(levels):
        raise OptionError(
            "--label-from, --domain-from, --split-from and --group-from are for folders and tables; in an .npz "
            "the arrays labels, splits, domains and groups are read"
        )
    into = out.parent if out is not None else root or npz.parent
    return index_npz(npz, plan, into=into, jobs=jobs, bar=bar), into


def _of_own(
    folder: Path | None, csv: Path | None, root: Path | None, plan: IndexOptions, levels: tuple[str, ...], bar: Bar, jobs: int
) -> tuple[Manifest, Path]:
    from recolorist_lab.data.own import Columns, index_folder, index_table

    label, domain, split, group = levels
    if folder is not None:
        label_level = common.level_of(label or "-1")
        if label_level is None:
            raise OptionError("--label-from none: every image needs a label; give a folder level")
        more = {"domain_from": common.level_of(domain or "none"), "split_from": common.level_of(split or "none")}
        return index_folder(folder, plan, label_from=label_level, **more, jobs=jobs, bar=bar), folder
    columns = Columns(label=label or "label", domain=domain or "domain", split=split or "split", group=group or "group")
    table = csv or Path()
    return index_table(table, plan, root=root, columns=columns, jobs=jobs, bar=bar), root or table.parent


def _relative_to(folder: Path, manifest: Manifest, base: Path) -> Manifest:
    """Make paths relative to the folder of the manifest instead of the folder that was indexed."""
    from recolorist_lab.data.manifest import Manifest

    if folder.resolve() == base.resolve():
        return manifest
    folder, base = folder.absolute(), base.absolute()  # not resolved: a link to data in a read-only folder stays a link
    if folder not in base.parents:
        raise OptionError(
            f"the manifest would be in {folder} and the images in {base}; paths are relative to the manifest's folder, so "
            f"write it to {base} or a folder above it (--out)"
        )
    prefix = base.relative_to(folder).as_posix()
    facts = manifest.facts
    excluded = tuple(replace(image, path=f"{prefix}/{image.path}") for image in facts.excluded)
    return Manifest.of((replace(entry, path=f"{prefix}/{entry.path}") for entry in manifest), replace(facts, excluded=excluded))


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise OptionError(f"--option {text!r}; write it as name=value")
    return name, value


def _bar(label: str) -> Bar:
    return lambda results, count: show_progress(results, count, label)


def _say(manifest: Manifest, path: Path) -> None:
    sizes = ", ".join(f"{split} {count:,}" for split, count in manifest.sizes().items())
    typer.echo(f"{path}: {len(manifest):,} images ({sizes}); fingerprint {manifest.fingerprint()[:16]}.")
    for exclusion in manifest.facts.excluded[:_NAMED]:
        typer.echo(f"Left out: {exclusion.path} {exclusion.reason}")
    if len(manifest.facts.excluded) > _NAMED:
        typer.echo(f"Left out: {len(manifest.facts.excluded) - _NAMED:,} more, all listed in the manifest.")
    for difference in manifest.facts.differences:
        typer.echo(f"Differs from the card, and recorded: {difference}")


def _columns(rows: list[list[str]], right: tuple[int, ...]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        typer.echo("  ".join(cells).rstrip())
