"""`recolorist-lab baseline stylise | convert`: run images through a network, and convert official weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from recolorist.cli import common
from recolorist.cli.progress import show_progress
from recolorist.errors import OptionError
from recolorist_lab.cli.plugin import Plugins

if TYPE_CHECKING:
    from torch import Tensor

    from recolorist_lab.baselines.base import Baseline

__all__ = ["Device", "Encoder", "Method", "Options", "columns", "convert", "stylise"]

Method = Annotated[str, typer.Argument(help="Name of a network; see: recolorist-lab baseline list.")]
Options = Annotated[list[str] | None, typer.Option("--option", help="Option of the network, such as alpha=0.5; may be repeated.")]
Encoder = Annotated[str, typer.Option("--encoder", help="'auto' (real weights) or 'random' (for tests and timing).")]
Device = Annotated[str, typer.Option("--device", help="'auto', 'cpu', 'cuda', …")]
_Content = Annotated[Path, typer.Option("--content", "-c", help="Image or folder of images.")]
_Style = Annotated[list[Path], typer.Option("--style", "-s", help="Image or folder of images; may be repeated.")]
_Weights = Annotated[
    Path | None, typer.Option("--weights", "-w", help="Weight file of `baseline train` or `convert`; default: published weights.")
]
_Size = Annotated[int | None, typer.Option("--size", min=1, help="Resize images to this square side first; default: as stored.")]
_Mix = Annotated[
    str | None, typer.Option("--mix", help="Weights of the styles, such as 0.3,0.7: each content takes a mixture of all styles.")
]
_OutFolder = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results, or a .png file for one result.")]
_OutFile = Annotated[Path, typer.Option("--out", "-o", help="File to write (.safetensors).")]
_From = Annotated[
    list[str], typer.Option("--from", help="Official file of a part, such as decoder=decoder.pth; may be repeated.")
]
_Sha = Annotated[
    list[str] | None, typer.Option("--sha256", help="SHA-256 of a part's file, as part=checksum, where none is known.")
]


class _Job(NamedTuple):
    content: Path
    styles: tuple[Path, ...]
    out: Path


def stylise(
    method: Method,
    *,
    content: _Content,
    style: _Style,
    out: _OutFolder,
    weights: _Weights = None,
    size: _Size = None,
    mix: _Mix = None,
    option: Options = None,
    device: Device = "auto",
    force: common.Force = False,
    _plugin: Plugins = None,
    as_json: common.Json = False,
) -> None:
    """Stylise images. Contents take the styles in turn; with --mix each content takes a mixture of all styles."""
    from recolorist.io.files import atomic_write
    from recolorist_lab.baselines.options import parsed
    from recolorist_lab.baselines.pretrained import ready
    from recolorist_lab.baselines.trainer import device_of

    shares = _shares(mix)
    jobs = _jobs(_images(content), [path for source in style for path in _images(source)], content, out, mixed=shares is not None)
    common.check_reports(*(job.out for job in jobs), force=force)
    torch_device = device_of(device)
    model = ready(method, weights, device=torch_device, **parsed(method, option or ()))
    images = []
    for job in show_progress(jobs, len(jobs), "stylising"):
        job.out.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(job.out, _stylised(model, job, size, shares, torch_device))
        images.append({"content": str(job.content), "styles": [str(path) for path in job.styles], "out": str(job.out)})
    if as_json:
        typer.echo(json.dumps({"method": method, "images": images}, indent=2))
    else:
        typer.echo(f"{out}: {len(images):,} {'image' if len(images) == 1 else 'images'} by {model.name}.")


def convert(
    method: Method,
    *,
    source: _From,
    out: _OutFile,
    sha256: _Sha = None,
    option: Options = None,
    _plugin: Plugins = None,
    as_json: common.Json = False,
    force: common.Force = False,
) -> None:
    """Convert official weights to safetensors. Checksums and layout are verified first."""
    from recolorist_lab.baselines import pretrained
    from recolorist_lab.baselines.options import pairs, parsed

    if out.suffix != ".safetensors":
        raise OptionError(f"{out} does not end in .safetensors; only this format is written, so change the name")
    common.check_reports(out, force=force)
    files = {part: Path(path) for part, path in pairs(source, "--from").items()}
    digests = pretrained.convert(method, files, out, checksums=pairs(sha256 or (), "--sha256"), **parsed(method, option or ()))
    if as_json:
        typer.echo(json.dumps({"method": method, "out": str(out), "sha256": digests}, indent=2))
        return
    for part, digest in digests.items():
        typer.echo(f"{files[part]}: {part}, sha256 {digest}, verified.")
    typer.echo(f"{out}: written.")


def columns(rows: Sequence[Sequence[str]], right: tuple[int, ...] = ()) -> None:
    """Print a table.

    Args:
        rows: Rows of cells; the first is the head.
        right: Columns that are set to the right.
    """
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        typer.echo("  ".join(cells).rstrip())


def _images(path: Path) -> list[Path]:
    from recolorist.io.images import list_images

    images = list_images(path) if path.is_dir() else [path]
    if not images:
        raise OptionError(f"{path} contains no images; check the path")
    return images


def _jobs(contents: list[Path], styles: list[Path], content: Path, out: Path, *, mixed: bool) -> list[_Job]:
    """Pair contents with styles and choose the output files; sub-folders are kept."""
    if out.suffix and len(contents) > 1:
        raise OptionError(f"{out} is one file, but there are {len(contents)} contents; give a folder")
    if out.suffix and out.suffix.lower() != ".png":
        raise OptionError(f"{out} does not end in .png; results are written as PNG")

    def target(path: Path) -> Path:
        name = path.relative_to(content) if content.is_dir() else Path(path.name)
        return out if out.suffix else out / name.with_suffix(".png")

    jobs = [
        _Job(source, tuple(styles) if mixed else (styles[number % len(styles)],), target(source))
        for number, source in enumerate(contents)
    ]
    if len({job.out for job in jobs}) != len(jobs):
        raise OptionError(f"two contents below {content} differ only in their suffix and would overwrite each other; rename one")
    return jobs


def _shares(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise OptionError(f"--mix {text!r}; write one number for each style, separated by commas, such as 0.3,0.7") from None


def _stylised(model: Baseline, job: _Job, size: int | None, shares: list[float] | None, device: str) -> bytes:
    """Stylise one image and return it as PNG. A grey content gives a grey result, the mean of the three channels."""
    from recolorist.io.write import encode
    from recolorist_lab.baselines.sheet import pictures

    (content, grey), *style_images = (_read(path, size) for path in (job.content, *job.styles))
    styles = [style.to(device) for style, _ in style_images]
    if shares is None:
        result = model.stylise(content.to(device), styles[0])
    else:
        result = model.stylise_mix(content.to(device), styles, shares)
    if grey:
        result = result.mean(1, keepdim=True)
    return encode(pictures(result)[0], ".png")


def _read(path: Path, size: int | None) -> tuple[Tensor, bool]:
    """Read an image as input of a network, and return whether it was grey."""
    from recolorist.io.images import read_picture
    from recolorist_lab.baselines.crops import tensor_of
    from recolorist_lab.data.loader import READING
    from recolorist_lab.data.pixels import resize_square, to_rgb8

    pixels = read_picture(path, READING).pixels
    return tensor_of([resize_square(to_rgb8(pixels), size)[0]]), pixels.ndim == 2 or pixels.shape[-1] == 1
