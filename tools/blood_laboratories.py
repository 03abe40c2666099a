"""Make the data of docs/results/transfer.toml: white blood cells of three laboratories, cut out.

Run as `python -m tools.blood_laboratories FOLDER`. FOLDER holds `blood/labels.csv` and `blood_bccd/labels.csv` with the columns
`file`, `domain`, `label` and the crop `x0`, `y0`, `x1`, `y1`, and the images they name. It receives the manifest
`blood_three.parquet`, whose paths are relative to it. Nine tenths of the images train; which ones validate follows from a hash of
their names and from nothing else.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.data.own import IndexOptions, index_table

__all__ = ["NAME", "main", "split_of"]

NAME: Final = "blood_three"
TABLES: Final = ("blood/labels.csv", "blood_bccd/labels.csv")


def split_of(path: str) -> str:
    """Return the split of an image: every tenth by the hash of its name validates.

    >>> sorted({split_of(f"{number}.jpg") for number in range(100)})
    ['train', 'val']
    """
    return "val" if hashlib.sha256(path.encode()).digest()[0] < 256 // 10 else "train"


def main() -> None:
    """Write the manifest."""
    if len(sys.argv) != 2:
        sys.exit("python -m tools.blood_laboratories FOLDER")
    folder = Path(sys.argv[1])
    listed = [
        entry for table in TABLES for entry in index_table(folder / table, IndexOptions(NAME, follow_links=True), root=folder)
    ]
    classes = tuple(sorted({entry.source_label for entry in listed}))
    entries: list[Entry] = [
        replace(entry, dataset=NAME, split=split_of(entry.path), labels=(classes.index(entry.source_label),)) for entry in listed
    ]
    manifest = Manifest.of(entries, Facts(NAME, "Blood cells of three laboratories", "multiclass", classes))
    manifest.write(folder / f"{NAME}.parquet")
    print(manifest.sizes())


if __name__ == "__main__":
    main()
