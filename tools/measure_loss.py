"""Measure on real images what `docs/loss.md` and `docs/collections.md` say about limits, flags and order.

    python -m tools.measure_loss limits FOLDER FOLDER ...
    python -m tools.measure_loss flags FOLDER FOLDER ...
    python -m tools.measure_loss order FOLDER FOLDER ...

Each folder is one set of images. All draws are seeded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skimage.metrics import structural_similarity

import recolorist as rc
from recolorist.collections import api
from recolorist.core import limits
from recolorist.core.image import open_image
from recolorist.core.match import match_opened
from recolorist.core.options import MatchOptions
from recolorist.io.images import read_image

Image = NDArray[np.uint8]
PAIRS, IMAGES = 120, 100
LIMITS: dict[str, dict[str, Any]] = {"max_clip = 0.02": {"max_clip": 0.02}, "max_loss = 0.01": {"max_loss": 0.01}}


def main(what: str, folders: list[Path]) -> None:
    """Print one table as Markdown."""
    {"limits": compare_limits, "flags": count_flags, "order": count_reversals}[what](folders)


def compare_limits(folders: list[Path]) -> None:
    """Compare reducing the strength alone with reducing the contrast first, on pairs that exceed a limit."""
    print("| limit | what is reduced | pairs | mean, distance | deviation, distance | correlation | SSIM | strength | contrast |")
    print("|---|---|---|---|---|---|---|---|---|")
    usual = limits._LEAST_CONTRAST  # noqa: SLF001
    for name, limit in LIMITS.items():
        for words, least in (("strength", 1.0), (f"contrast to {usual:g}, then strength", usual)):
            limits._LEAST_CONTRAST = least  # type: ignore[misc]  # noqa: SLF001
            rows = [row for pair in draw_pairs(folders) if (row := limited(*pair, MatchOptions(**limit)))]
            mean = np.mean(rows, axis=0)
            figures = " | ".join(f"{value:.{digits}f}" for value, digits in zip(mean, (1, 1, 3, 3, 2, 2), strict=True))
            print(f"| `{name}` | {words} | {len(rows)} | {figures} |")
    limits._LEAST_CONTRAST = usual  # type: ignore[misc]  # noqa: SLF001


def limited(content: Image, style: Image, options: MatchOptions) -> tuple[float, ...] | None:
    """Match a pair within limits; None if nothing had to be given up."""
    goal = rc.measure(style)
    done = match_opened(open_image(content), None, goal, out := np.empty_like(content), options)
    if done is None or (done.strength == 1 and done.contrast == 1):
        return None
    got = rc.measure(out)
    correlation = [np.corrcoef(content[..., c].ravel(), out[..., c].ravel())[0, 1] for c in range(3) if out[..., c].std() > 0]
    similar = structural_similarity(content, out, channel_axis=-1)  # type: ignore[no-untyped-call]
    distance = float(np.abs(got.mean - goal.mean).mean()), float(np.abs(got.std - goal.std).mean())
    return (*distance, float(np.mean(correlation)), float(similar), done.strength, done.contrast)


def count_flags(folders: list[Path]) -> None:
    """Count the flags of each set with a bank of the same set, and of the next one."""
    names = ("flat", "blank", "saturated", "outlier", "clips", "detail_lost", "gain_capped")
    print(f"| set | bank | images | {' | '.join(f'`{name}`' for name in names)} |")
    print("|---|---|---|" + "---|" * len(names))
    for i, folder in enumerate(folders):
        chosen = [folder / name for name in choose(folder)]
        for other in (folder, folders[(i + 1) % len(folders)]):
            bank = api.build_bank([other / name for name in choose(other)], root=other, split="train").bank
            summary = api.audit(chosen, bank, root=folder).summary
            counts = " | ".join(f"{summary['flags'][name]}" for name in names)
            print(f"| {folder.name} | {'own' if other == folder else other.name} | {summary['images']} | {counts} |")


def count_reversals(folders: list[Path]) -> None:
    """Count pairs of pixels whose order in a channel a match reverses, by method and space."""
    pairs = [pair for _, pair in zip(range(24), draw_pairs(folders), strict=False)]
    print("| method | space | reversed pairs, mean | worst | lowest correlation |")
    print("|---|---|---|---|---|")
    for method, space in [("mean_std", name) for name in rc.SPACES] + [("covariance", "rgb"), ("histogram", "rgb")]:
        rng = np.random.default_rng(3)
        shares, lowest = [], []
        for content, style in pairs:
            out = rc.match(content, style, method, space)
            places = rng.integers(0, content.shape[0] * content.shape[1], (2, 4000))
            before, after = (np.diff(im.reshape(-1, 3).astype(int)[places], axis=0)[0] for im in (content, out))
            shares.append(float(((before * after) < 0).mean()))
            lowest.append(float(np.nanmin(rc.audit(content, out).pearson)))
        print(f"| {method} | {space} | {100 * np.mean(shares):.1f} % | {100 * max(shares):.1f} % | {min(lowest):.2f} |")


def draw_pairs(folders: list[Path]) -> Iterator[tuple[Image, Image]]:
    """Draw pairs of images, each of any set; blank ones are left out."""
    rng = np.random.default_rng(7)
    names = {folder: list_names(folder) for folder in folders}
    for _ in range(PAIRS):
        places = [folders[i] for i in rng.integers(0, len(folders), 2)]
        content, style = (read_colour(place / names[place][rng.integers(len(names[place]))]) for place in places)
        if min(content.std(axis=(0, 1)).min(), style.std(axis=(0, 1)).min()) > 6:
            yield content, style


def choose(folder: Path) -> list[str]:
    """Choose some images of a set."""
    names = list_names(folder)
    return [names[i] for i in np.random.default_rng(5).permutation(len(names))[:IMAGES]]


def read_colour(path: Path) -> Image:
    """Read an image as RGB; grey is repeated."""
    pixels: Any = read_image(path)
    return np.repeat(pixels[..., None], 3, axis=-1) if pixels.ndim == 2 else pixels[..., :3]


def list_names(folder: Path) -> list[str]:
    """List the images of a set that are not larger than a quarter of a megabyte: tiles, not slides."""
    names = (path for path in sorted(folder.rglob("*")) if path.suffix in (".png", ".jpg", ".jpeg"))
    return [path.relative_to(folder).as_posix() for path in names if path.stat().st_size < 250_000]


if __name__ == "__main__":
    main(sys.argv[1], [Path(name) for name in sys.argv[2:]])
