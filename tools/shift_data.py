"""Make the data of docs/results/shift.toml: thirteen targets of three tasks, as the protocol lists them.

Run as `python -m tools.shift_data FOLDER OUT [SIDE ...]`. FOLDER holds `blood`, `blood_bccd`, `breast_histology` and `retina`,
each with its `labels.csv`. For every side in pixels (48 and 96 unless others are given) OUT receives the images as
arrays and a manifest for every target, such as breast-cool-to-warm-48.parquet.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from recolorist_lab.compare.images import store_images
from recolorist_lab.data.manifest import Entry, Facts, Manifest

__all__ = ["TARGETS", "TASKS", "Target", "Task", "divide", "main", "make", "manifest_of"]

SIDES: Final = (48, 96)
REFERABLE: Final = 2  # least grade of diabetic retinopathy that is referred


class Task(NamedTuple):
    """One classification task: the tables that list its images, its classes, and what keeps images together."""

    tables: tuple[str, ...]
    classes: tuple[str, ...]
    group: str = ""


class Target(NamedTuple):
    """One division: the domains that train and the one that is tested on."""

    task: str
    sources: tuple[str, ...]
    target: str
    is_for_choosing: bool = False

    @property
    def name(self) -> str:
        """Name of the dataset, such as `blood-acevedo20-bccd-to-zheng18_tecom`."""
        return f"{self.task}-{'-'.join(self.sources)}-to-{self.target}"


TASKS: Final = {
    "blood": Task(("blood/labels.csv", "blood_bccd/labels.csv"), ("neutrophil", "lymphocyte", "monocyte", "eosinophil")),
    "breast": Task(("breast_histology/labels.csv",), ("benign", "malignant"), "slide"),
    "fundus": Task(("retina/labels.csv",), ("not referable", "referable"), "patient"),
}

TARGETS: Final = (
    Target("blood", ("acevedo20", "zheng18_tecom"), "bccd", is_for_choosing=True),
    Target("blood", ("acevedo20",), "zheng18_tecom", is_for_choosing=True),
    Target("breast", ("cool",), "warm", is_for_choosing=True),
    Target("fundus", ("deepdrid_regular",), "idrid", is_for_choosing=True),
    Target("blood", ("bccd", "zheng18_tecom"), "acevedo20"),
    Target("blood", ("acevedo20", "bccd"), "zheng18_tecom"),
    Target("blood", ("acevedo20",), "bccd"),
    Target("blood", ("zheng18_tecom",), "acevedo20"),
    Target("blood", ("zheng18_tecom",), "bccd"),
    Target("blood", ("bccd",), "acevedo20"),
    Target("blood", ("bccd",), "zheng18_tecom"),
    Target("breast", ("warm",), "cool"),
    Target("fundus", ("idrid",), "deepdrid_regular"),
)


def manifest_of(name: str, folder: Path) -> Manifest:
    """List all images of a task whose class is one of the task's."""
    task = TASKS[name]
    entries = [entry for table in task.tables for entry in _entries(name, folder / table)]
    return Manifest.of(entries, Facts(name, name, "binary" if len(task.classes) == 2 else "multiclass", task.classes))


def divide(stored: Manifest, target: Target, side: int) -> Manifest:
    """Divide the stored images of a task: the sources train, the target is the test."""
    name = f"{target.name}-{side}"
    entries = [
        replace(entry, dataset=name, split="test" if entry.domain == target.target else "train")
        for entry in stored
        if entry.domain in (*target.sources, target.target)
    ]
    return Manifest.of(entries, replace(stored.facts, dataset=name, title=name))


def make(folder: Path, out: Path, sides: Sequence[int] = SIDES) -> None:
    """Write arrays and manifests of all targets."""
    for name in TASKS:
        manifest = manifest_of(name, folder)
        for side in sides:
            stored = store_images(manifest, folder, out, side)
            for target in TARGETS:
                if target.task == name:
                    divide(stored, target, side).write(out / f"{target.name}-{side}.parquet")
            print(f"{name}: {len(stored):,} images of {side} pixels")


def _entries(name: str, table: Path) -> Iterator[Entry]:
    task = TASKS[name]
    with table.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            label = line["label"] if "label" in line else task.classes[int(line["grade"]) >= REFERABLE]
            if label in task.classes:
                group = line.get(task.group, "") if task.group else ""
                corners = [int(line[corner]) for corner in ("x0", "y0", "x1", "y1") if corner in line]
                box = (corners[0], corners[1], corners[2], corners[3]) if corners else None
                number = (task.classes.index(label),)
                group = f"{line['domain']}-{group}" if group else ""
                yield Entry(name, "train", line["domain"], line["file"], number, source_label=label, group=group, box=box)


def main() -> None:
    """Read the arguments and write the data."""
    if len(sys.argv) < 3:
        sys.exit("python -m tools.shift_data FOLDER OUT [SIDE ...]")
    make(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), [int(side) for side in sys.argv[3:]] or SIDES)


if __name__ == "__main__":
    main()
