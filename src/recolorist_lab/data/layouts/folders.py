"""Datasets whose labels are folders: EpiStr, Peripheral Blood, Bone Marrow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from recolorist.augment.streams import stream
from recolorist_lab.data.cards import Card
from recolorist_lab.data.layouts.blood_labels import PREFIXED, Raw, raw_labels
from recolorist_lab.data.layouts.files import DatasetListing, folders, pictures, relative, require_folder
from recolorist_lab.data.manifest import Entry

__all__ = ["FRACTION", "SEED", "TO_SPLIT", "blood", "divide", "epistr", "held_out", "kept_counts"]

_EPISTR_SPLITS: Final = {"NKI": "train", "VGH": "val", "IHC": "test"}
_EPISTR_LABELS: Final = ("epi", "str")
TO_SPLIT: Final = "80/20"  #: stands in the place of a split until the images are known that can be opened
_SPLITS: Final = {
    "peripheral_blood": {"MLL23": TO_SPLIT, "Acevedo20": TO_SPLIT, "Matek19": "test"},
    "bone_marrow": {"BMC": "train", "Matek19": "val", "MLL23": "test"},
}
SEED: Final = 42
FRACTION: Final = 0.2


def epistr(card: Card, root: Path, _options: Mapping[str, str]) -> DatasetListing:
    """List the images of EpiStr: three domains, each with the archive's train and test folders pooled.

    Args:
        card: The dataset.
        root: Its folder.

    Returns:
        The images with their splits.

    Raises:
        MissingDataError: The folder of a domain is not there.
    """
    listing = DatasetListing()
    for domain, split in _EPISTR_SPLITS.items():
        base = require_folder(card, root, domain)
        for part in ("train", "test"):
            for number, label in enumerate(_EPISTR_LABELS):
                for path in pictures(base / domain / part / label):
                    listing.entries.append(Entry(card.key, split, domain, relative(path, root), (number,), source_label=label))
    return listing


def blood(card: Card, root: Path, _options: Mapping[str, str]) -> DatasetListing:
    """List cells of several laboratories under one set of classes.

    Args:
        card: The dataset.
        root: Its folder.

    Returns:
        The images, and the folders that are not part of the benchmark.

    Raises:
        MissingDataError: A source is not there.
    """
    listing = DatasetListing()
    for source in card.sources:
        labels = raw_labels(source.key)
        base = require_folder(card, root / source.folder, *sorted({_folder(source.key, row.label) for row in labels}))
        _source(card, root, base, labels, listing)
    return listing


def _source(card: Card, root: Path, base: Path, labels: Sequence[Raw], listing: DatasetListing) -> None:
    key = labels[0].source
    rows = {row.label: row for row in labels}
    split = _SPLITS[card.key][key]
    dropped: Counter[tuple[str, str]] = Counter()
    for folder in folders(base):
        for path in pictures(folder):
            label = _label(folder.name, path.name)
            row = rows.get(label)
            name = getattr(row, card.key) if row else ""
            if not name:
                why = "is not part of this benchmark" if row else "is no label of this source"
                dropped[relative(folder, root), f"{label}, which {why}"] += 1
                continue
            number = card.classes.index(name)
            listing.entries.append(Entry(card.key, split, key, relative(path, root), (number,), source_label=label))
    for (where, reason), count in dropped.items():
        listing.leave_out(where, f"{count:,} images of {reason}")


def _folder(source: str, label: str) -> str:
    """Return the folder of a label."""
    holds = {part: folder for folder, parts in PREFIXED.items() for part in parts} if source == "Acevedo20" else {}
    return holds.get(label, label)


def _label(folder: str, name: str) -> str:
    """Return the label of a file: its folder or, where a folder holds several, the text before the underscore."""
    return name.partition("_")[0].upper() if folder in PREFIXED else folder


def divide(entries: Sequence[Entry]) -> list[Entry]:
    """Give a split to entries that have none yet: a fifth of each domain, stratified by class, is for validation.

    Args:
        entries: The images; those with the split :data:`TO_SPLIT` are divided.

    Returns:
        All entries with a split.
    """
    divided = [entry for entry in entries if entry.split != TO_SPLIT]
    waiting = [entry for entry in entries if entry.split == TO_SPLIT]
    for domain in sorted({entry.domain for entry in waiting}):
        rows = sorted((entry for entry in waiting if entry.domain == domain), key=lambda entry: entry.path)
        validation = held_out([entry.labels[0] for entry in rows], domain)
        divided += [replace(entry, split="val" if index in validation else "train") for index, entry in enumerate(rows)]
    return divided


def held_out(labels: Sequence[int], name: str, fraction: float = FRACTION, seed: int = SEED) -> set[int]:
    """Choose the places of a list that are held out. The same list gives the same places, and each class its share.

    Args:
        labels: The class of each place.
        name: Of the dataset; part of the random stream.
        fraction: The share to hold out.
        seed: Of the random stream.

    Returns:
        The places.

    Example:
        >>> held = held_out([0] * 10 + [1] * 5, "demo")
        >>> len(held), sum(place < 10 for place in held)
        (3, 2)
    """
    keep = kept_counts(Counter(labels), fraction)
    places_out: set[int] = set()
    for label in sorted(keep):
        places = np.flatnonzero(np.array(labels) == label)
        order = stream(seed, index=f"{name}/{label}").permutation(len(places))
        places_out |= {int(place) for place in places[order[keep[label] :]]}
    return places_out


def kept_counts(counts: Mapping[int, int], fraction: float) -> dict[int, int]:
    """Return how many of each class stay for training.

    Exact shares are rounded down, and the rest goes to the largest remainders.

    Args:
        counts: Images by class.
        fraction: The share that does not stay.

    Returns:
        Images that stay, by class.

    Example:
        >>> kept_counts({0: 10, 1: 5}, 0.2)
        {0: 8, 1: 4}
    """
    total = sum(counts.values())
    keep = total - math.ceil(fraction * total)
    shares = {label: counts[label] * keep / total for label in sorted(counts)}
    counts_kept = {label: math.floor(share) for label, share in shares.items()}
    by_remainder = sorted(shares, key=lambda label: (counts_kept[label] - shares[label], label))
    for label in by_remainder[: keep - sum(counts_kept.values())]:
        counts_kept[label] += 1
    return counts_kept
