"""What the foreground rules keep: the retina of two sets of fundus photographs by area, and the glass of smears and sections.

A camera shows the same disc in every photograph, so its pixels are known from all of them: those that are brighter than 6 % of
the range in most images whose bright part has the same height, at least ten. Missing: the share of these pixels that a mask
leaves out. Added: what it holds beyond them. A pixel's width around the disc is left aside.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, binary_erosion

from benchmarks.claims.images import ImageSet, load_set, run
from recolorist.core import foreground

__all__ = ["measure"]

Mask = NDArray[np.bool_]
RETINA: Final = ("DeepDRiD", "IDRiD")
GLASS: Final = ("acevedo20", "tecom", "BCCD", "BreakHis")
LIMITS: Final = (0.01, 0.05)
FEWEST: Final = 10  # images of one camera
LETTERS: Final = 0.003  # of the image: light pixels outside the disc


def measure(folder: Path) -> dict[str, Any]:
    """Return how much of the retina two forms of the rule miss and add, and how much of smears and sections counts as tissue."""
    retina = [row for name in RETINA for row in _compare(load_set(folder, name, side=None))]
    return {"fundus": retina, "tissue": [_kept(load_set(folder, name)) for name in GLASS]}


def _compare(images: ImageSet) -> list[dict[str, Any]]:
    discs = _discs_of_cameras(images)
    rows = []
    for form, rule in (("threshold alone", foreground.PIXELS["fundus"]), ("disc", foreground.fundus)):
        missing, added = [], []
        for image, disc in zip(images.images, discs, strict=True):
            if disc is not None:
                mask = rule(image, 255.0)
                mask = np.ones(disc.shape, bool) if mask is None else mask
                missing.append(np.count_nonzero(binary_erosion(disc) & ~mask) / np.count_nonzero(disc))
                added.append(np.count_nonzero(mask & ~binary_dilation(disc)) / np.count_nonzero(disc))
        row: dict[str, Any] = {"set": images.name, "images": len(missing), "rule": form}
        for name, shares in (("missing", missing), ("added", added)):
            row |= {f"{name} > {limit:g}": int((np.array(shares) > limit).sum()) for limit in LIMITS}
            row[f"{name}, most"] = round(float(max(shares)), 4)
        rows.append(row)
        print(row, flush=True)
    return rows


def _discs_of_cameras(images: ImageSet) -> list[Mask | None]:
    """Return the disc of each image's camera: the smallest that holds its bright pixels, but for letters; None if none does."""
    bright = [foreground.PIXELS["fundus"](image, 255.0) for image in images.images]
    heights = np.array([np.count_nonzero((image > 0.12 * 255).any(axis=(1, 2))) for image in images.images])
    common = [height for height, count in zip(*np.unique(heights, return_counts=True), strict=True) if count >= FEWEST]
    discs = [np.mean([bright[i] for i in np.flatnonzero(heights == height)], axis=0) > 0.5 for height in common]
    discs.sort(key=np.count_nonzero)
    wide = [binary_dilation(disc, iterations=2) for disc in discs]
    found: list[Mask | None] = []
    for image in images.images:
        light = image.max(axis=-1) > 0.24 * 255
        holding = [disc for disc, around in zip(discs, wide, strict=True) if (light & ~around).mean() < LETTERS]
        found.append(holding[0] if holding else None)
    return found


def _kept(images: ImageSet) -> dict[str, Any]:
    shares = [float(foreground.PIXELS["tissue"](image, 255.0).mean()) for image in images.images]
    low, middle, high = (round(float(share), 4) for share in np.percentile(shares, (5, 50, 95)))
    row = {"set": images.name, "images": len(shares), "5 %": low, "median": middle, "95 %": high}
    print(row, flush=True)
    return row


if __name__ == "__main__":
    run(measure, "masks")
