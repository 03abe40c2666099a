"""The image sets of the measurements, read once: pixels at one size, labels and groups."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks import environment
from recolorist.bank.style_bank import StyleBank

__all__ = ["SETS", "ImageSet", "load_set", "run", "write_result"]

Pixels = NDArray[np.uint8]
SIDE: Final = 112
RESULTS: Final = Path(__file__).resolve().parent.parent / "results" / "claims"

#: The manifest of each set, what selects its rows, and the column of the unit that is independent of the others.
SETS: Final = {
    "acevedo20": ("blood/labels.csv", ("domain", "acevedo20"), "file"),
    "tecom": ("blood/labels.csv", ("domain", "zheng18_tecom"), "file"),
    "BCCD": ("blood_bccd/labels.csv", ("domain", "bccd"), "file"),
    "DeepDRiD": ("retina/labels.csv", ("domain", "deepdrid_regular"), "patient"),
    "IDRiD": ("retina/labels.csv", ("domain", "idrid"), "file"),
    "BreakHis": ("breast_histology/labels.csv", None, "slide"),
    "BreakHis warm": ("breast_histology/labels.csv", ("domain", "warm"), "slide"),
    "BreakHis cool": ("breast_histology/labels.csv", ("domain", "cool"), "slide"),
}


class ImageSet(NamedTuple):
    """Images of one source."""

    name: str
    images: list[Pixels]
    labels: NDArray[np.str_]
    units: NDArray[np.str_]  #: patient or slide, where images are not independent; else the file

    def bank(self, rows: NDArray[np.intp] | None = None, **options: Any) -> StyleBank:
        """Measure all images, or some."""
        chosen = range(len(self.images)) if rows is None else rows
        return StyleBank.build([self.images[row] for row in chosen], keys=[str(row) for row in chosen], split="train", **options)


def load_set(folder: Path, name: str, side: int | None = SIDE) -> ImageSet:
    """Read a set; cells are cut out by the boxes of the manifest, and all images reduced to squares of one side."""
    manifest, condition, unit = SETS[name]
    with (folder / manifest).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if condition is None or row[condition[0]] == condition[1]]
    images = [_read(folder / row["file"], row, side) for row in rows]
    labels = np.array([row.get("label") or row.get("grade", "") for row in rows])
    return ImageSet(name, images, labels, np.array([row[unit] for row in rows]))


def _read(path: Path, row: dict[str, str], side: int | None) -> Pixels:
    with Image.open(path) as image:
        picture = image.convert("RGB")
    if row.get("x0"):
        picture = picture.crop((int(row["x0"]), int(row["y0"]), int(row["x1"]), int(row["y1"])))
    return np.asarray(picture if side is None else picture.resize((side, side), Image.Resampling.BOX))


def run(measure: Callable[[Path], dict[str, Any]], name: str) -> None:
    """Measure with the folder of the command line and write the result."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python -m benchmarks.claims.{name} FOLDER")
    write_result(name, measure(Path(sys.argv[1])))


def write_result(name: str, figures: dict[str, Any]) -> None:
    """Write figures with machine, versions, commit and command."""
    record = {
        "command": f"python -m benchmarks.claims.{name} FOLDER",
        "cpu": environment.cpu_name(),
        "versions": environment.versions(),
        "commit": environment.commit(),
        **figures,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / f"{name}.json"
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{file}")
