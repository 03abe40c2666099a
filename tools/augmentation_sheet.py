"""Draw docs/images/augmentations.jpg and corruptions.jpg: one cell through every augmentation, and through every corruption.

Run as `python -m tools.augmentation_sheet [FOLDER]`, where FOLDER (or the environment variable RECOLORIST_DATA) holds
`blood/labels.csv` with the columns `file`, `domain`, `label` and the crop `x0`, `y0`, `x1`, `y1`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from recolorist_lab.augmentations import NAMES, TrainingImages, build
from recolorist_lab.augmentations.corruptions import CORRUPTIONS
from recolorist_lab.augmentations.severities import SETS
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.own import IndexOptions, index_table
from tools.montage import Bytes, montage

OUT: Final = Path(__file__).parents[1] / "docs" / "images"
SIDE: Final = 88
DRAWS: Final = 8
LABEL: Final = 172
QUALITY: Final = 76


def training_images(data: Path) -> TrainingImages:
    """The cells of the first laboratory; those of the second are its test split and not looked at."""
    plan = IndexOptions("bloodmnist", test_domains=("zheng18_tecom",))
    manifest = index_table(data / "blood" / "labels.csv", plan, root=data)
    return TrainingImages(Samples(manifest, "train", root=data, size=SIDE))


def labelled(rows: list[tuple[str, list[Bytes]]]) -> Image.Image:
    """Rows of pictures with a name before each."""
    grid = montage([pictures for _, pictures in rows], gap=2)
    sheet = Image.new("RGB", (grid.width + LABEL, grid.height), "white")
    sheet.paste(grid, (LABEL, 0))
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for place, (name, _) in enumerate(rows):
        draw.text((6, (place + 0.5) * grid.height / len(rows) - 9), name, fill="black", font=font)
    return sheet


def augmentation_rows(images: TrainingImages, index: int) -> list[tuple[str, list[Bytes]]]:
    """Every augmentation by name, always applied, in the first epochs."""
    names = [name if name == "none" else f"{name}(p=1.0)" for name in NAMES]
    rows = []
    for name in [*names, "colorist(p=1.0)+random_flip"]:
        change = build(name, images, seed=20)
        drawn = [change(images.pixels(index), index=index, epoch=epoch) for epoch in range(DRAWS)]
        rows.append((name.replace("(p=1.0)", ""), drawn))
    return rows


def corruption_rows(image: Bytes) -> list[tuple[str, list[Bytes]]]:
    """The cell, and each corruption at the five severities of the first set that has it."""
    rows = []
    for name, corruption in CORRUPTIONS.items():
        where = next(key for key in ("bloodmnist", "dermamnist", "tissuemnist", "chestmnist") if name in SETS[key])
        levels = SETS[where][name][:5]
        changed = [corruption(image, level, np.random.default_rng(place), SIDE / 224) for place, level in enumerate(levels)]
        rows.append((name, [image, *changed]))
    return rows


def main() -> None:
    """Write both sheets."""
    where = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("RECOLORIST_DATA", "")
    if not where:
        sys.exit("name the folder with the images: python -m tools.augmentation_sheet FOLDER, or set RECOLORIST_DATA")
    images = training_images(Path(where))
    index = len(images) // 2  # the middle one, so that nobody chose it
    for name, rows in (
        ("augmentations", augmentation_rows(images, index)),
        ("corruptions", corruption_rows(images.pixels(index))),
    ):
        path = OUT / f"{name}.jpg"
        labelled(rows).save(path, quality=QUALITY, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB, showing {images.samples[index].key}")


if __name__ == "__main__":
    main()
