"""Make the data of docs/results/blood.toml: four kinds of white blood cells of two laboratories, cut out, reduced and split.

Run as `python -m tools.blood_cells FOLDER OUT [SIDE]`. FOLDER holds `blood/labels.csv` with the columns `file`, `domain`, `label`
and the crop `x0`, `y0`, `x1`, `y1`, and the images it names; OUT receives `blood4.npy` and its manifest `blood4.parquet`.

Of the first laboratory's 240 images of each kind, 40 validate, 40 are kept to measure accuracy at the source (`id_val`), and 160
train; which ones follows from a hash of their names and from nothing else. All of the second laboratory's are the test.
"""

from __future__ import annotations

import hashlib
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

import numpy as np

from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Entry, Excluded, Facts, Manifest
from recolorist_lab.data.own import Plan, index_table

NAME: Final = "blood4"
CLASSES: Final = ("neutrophil", "lymphocyte", "monocyte", "eosinophil")
SOURCE, TARGET = "acevedo20", "zheng18_tecom"
HELD: Final = 40  # of each class, once to validate and once to measure the source
SIDE: Final = 48


def splits(manifest: Manifest) -> list[Entry]:
    """The images that are used, with their splits, in the order of the manifest."""
    kinds: dict[str, list[Entry]] = defaultdict(list)
    for entry in manifest:
        if entry.domain == SOURCE and entry.source_label in CLASSES:
            kinds[entry.source_label].append(entry)
    place: dict[str, str] = {}
    for members in kinds.values():
        shuffled = sorted(members, key=lambda entry: hashlib.sha256(entry.path.encode()).digest())
        for number, entry in enumerate(shuffled):
            place[entry.path] = "val" if number < HELD else "id_val" if number < 2 * HELD else "train"
    return [
        Entry(
            NAME,
            place.get(entry.path, "test"),
            entry.domain,
            entry.path,
            (CLASSES.index(entry.source_label),),
            None,
            entry.source_label,
            box=entry.box,
        )
        for entry in manifest
        if entry.source_label in CLASSES
    ]


def main() -> None:
    """Write the array and its manifest."""
    if len(sys.argv) not in (3, 4):
        sys.exit("python -m tools.blood_cells FOLDER OUT [SIDE]")
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    side = int(sys.argv[3]) if len(sys.argv) == 4 else SIDE
    every = index_table(data / "blood" / "labels.csv", Plan(NAME), root=data)
    used = splits(every)
    facts = Facts(NAME, f"Blood cells, {SOURCE} to {TARGET}", "multiclass", CLASSES)
    samples = Samples(Manifest.of(used, facts), root=data, size=side)
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / f"{NAME}.npy", np.stack([sample.image for sample in samples]), allow_pickle=False)
    rows = [
        Entry(NAME, entry.split, entry.domain, f"{NAME}.npy", entry.labels, row, entry.source_label)
        for row, entry in enumerate(samples.manifest)
    ]
    left_out = tuple(
        Excluded(entry.path, f"{entry.source_label} is no class of the study")
        for entry in every
        if entry.source_label not in CLASSES
    )
    made = Manifest.of(rows, Facts(NAME, facts.title, facts.task, CLASSES, excluded=left_out, options=(("side", str(side)),)))
    made.write(out / f"{NAME}.parquet")
    for split, count in made.sizes().items():
        print(f"{split}: {count} images, {dict(zip(CLASSES, made.class_counts(split), strict=True))}")


if __name__ == "__main__":
    main()
