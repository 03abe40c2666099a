"""MedMNIST: six arrays in one archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist_lab.data.arrays import ArrayError, check_images, convert, md5_of, open_array
from recolorist_lab.data.cards import SPLITS, Card
from recolorist_lab.data.layouts.files import DatasetListing, missing_data
from recolorist_lab.data.manifest import Entry

__all__ = ["is_other_archive", "medmnist"]


def medmnist(card: Card, root: Path, into: Path | None = None) -> DatasetListing:
    """List the rows of the mapped arrays; the archive is converted once.

    Args:
        card: One of the twelve, at any of its sizes.
        root: The folder of the archive.
        into: The folder for the arrays, which paths are relative to; ``root`` unless given.

    Returns:
        The rows, and whether the archive is another one than the card's.

    Raises:
        MissingDataError: There is neither the archive nor its arrays.
        ArrayError: They are damaged, or not what MedMNIST has.
    """
    archive = root / card.files[0].name
    folder = (into or root) / (archive.stem if "_" in archive.stem else f"{archive.stem}_{card.pixels}")
    if not folder.is_dir() and not archive.is_file():
        raise missing_data(card, archive)
    origin = convert(archive, folder)
    listing = DatasetListing()
    expected = _checksum(card)
    if not origin.md5.startswith(expected):
        listing.differences.append(f"{archive.name} has the MD5 {origin.md5} instead of {expected}")
    for split in SPLITS:
        images, labels = (open_array(folder / f"{split}_{part}.npy") for part in ("images", "labels"))
        check_images(images, labels, split)
        path = f"{folder.name}/{split}_images.npy"
        for row, chosen in enumerate(_chosen(card, np.asarray(labels), split)):
            listing.entries.append(Entry(card.key, split, "medmnist", path, chosen, row, source_label="|".join(map(str, chosen))))
    return listing


def is_other_archive(card: Card, root: Path) -> bool:
    """Tell whether the archive in a folder is another one than the card's.

    Args:
        card: One of the twelve, at any of its sizes.
        root: The folder of the archive.

    Returns:
        False also where there is no archive.
    """
    archive = root / card.files[0].name
    return archive.is_file() and not md5_of(archive).startswith(_checksum(card))


def _checksum(card: Card) -> str:
    return (card.files[0].checksum or "").removeprefix("md5:")


def _chosen(card: Card, labels: NDArray[Any], split: str) -> Iterator[tuple[int, ...]]:
    """Yield the class indices of every row."""
    if not card.multilabel:
        if labels.shape[1] != 1:
            raise ArrayError(f"{split}_labels has {labels.shape[1]} columns; {card.title} has one label to an image")
        yield from ((int(label),) for label in labels[:, 0])
        return
    if labels.shape[1] != len(card.classes) or not np.isin(labels, (0, 1)).all():
        raise ArrayError(f"{split}_labels must be {len(card.classes)} columns of 0 and 1 for {card.title}")
    yield from (tuple(int(index) for index in np.flatnonzero(line)) for line in labels)
