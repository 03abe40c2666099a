"""What a match does at the edge of a foreground rule: all pixels changed, those inside alone, or faded out towards glass.

Every image that has at least 2 % of its pixels outside is matched to another one of its set, drawn at random; both are measured
inside their masks. Moved: the mean change of a pixel outside if all are changed, in levels. Step: the mean difference, in levels,
of two neighbours on either side of the mask's edge. Faded: as the page of foregrounds describes it for sections.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from benchmarks.claims.images import ImageSet, Pixels, load_set, run
from recolorist.core import foreground

__all__ = ["measure"]

RULES: Final = {"BreakHis": "tissue", "DeepDRiD": "fundus", "IDRiD": "fundus"}
SIDE: Final = 224
OUTSIDE: Final = 0.02


def measure(folder: Path) -> dict[str, Any]:
    """Return the figures of every set."""
    return {"side": SIDE, "rows": [_measure_set(load_set(folder, name, SIDE), rule) for name, rule in RULES.items()]}


def _measure_set(images: ImageSet, rule: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    masks = [foreground.RULES[rule](image, 255.0) for image in images.images]
    usable = [(image, mask) for image, mask in zip(images.images, masks, strict=True) if mask is not None]
    figures = []
    for image, mask in usable:
        style, style_mask = usable[rng.integers(len(usable))]
        if np.mean(~mask) < OUTSIDE:
            continue
        everywhere, inside = (rc.match(image, style, mask=mask, style_mask=style_mask, apply_to=to) for to in ("all", "mask"))
        faded = _fade(image, everywhere)
        moved = [np.abs(pixels[~mask].astype(float) - image[~mask]).mean() for pixels in (everywhere, faded)]
        figures.append([*moved, *(_step(pixels, mask) for pixels in (image, everywhere, inside, faded))])
    means = np.mean(figures, axis=0).round(1).tolist()
    names = ("moved", "moved, faded", "step before", "step, all changed", "step, inside changed", "step, faded")
    row = {"set": images.name, "rule": rule, "images": len(figures), **dict(zip(names, means, strict=True))}
    if rule != "tissue":  # fading follows the darkest channel, which tells glass from tissue and nothing else
        row |= {"moved, faded": None, "step, faded": None}
    print(row, flush=True)
    return row


def _fade(image: Pixels, matched: Pixels) -> Pixels:
    """Return the match where the darkest channel is below 78 % of the range, the image above 94 %, and a mixture between."""
    weight = np.clip((0.94 - image.min(axis=-1, keepdims=True) / 255) / 0.16, 0, 1)
    return np.asarray(np.rint(image + weight * (matched - image.astype(float))), np.uint8)


def _step(pixels: Pixels, mask: NDArray[np.bool_]) -> float:
    grey = pixels.mean(axis=-1)
    steps = [np.abs(np.diff(grey, axis=axis))[np.diff(mask, axis=axis)] for axis in (0, 1)]
    return float(np.concatenate(steps).mean())


if __name__ == "__main__":
    run(measure, "edges")
