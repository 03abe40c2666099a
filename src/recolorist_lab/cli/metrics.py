"""`recolorist-lab metrics CONTENT STYLE OUTPUT`: measure the quality of transferred images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from recolorist.cli import common
from recolorist.cli.progress import show_progress
from recolorist.errors import OptionError
from recolorist_lab.cli.plugin import Plugins

if TYPE_CHECKING:
    from recolorist_lab.metrics import Evaluation, Triple

__all__ = ["register"]

_LEAST: Final = 4  # pairs with which distances of sets can be asked for at all
_FEW: Final = 50  # below this FID says nothing that can be compared

#: Name, what is printed, which way is better.
_LINES: Final = (
    ("ssim", "SSIM, output and content", "higher"),
    ("ssim_luminance", "SSIM of luminance", "higher"),
    ("gradient_similarity", "gradient similarity", "higher"),
    ("lpips", "LPIPS, output and content", "lower"),
    ("wasserstein", "Wasserstein, output and style", "lower"),
    ("fid", "FID, outputs and styles", "lower"),
    ("kid", "KID, outputs and styles", "lower"),
    ("artfid", "ArtFID", "lower"),
    ("clipped", "share of values clipped", "lower"),
    ("pearson", "correlation with the content", "higher"),
)

_Image = Annotated[Path, typer.Argument(help="Folder of images, or one image.")]
_By = Annotated[str, typer.Option("--by", help="Pair files by 'name' (without folder and suffix) or by 'order' of their names.")]
_Size = Annotated[int | None, typer.Option("--size", min=7, help="Resize all images to this square size first (the study: 224).")]
_Resize = Annotated[str, typer.Option("--resize", help="'letterbox' keeps the shape; 'squash' fills the square.")]
_Metrics = Annotated[str | None, typer.Option("--metrics", help="Metrics to compute, such as ssim,lpips,fid; default: all.")]
_Backend = Annotated[str, typer.Option("--fid-backend", help="'classic', 'torchvision' or 'torchvision_raw'.")]
_Form = Annotated[str, typer.Option("--ssim-form", help="'skimage' or 'torchmetrics'.")]
_Net = Annotated[str, typer.Option("--lpips-net", help="'alex' or 'vgg'.")]
_Device = Annotated[str, typer.Option("--device", help="Device of the networks: cpu, cuda, mps, …")]
_Batch = Annotated[int, typer.Option("--batch", min=1, help="Pairs at a time.")]
_NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not keep the styles' features for later runs.")]
_Audit = Annotated[
    bool, typer.Option("--audit", help="Also estimate the clipped share, and the correlation of outputs with contents.")
]
_Pairs = Annotated[bool, typer.Option("--pairs", help="With --json, also print the values of every pair.")]


class Files(NamedTuple):
    """The files of one pair."""

    content: Path
    style: Path
    output: Path


def register(app: typer.Typer) -> None:
    """Add the command.

    Args:
        app: The command line to add to.

    Example:
        >>> app = typer.Typer()
        >>> register(app)
        >>> [command.name for command in app.registered_commands]
        ['metrics']
    """
    app.command("metrics")(metrics)


def metrics(
    content: _Image,
    style: _Image,
    output: _Image,
    *,
    by: _By = "name",
    size: _Size = None,
    resize: _Resize = "letterbox",
    only: _Metrics = None,
    fid_backend: _Backend = "classic",
    ssim_form: _Form = "skimage",
    lpips_net: _Net = "alex",
    device: _Device = "cpu",
    batch: _Batch = 16,
    no_cache: _NoCache = False,
    audit: _Audit = False,
    pairs: _Pairs = False,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Compare outputs with their contents and styles. One style may serve all contents."""
    from recolorist.core.image import option

    files = paired(content, style, output, by=option(by, ("name", "order"), "by"))
    option(resize, ("letterbox", "squash"), "resize")
    names_wanted = _select_metrics(only, len(files))
    from recolorist_lab.metrics import FeatureCache, evaluate

    triples = (_triple(paths, size, resize, audit=audit) for paths in files)
    evaluation = evaluate(
        show_progress(triples, len(files), "measuring"),
        metrics=names_wanted,
        fid_backend=fid_backend,
        ssim_form=ssim_form,
        lpips_net=lpips_net,
        device=device,
        batch=batch,
        cache=None if no_cache else FeatureCache(),
    )
    if as_json:
        names = {"files": [[str(path) for path in paths] for paths in files]} if pairs else {}
        typer.echo(json.dumps(evaluation.to_dict(pairs=pairs) | names, indent=2, allow_nan=False))
    else:
        _print(evaluation)


def paired(content: Path, style: Path, output: Path, *, by: str = "name") -> list[Files]:
    """Find which content, style and output belong together.

    Args:
        content: A file or folder.
        style: A file or folder; one style serves all contents.
        output: A file or folder.
        by: ``"name"`` or ``"order"``.

    Returns:
        Files that belong together.

    Raises:
        OptionError: They are not as many, or a name has no partner.
    """
    contents, styles, outputs = (_files(paths) for paths in (content, style, output))
    by_name = by == "name" and content.is_dir()
    if by_name:
        outputs = _in_step(content, contents, output, outputs)
    if not style.is_dir():
        styles *= len(contents)
    elif by_name:
        styles = _in_step(content, contents, style, styles)
    counts = len(contents), len(styles), len(outputs)
    if len(set(counts)) > 1:
        raise OptionError(
            f"{counts[0]:,} contents, {counts[1]:,} styles and {counts[2]:,} outputs are not the same number; "
            "give one content and one style for each output"
        )
    return [Files(*paths) for paths in zip(contents, styles, outputs, strict=True)]


# ---- helpers ----------------------------------------------------------------------------------------------------------------


def _files(source: Path) -> list[Path]:
    from recolorist.io.images import list_images

    if not source.exists():
        raise OptionError(f"{source} does not exist; give a folder of images, or one image")
    images = list_images(source) if source.is_dir() else [source]
    if not images:
        raise OptionError(f"{source} contains no images; check the path")
    return images


def _in_step(content: Path, contents: list[Path], other: Path, others: list[Path]) -> list[Path]:
    """Return the other files in the order of the contents with the same names."""
    by_stem, other_by_stem = _by_stem(content, contents), _by_stem(other, others)
    if by_stem.keys() != other_by_stem.keys():
        missing = sorted(by_stem.keys() ^ other_by_stem.keys())
        raise OptionError(
            f"{content} and {other} do not hold the same names: {missing[0]!r} and {len(missing) - 1:,} others are in one only; "
            "rename them, or pair them with --by order"
        )
    return [other_by_stem[stem] for stem in by_stem]


def _by_stem(folder: Path, files: list[Path]) -> dict[str, Path]:
    root = folder if folder.is_dir() else folder.parent
    by_stem: dict[str, Path] = {}
    for path in files:
        stem = path.relative_to(root).with_suffix("").as_posix()
        if stem in by_stem:
            raise OptionError(
                f"{by_stem[stem]} and {path} have the same name with different suffixes; rename one, or pair with --by order"
            )
        by_stem[stem] = path
    return by_stem


def _select_metrics(only: str | None, count: int) -> tuple[str, ...]:
    from recolorist_lab.metrics.evaluation import ALL, PER_PAIR

    if only is not None:
        return tuple(name.strip() for name in only.split(","))
    if count < _LEAST:
        typer.echo(f"recolorist-lab: {count} pairs are too few for FID, KID and ArtFID, which are left out", err=True)
        return PER_PAIR
    if count < _FEW:
        typer.echo(
            f"recolorist-lab: FID of {count} images is biased upwards; compare it only with FID of the same number of images",
            err=True,
        )
    return ALL


def _triple(files: Files, size: int | None, how: Any, *, audit: bool) -> Triple:
    from recolorist.core.audit import audit as audited
    from recolorist.io.images import read_image
    from recolorist_lab.data.pixels import resize_square, to_rgb8
    from recolorist_lab.metrics import Triple

    content, style, output = (to_rgb8(read_image(path)) for path in files)
    if audit and content.shape != output.shape:
        raise OptionError(f"{files.output} and {files.content} differ in size, so there is nothing to audit; leave out --audit")
    audit_result = audited(content, output) if audit else None
    content, style, output = (resize_square(image, size, how)[0] for image in (content, style, output))
    return Triple(content, style, output, audit_result)


def _print(evaluation: Evaluation) -> None:
    typer.echo(f"{evaluation.n:,} pairs")
    for name, title, better in _LINES:
        value = getattr(evaluation, name)
        if value is not None:
            interval = f"  ({evaluation.kid_low:.5f} to {evaluation.kid_high:.5f})" if name == "kid" else ""
            digits = 5 if name == "kid" else 4
            typer.echo(f"{title:<32}{value:>12.{digits}f}  {better} is better{interval}")
    for name, value in evaluation.added.items():
        typer.echo(f"{name:<32}{value:>12.4f}  of a plugin")
    for name, choice in evaluation.choices.items():
        typer.echo(f"{name}: {choice}")
    spent = sorted(evaluation.seconds.items(), key=lambda item: -item[1])
    typer.echo("seconds: " + ", ".join(f"{part} {seconds:.1f}" for part, seconds in spent if seconds >= 0.05))
