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
from recolorist_lab.data.layouts.files import Found, folders, needed, pictures, relative
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


def epistr(card: Card, root: Path, _options: Mapping[str, str]) -> Found:
    """Three domains; the archive's own train and test folders are pooled."""
    found = Found()
    for domain, split in _EPISTR_SPLITS.items():
        base = needed(card, root, domain)
        for part in ("train", "test"):
            for number, label in enumerate(_EPISTR_LABELS):
                for path in pictures(base / domain / part / label):
                    found.entries.append(Entry(card.key, split, domain, relative(path, root), (number,), source_label=label))
    return found


def blood(card: Card, root: Path, _options: Mapping[str, str]) -> Found:
    """Cells of several laboratories under one set of classes."""
    found = Found()
    for source in card.sources:
        labels = raw_labels(source.key)
        base = needed(card, root / source.folder, *sorted({_folder(source.key, row.label) for row in labels}))
        _source(card, root, base, labels, found)
    return found


def _source(card: Card, root: Path, base: Path, labels: Sequence[Raw], found: Found) -> None:
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
            found.entries.append(Entry(card.key, split, key, relative(path, root), (number,), source_label=label))
    for (where, what), count in dropped.items():
        found.leave_out(where, f"{count:,} images of {what}")


def _folder(source: str, label: str) -> str:
    """The folder that a label is found in."""
    holds = {part: folder for folder, parts in PREFIXED.items() for part in parts} if source == "Acevedo20" else {}
    return holds.get(label, label)


def _label(folder: str, name: str) -> str:
    """The label of a file: its folder, or, where a folder holds several, what stands before the underscore."""
    return name.partition("_")[0].upper() if folder in PREFIXED else folder


def divide(entries: Sequence[Entry]) -> list[Entry]:
    """Give the entries that wait for it a split: one fifth of each domain, stratified by class, is for validation."""
    done = [one for one in entries if one.split != TO_SPLIT]
    waiting = [one for one in entries if one.split == TO_SPLIT]
    for domain in sorted({one.domain for one in waiting}):
        rows = sorted((one for one in waiting if one.domain == domain), key=lambda one: one.path)
        held = held_out([one.labels[0] for one in rows], domain)
        done += [replace(one, split="val" if index in held else "train") for index, one in enumerate(rows)]
    return done


def held_out(labels: Sequence[int], name: str, fraction: float = FRACTION, seed: int = SEED) -> set[int]:
    """Which places of a list are held out: the same for the same list, and each class by its share.

    >>> held = held_out([0] * 10 + [1] * 5, "demo")
    >>> len(held), sum(place < 10 for place in held)
    (3, 2)
    """
    keep = kept_counts(Counter(labels), fraction)
    held: set[int] = set()
    for label in sorted(keep):
        places = np.flatnonzero(np.array(labels) == label)
        order = stream(seed, index=f"{name}/{label}").permutation(len(places))
        held |= {int(place) for place in places[order[keep[label] :]]}
    return held


def kept_counts(counts: Mapping[int, int], fraction: float) -> dict[int, int]:
    """How many of each class stay for training: exact shares rounded down, the rest to the largest remainders.

    >>> kept_counts({0: 10, 1: 5}, 0.2)
    {0: 8, 1: 4}
    """
    total = sum(counts.values())
    keep = total - math.ceil(fraction * total)
    shares = {label: counts[label] * keep / total for label in sorted(counts)}
    kept = {label: math.floor(share) for label, share in shares.items()}
    by_remainder = sorted(shares, key=lambda label: (kept[label] - shares[label], label))
    for label in by_remainder[: keep - sum(kept.values())]:
        kept[label] += 1
    return kept
