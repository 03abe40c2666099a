"""Divide the images of a comparison: each hospital is left out in turn, or a share of one hospital's images is held out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recolorist.errors import OptionError
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.shares import split_by_shares

__all__ = ["Fold", "make_folds", "notes_on", "write_folds"]


@dataclass(frozen=True)
class Fold:
    """One division of the images.

    Attributes:
        name: Name of the dataset, and of its manifest's file.
        target: The hospital that is tested on, or the number of the split.
        seeds: Seeds of the trainings on this division.
        manifest: The images with the splits train and test.
    """

    name: str
    target: str
    seeds: tuple[int, ...]
    manifest: Manifest


def make_folds(manifest: Manifest, seeds: int, test_share: float = 0.0) -> list[Fold]:
    """Divide the images for every training of a comparison.

    With several hospitals each is the test set once, and every seed trains on the same images. With a test share each seed holds
    out images of its own.

    Args:
        manifest: All images, in the split train.
        seeds: How many seeds.
        test_share: Share that is held out where there is one hospital; 0 leaves one hospital out in turn.

    Returns:
        The divisions, in the order of the hospitals' names.

    Raises:
        OptionError: If there are fewer than two classes, one hospital and no test share, or several and a test share; or if a
            division has one class to train on, or no class that is in both of its parts.
    """
    if len(manifest.facts.classes) < 2:
        raise OptionError(f"there is one class, {manifest.facts.classes[0]!r}; a comparison needs at least two")
    hospitals = sorted(set(manifest.column("domain")))
    if test_share and len(hospitals) > 1:
        raise OptionError(
            f"--test-share is for images of one hospital, and these are of {len(hospitals)}, such as {hospitals[0]!r}; leave it "
            "out to test on each of them in turn"
        )
    if test_share:
        return [_check_classes(_split_by_share(manifest, test_share, seed)) for seed in range(seeds)]
    if len(hospitals) < 2:
        raise OptionError(
            f"all images are of one hospital, {hospitals[0]!r}; hold out a share of them with --test-share 0.3, or name the "
            "column that holds the hospital with --hospital-column"
        )
    return [_check_classes(_leave_out(manifest, hospital, number, seeds)) for number, hospital in enumerate(hospitals, 1)]


def _split_by_share(manifest: Manifest, test_share: float, seed: int) -> Fold:
    divided = split_by_shares(manifest, test=test_share, seed=seed)
    return _fold(divided, f"split-{seed + 1}", f"split {seed + 1}", (seed,))


def _leave_out(manifest: Manifest, hospital: str, number: int, seeds: int) -> Fold:
    entries = [replace(entry, split="test" if entry.domain == hospital else "train") for entry in manifest]
    name = f"target-{number}-{re.sub(r'[^A-Za-z0-9]+', '-', hospital).strip('-').lower()}"
    return _fold(Manifest.of(entries, manifest.facts), name, hospital, tuple(range(seeds)))


def _check_classes(fold: Fold) -> Fold:
    """Refuse a division in which nothing can be learnt, or nothing that is learnt can be tested."""
    train, test = (
        {name for name, count in zip(fold.manifest.facts.classes, fold.manifest.class_counts(split), strict=True) if count}
        for split in ("train", "test")
    )
    if len(train) < 2:
        raise OptionError(
            f"with {fold.target} held out, all images to train on are of one class, {', '.join(train)!r}; add images of other "
            f"classes, or leave {fold.target} out"
        )
    if not train & test:
        raise OptionError(
            f"{fold.target} has images of {', '.join(sorted(test))}, and all others are of {', '.join(sorted(train))}: no class "
            "is in both; give the same class the same name everywhere, or leave it out"
        )
    return fold


def _fold(manifest: Manifest, name: str, target: str, seeds: tuple[int, ...]) -> Fold:
    entries = [replace(entry, dataset=name) for entry in manifest]
    return Fold(name, target, seeds, Manifest.of(entries, replace(manifest.facts, dataset=name, title=name)))


def write_folds(folds: Sequence[Fold], folder: Path) -> None:
    """Write the manifest of every division.

    Args:
        folds: The divisions into training and test images.
        folder: The folder of the images.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for fold in folds:
        fold.manifest.write(folder / f"{fold.name}.parquet")


def notes_on(folds: Sequence[Fold]) -> list[str]:
    """Find classes that are missing in a division; its balanced accuracy is then not over the same classes.

    Args:
        folds: The divisions into training and test images.

    Returns:
        Sentences.
    """
    notes = []
    for fold in folds:
        classes = fold.manifest.facts.classes
        train, test = fold.manifest.class_counts("train"), fold.manifest.class_counts("test")
        if absent := [name for name, count in zip(classes, test, strict=True) if not count]:
            notes.append(f"{fold.target} has no image of {', '.join(absent)}; its balanced accuracy is of the other classes.")
        unknown = [name for name, trained, tested in zip(classes, train, test, strict=True) if tested and not trained]
        if unknown:
            notes.append(f"Only {fold.target} has images of {', '.join(unknown)}; no training for it sees that class.")
    return notes
