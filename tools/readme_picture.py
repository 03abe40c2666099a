"""Draw docs/images/real_images.jpg, the first picture of the README: `python -m tools.readme_picture DATA`.

DATA holds `histology/nct_crc_he_nonorm`, `blood/acevedo20` and `retina/idrid`, whose licence (CC BY 4.0) allows to show them.
Each row is one image and the same image in the style of three others of its set. Styles are chosen by a rule: each is the style
farthest, in standard deviations of the set, from all that are shown already.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

import recolorist as rc
from recolorist.core import foreground
from tools.montage import Bytes, montage, resized

OUT: Final = Path(__file__).parents[1] / "docs" / "images" / "real_images.jpg"
STYLES: Final = 3
SIDE: Final = 204
INSET: Final = 64
QUALITY: Final = 86
USUAL: Final = 0.9  # share of the styles to choose from: the most unusual tenth of a set is not shown
FEW: Final = 20  # a set of no more images is shown without this rule


@dataclass(frozen=True)
class Row:
    """One set of images, the image whose colours are changed, and the foreground rule of the set."""

    folder: str
    content: str
    mask: str | None = None
    crop: int | None = None  # side of the central part that is shown


ROWS: Final = (
    Row("histology/nct_crc_he_nonorm/TUM", "TUM-AEPINLNQ.png"),
    Row("blood/acevedo20/neutrophil", "BNE_121986.jpg", crop=240),
    Row("retina/idrid", "test_IDRiD_010.jpg", mask="fundus"),
)


def farthest_styles(bank: rc.StyleBank, first: int) -> list[int]:
    """Return the places of styles, each as far as possible from the first and from one another."""
    features = np.concatenate([bank.mean, bank.std], axis=1)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    distances = np.linalg.norm(features, axis=1)
    usual = np.flatnonzero(distances <= np.quantile(distances, USUAL)) if len(bank) > FEW else np.arange(len(bank))
    chosen = [first]
    while len(chosen) <= STYLES:
        gaps = np.linalg.norm(features[usual, None] - features[chosen], axis=2).min(axis=1)
        chosen.append(int(usual[gaps.argmax()]))
    return chosen[1:]


def central(picture: Bytes, side: int | None) -> Bytes:
    """Return the central square of a picture."""
    height, width = picture.shape[:2]
    side = side or min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return picture[top : top + side, left : left + side]


def with_inset(picture: Bytes, style: Bytes) -> Bytes:
    """Return a picture with its style, small, in the lower right corner."""
    shown = picture.copy()
    shown[-INSET - 3 :, -INSET - 3 :] = 255
    shown[-INSET:, -INSET:] = resized(style, INSET)
    return shown


def draw_row(data: Path, row: Row) -> list[Bytes]:
    """Match the content of a row to three styles of its folder."""
    bank = rc.StyleBank.from_folder(data / row.folder, masks=row.mask, split="train")
    names = list(bank.keys)
    content = np.asarray(Image.open(data / row.folder / row.content).convert("RGB"))
    cells = [resized(central(content, row.crop), SIDE)]
    for place in farthest_styles(bank, names.index(row.content)):
        style = np.asarray(Image.open(data / row.folder / names[place]).convert("RGB"))
        masks = [foreground.RULES[row.mask](image, 255.0) if row.mask else None for image in (content, style)]
        out = rc.match(content, style, mask=masks[0], style_mask=masks[1], apply_to="mask" if row.mask else "all")
        cells.append(with_inset(resized(central(out, row.crop), SIDE), central(style, row.crop)))
    return cells


def main() -> None:
    """Draw and write."""
    data = Path(sys.argv[1])
    rows = [draw_row(data, row) for row in ROWS]
    montage(rows, ["original", *(["in the style of the inset"] * STYLES)]).save(OUT, quality=QUALITY, optimize=True)


if __name__ == "__main__":
    main()
