"""Draw docs/images/sampler_*.jpg: one blood cell and one fundus in 36 styles of their bank, for each sampler.

Run as `python -m tools.sampler_grids [FOLDER]`, where FOLDER (or the environment variable RECOLORIST_DATA) holds
`blood/labels.csv` and `retina/labels.csv` with the columns `file`, `domain`, and `label` or `grade`.
"""

from __future__ import annotations

import csv
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL import Image

import recolorist as rc
from recolorist.augment import samplers
from tools.montage import Bytes, montage, resized

OUT: Final = Path(__file__).parents[1] / "docs" / "images"
SIDE: Final = 92
GRID: Final = 6
QUALITY: Final = 82


@dataclass(frozen=True)
class Subject:
    """One image and the bank whose styles it takes."""

    name: str
    image: Bytes
    bank: rc.StyleBank
    key: str
    mask: str | None


def subject(data: Path, name: str, table: str, label: str, key: str, mask: str | None) -> Subject:
    """Measure every image of a table."""
    with (data / table).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    images = (resized(Image.open(data / row["file"]), SIDE) for row in rows)
    bank = rc.StyleBank.build(
        images,
        labels=[row[label] for row in rows],
        domains=[row["domain"] for row in rows],
        keys=[row["file"] for row in rows],
        masks=mask,
        name=name,
        split="train",
    )
    return Subject(name, resized(Image.open(data / key), SIDE), bank, key, mask)


def grid(one: Subject, sampler: str) -> Image.Image:
    """The image itself first, then 35 draws."""
    change = rc.Colorist(one.bank, p=1.0, sampler=sampler, mask=one.mask, seed=20, apply_to="mask" if one.mask else "all")
    drawn = [one.image, *(change(one.image, key=one.key, epoch=epoch) for epoch in range(GRID**2 - 1))]
    return montage([drawn[i : i + GRID] for i in range(0, len(drawn), GRID)], gap=2)


def subjects(data: Path) -> list[Subject]:
    """A neutrophil of Acevedo et al., a fundus of IDRiD; in each bank, the styles of a second laboratory as well."""
    cell, eye = "blood/acevedo20/neutrophil", "retina/idrid"
    return [
        subject(data, "blood", "blood/labels.csv", "label", _middle(data, cell), None),
        subject(data, "fundus", "retina/labels.csv", "grade", _middle(data, eye), "fundus"),
    ]


def _middle(data: Path, folder: str) -> str:
    """The middle one of a folder, so that nobody chose it."""
    paths = sorted((data / folder).rglob("*.jpg"))
    return paths[len(paths) // 2].relative_to(data).as_posix()


def main() -> None:
    """Write a grid for every subject and sampler."""
    where = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("RECOLORIST_DATA", "")
    if not where:
        sys.exit("name the folder with the images: python -m tools.sampler_grids FOLDER, or set RECOLORIST_DATA")
    for one in subjects(Path(where)):
        print(f"{one.bank!r}, showing {one.key}")
        for name in samplers.SAMPLERS:
            path = OUT / f"sampler_{one.name}_{name}.jpg"
            grid(one, name).save(path, quality=QUALITY, optimize=True)
            print(f"  {path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
