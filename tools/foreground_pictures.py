"""Draw docs/images/foreground_*.png: what the rules "tissue" and "fundus" keep, and why it matters.

Run as `python -m tools.foreground_pictures`. The slide is synthetic; the retina is scikit-image's `data.retina`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from skimage import data

import recolorist as rc
from recolorist.core import foreground
from recolorist.demo import synthetic
from tools.montage import Bytes, montage, resized

OUT: Final = Path(__file__).parents[1] / "docs" / "images"
SIDE: Final = 192
_RETINA: Any = data.retina  # scikit-image has no types
COLUMNS: Final = (
    "image",
    "style",
    "rule: outside in green",
    "measured everywhere",
    "measured by the rule",
    "and applied inside only",
)


def slide() -> tuple[Bytes, Bytes]:
    """The edge of a section, half of it glass, and a style that is tissue all over."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    edge = 1 / (1 + np.exp(-(0.62 + 0.07 * np.sin(9 * y) + 0.03 * np.sin(23 * y) - x) * 60))
    return synthetic.scan(synthetic.tissue(12, SIDE) * edge[..., None], "north", 12), synthetic.tile(3, "valley", SIDE)


def retina() -> tuple[Bytes, Bytes]:
    """A fundus photograph, and the middle of it through a warmer, brighter camera that was made up: a narrower surround."""
    picture = resized(_RETINA(), 2 * SIDE)
    middle = picture[SIDE // 4 : -SIDE // 4, SIDE // 4 : -SIDE // 4] / 255
    other = np.clip(middle ** np.array([0.75, 0.9, 1.1]) * np.array([1.0, 0.95, 0.8]), 0, 1)
    return resized(picture, SIDE), resized(np.rint(255 * other).astype(np.uint8), SIDE)


def row(content: Bytes, style: Bytes, rule: str) -> list[Bytes]:
    """The columns for one pair."""
    inside, style_inside = (foreground.RULES[rule](image, 255.0) for image in (content, style))
    shown: NDArray[np.uint8] = np.where(_or_all(inside, content)[..., None], content, np.array([0, 158, 115], np.uint8))
    return [
        content,
        style,
        shown,
        rc.match(content, style),
        rc.match(content, style, mask=inside, style_mask=style_inside),
        rc.match(content, style, mask=inside, style_mask=style_inside, apply_to="mask"),
    ]


def _or_all(mask: NDArray[np.bool_] | None, image: Bytes) -> NDArray[np.bool_]:
    return np.ones(image.shape[:2], bool) if mask is None else mask


def main() -> None:
    """Write both pictures."""
    for rule, pair in (("tissue", slide()), ("fundus", retina())):
        path = OUT / f"foreground_{rule}.png"
        montage([row(*pair, rule)], COLUMNS).quantize(255, dither=Image.Dither.NONE).save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
