"""`python -m benchmarks.edge_rules FOLDER …`: what it costs to hold channels to their limits before the way back to RGB.

For each folder of images, pairs are drawn by a seed and matched by mean and deviation in each space that is not linear, once with
nothing held and once for each set of limits. Printed are the mean SSIM between content and output, and where black and white go.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from skimage.metrics import structural_similarity

import recolorist as rc
from recolorist.core.clipping import to_unlimited_rgb

__all__ = ["RULES", "main", "match_held"]

Limits = dict[int, tuple[float, float]]
Pixels = NDArray[np.uint8]

_SUFFIXES: Final = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"}
_INF: Final = float("inf")
#: Space, what is held, and the limits of its channels; the rules of the package are marked.
RULES: Final[tuple[tuple[str, str, Limits], ...]] = (
    ("lab", "nothing (ours)", {}),
    ("lab", "L to 0…100", {0: (0, 100)}),
    ("luv", "nothing", {}),
    ("luv", "L to 0 or more (ours)", {0: (0, _INF)}),
    ("luv", "L to 0…100", {0: (0, 100)}),
    ("lch", "nothing", {}),
    ("lch", "C to 0 or more (ours)", {1: (0, _INF)}),
    ("lch", "C, and L to 0…100", {0: (0, 100), 1: (0, _INF)}),
    ("hsv", "nothing", {}),
    ("hsv", "S (ours)", {1: (0, 1)}),
    ("hsv", "S and V", {1: (0, 1), 2: (0, 1)}),
    ("hsi", "nothing", {}),
    ("hsi", "S (ours)", {1: (0, 1)}),
    ("hsi", "S and I", {1: (0, 1), 2: (0, 1)}),
)


def match_held(content: Pixels, style: Pixels, space: str, limits: Limits) -> Pixels:
    """Match by mean and deviation in a space, with channels held to limits before the way back.

    Args:
        content: 8-bit RGB.
        style: 8-bit RGB.
        space: A space that is not linear.
        limits: The interval of each channel that is held.

    Returns:
        8-bit RGB.
    """
    plan = rc.plan(rc.measure(content, space=space), rc.measure(style, space=space), space)
    values = rc.SPACES[space].forward(content / 255.0) * plan.matrix.diagonal() + plan.offset
    for channel, (low, high) in limits.items():
        values[..., channel] = np.clip(values[..., channel], low, high)
    rgb = np.nan_to_num(to_unlimited_rgb(space, values), posinf=1.0, neginf=0.0)
    return np.rint(np.clip(rgb, 0.0, 1.0) * 255.0).astype(np.uint8)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edge_rules", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of images, searched in depth")
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--size", type=int, default=224, help="edge length in pixels")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    for folder in options.folders:
        files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES)
        if len(files) < 2:
            print(f"{folder} holds {len(files)} image(s); two at least are needed", file=sys.stderr)
            return 1
        drawn = random.Random(options.seed)
        pairs = [drawn.sample(files, 2) for _ in range(options.pairs)]
        images = [tuple(_read(path, options.size) for path in pair) for pair in pairs]
        print(f"\n{folder.name}, {options.pairs} pairs at {options.size}², seed {options.seed}\n")
        print("| space | held | SSIM | nearly black becomes | nearly white becomes |\n|---|---|---|---|---|")
        for space, held, limits in RULES:
            outputs = [(content, match_held(content, style, space, limits)) for content, style in images]
            similar = np.mean([structural_similarity(a, b, channel_axis=-1) for a, b in outputs])  # type: ignore[no-untyped-call]
            ends = (_where(outputs, dark=dark) for dark in (True, False))
            print(f"| {space} | {held} | {similar:.3f} | {' | '.join(ends)} |")
    return 0


def _read(path: Path, size: int) -> Pixels:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR))


def _where(outputs: Sequence[tuple[Pixels, Pixels]], *, dark: bool) -> str:
    """Return the mean colour that nearly black, or nearly white, pixels of the contents have in the outputs."""
    chosen = [b[(a <= 5).all(axis=-1) if dark else (a >= 250).all(axis=-1)] for a, b in outputs]
    pixels = np.concatenate(chosen)
    return "none" if not len(pixels) else "({})".format(", ".join(f"{value:.0f}" for value in pixels.mean(axis=0)))


if __name__ == "__main__":
    sys.exit(main())
