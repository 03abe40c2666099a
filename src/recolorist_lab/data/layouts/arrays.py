"""MedMNIST: six arrays in one archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist_lab.data.arrays import ArrayError, check_images, convert, open_array
from recolorist_lab.data.cards import SPLITS, Card
from recolorist_lab.data.layouts.files import Found, missing
from recolorist_lab.data.manifest import Entry

__all__ = ["medmnist"]


def medmnist(card: Card, root: Path, _options: Mapping[str, str]) -> Found:
    """Rows of the mapped arrays; the archive is converted once."""
    folder = root / f"{card.key}_224"
    archive = root / f"{card.key}_224.npz"
    if not folder.is_dir() and not archive.is_file():
        raise missing(card, archive)
    convert(archive, folder)
    found = Found()
    for split in SPLITS:
        images, labels = (open_array(folder / f"{split}_{what}.npy") for what in ("images", "labels"))
        check_images(images, labels, split)
        path = f"{folder.name}/{split}_images.npy"
        for row, chosen in enumerate(_chosen(card, np.asarray(labels), split)):
            found.entries.append(Entry(card.key, split, "medmnist", path, chosen, row, source_label="|".join(map(str, chosen))))
    return found


def _chosen(card: Card, labels: NDArray[Any], split: str) -> Iterator[tuple[int, ...]]:
    if not card.multilabel:
        if labels.shape[1] != 1:
            raise ArrayError(f"{split}_labels has {labels.shape[1]} columns; {card.title} has one label to an image")
        yield from ((int(label),) for label in labels[:, 0])
        return
    if labels.shape[1] != len(card.classes) or not np.isin(labels, (0, 1)).all():
        raise ArrayError(f"{split}_labels must be {len(card.classes)} columns of 0 and 1 for {card.title}")
    yield from (tuple(int(index) for index in np.flatnonzero(line)) for line in labels)
