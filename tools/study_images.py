"""Make the data of docs/results/spaces.toml and properties.toml: eight sets of public images, whole, without their labels.

Run as `python -m tools.study_images FOLDER`. FOLDER holds the folders of images and the two archives below. It receives a
manifest for every set, such as `acevedo20.parquet`, whose paths are relative to it. The archives keep their own splits.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path
from typing import Final

from recolorist_lab.data.layouts.files import pictures, relative
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.own import IndexOptions, index_table
from recolorist_lab.data.own_arrays import index_npz

__all__ = ["ARCHIVES", "FOLDERS", "index_images", "main"]

FOLDERS: Final = {
    "acevedo20": "blood/acevedo20",
    "tecom": "blood/zheng18_tecom",
    "histology": "histology",
    "deepdrid": "retina/deepdrid_regular",
    "idrid": "retina/idrid",
    "breast_ultrasound": "breast_ultrasound",
}
ARCHIVES: Final = {"pathmnist28": "medmnist/pathmnist_28_subset.npz", "pneumoniamnist28": "medmnist/pneumoniamnist_28.npz"}


def index_images(folder: Path, name: str, images: str) -> Manifest:
    """Index all images below one folder as one split of one class."""
    paths = [relative(path, folder.resolve()) for path in pictures((folder / images).resolve())]
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "images.csv"
        with table.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("file", "label"), *((path, "image") for path in paths)])
        return index_table(table, IndexOptions(name), root=folder)


def main() -> None:
    """Write the manifests."""
    if len(sys.argv) != 2:
        sys.exit("python -m tools.study_images FOLDER")
    folder = Path(sys.argv[1])
    manifests = {name: index_images(folder, name, images) for name, images in FOLDERS.items()}
    manifests |= {name: index_npz(folder / archive, IndexOptions(name), into=folder) for name, archive in ARCHIVES.items()}
    for name, manifest in manifests.items():
        manifest.write(folder / f"{name}.parquet")
        print(name, manifest.sizes())


if __name__ == "__main__":
    main()
