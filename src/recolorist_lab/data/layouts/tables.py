"""Datasets whose labels are in a table: Camelyon17-WILDS, Fitzpatrick17k, DDI, Retina."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.data.cards import Card
from recolorist_lab.data.layouts.files import (
    DatasetListing,
    base_of,
    missing_data,
    pictures,
    pictures_by_name,
    relative,
    require_folder,
    table,
)
from recolorist_lab.data.manifest import Entry

__all__ = ["IDRID_CHOICES", "camelyon17", "ddi", "fitzpatrick17k", "retina"]

_HOSPITAL_SPLITS: Final = {1: "val", 2: "test"}
_STORED_SPLITS: Final = {0: "train", 1: "id_val"}
_SKIN_SPLITS: Final = {"1": "train", "2": "train", "3": "val", "4": "val", "5": "test", "6": "test"}
_TONE_SPLITS: Final = {"12": "train", "34": "val", "56": "test"}
IDRID_CHOICES: Final = ("rehost455", "official516")


def camelyon17(card: Card, root: Path, _options: Mapping[str, str]) -> DatasetListing:
    """List the patches of Camelyon17-WILDS. The hospital decides the split first, then the split in the table.

    Args:
        card: The dataset.
        root: Its folder.

    Returns:
        The images with patients as groups.

    Raises:
        MissingDataError: There is no table.
    """
    base = base_of(root / "camelyon17_v1.0", ["metadata.csv"]) or base_of(root, ["metadata.csv"])
    if base is None:
        raise missing_data(card, root / "camelyon17_v1.0" / "metadata.csv")
    listing = DatasetListing()
    for row in table(base / "metadata.csv", ("patient", "node", "x_coord", "y_coord", "tumor", "center", "slide", "split")):
        centre, patient = int(row["center"]), row["patient"].zfill(3)
        place = f"patient_{patient}_node_{row['node']}"
        path = base / "patches" / place / f"patch_{place}_x_{row['x_coord']}_y_{row['y_coord']}.png"
        split = _HOSPITAL_SPLITS.get(centre) or _STORED_SPLITS[int(row["split"])]
        label = int(row["tumor"])
        domain, group = f"hospital_{centre}", f"patient_{patient}"  # one patient has several slides
        listing.entries.append(Entry(card.key, split, domain, relative(path, root), (label,), None, str(label), group))
    return listing


def fitzpatrick17k(card: Card, root: Path, _options: Mapping[str, str]) -> DatasetListing:
    """List the photographs of Fitzpatrick17k by the MD5 in their names.

    Args:
        card: The dataset.
        root: Its folder.

    Returns:
        The images that are there. Those that are not are listed as left out, because most addresses are dead.

    Raises:
        MissingDataError: There is no table.
    """
    base = require_folder(card, root, "fitzpatrick17k.csv")
    images = pictures_by_name(base / "data")
    listing, unknown, renamed = DatasetListing(), 0, 0
    for row in table(base / "fitzpatrick17k.csv", ("md5hash", "fitzpatrick_scale", "three_partition_label")):
        scale, label = row["fitzpatrick_scale"], row["three_partition_label"]
        if scale not in _SKIN_SPLITS:
            unknown += 1
            continue
        path = images.get(f"{row['md5hash']}.jpg".lower())
        if path is None:
            listing.leave_out(f"data/{row['md5hash']}.jpg", f"was not found ({_SKIN_SPLITS[scale]}, {label})")
            continue
        renamed += hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() != row["md5hash"].lower()
        number = card.classes.index(label)
        listing.entries.append(
            Entry(card.key, _SKIN_SPLITS[scale], f"FST{scale}", relative(path, root), (number,), source_label=label)
        )
    if unknown:
        listing.leave_out("fitzpatrick17k.csv", f"{unknown} rows have no skin type")
    listing.options.append(("files_whose_md5_is_not_their_name", str(renamed)))
    return listing


def ddi(card: Card, root: Path, _options: Mapping[str, str]) -> DatasetListing:
    """List the photographs of DDI beside their table.

    Args:
        card: The dataset.
        root: Its folder.

    Returns:
        The images, with skin tones as domains.

    Raises:
        MissingDataError: There is no table.
    """
    base = require_folder(card, root, "ddi_metadata.csv")
    listing = DatasetListing()
    for row in table(base / "ddi_metadata.csv", ("DDI_file", "skin_tone", "malignant")):
        tone, truth = row["skin_tone"], row["malignant"]
        label = ("false", "true").index(truth.lower())
        path = relative(base / row["DDI_file"], root)
        listing.entries.append(Entry(card.key, _TONE_SPLITS[tone], f"FST{tone}", path, (label,), source_label=truth))
    return listing


def retina(card: Card, root: Path, options: Mapping[str, str]) -> DatasetListing:
    """List the fundus photographs of four sources, each with its own table.

    Args:
        card: The dataset.
        root: Its folder.
        options: ``idrid`` chooses which release of IDRiD is read.

    Returns:
        The images that have a grade.

    Raises:
        MissingDataError: A source is not there.
        OptionError: The choice of IDRiD is unknown.
    """
    listing = DatasetListing()
    choice = options.get("idrid", IDRID_CHOICES[0])
    if choice not in IDRID_CHOICES:
        raise OptionError(f"idrid={choice!r}; accepted are {', '.join(IDRID_CHOICES)}")
    _aptos(card, root, listing)
    _deepdrid(card, root, listing)
    (_idrid if choice == "rehost455" else _idrid_official)(card, root, listing)
    _messidor2(card, root, listing)
    listing.options.append(("idrid", choice))
    return listing


def _aptos(card: Card, root: Path, listing: DatasetListing) -> None:
    base = require_folder(card, root / "APTOS", "train.csv", "train_1.csv")
    official = base / "train.csv"
    tables = [official] if official.exists() else [base / name for name in ("train_1.csv", "valid.csv", "test.csv")]
    images = pictures_by_name(base)
    for path in tables:
        for row in table(path, ("id_code", "diagnosis")):
            _graded(listing, card, root, "train", "APTOS", images, f"{row['id_code']}.png", row["diagnosis"])


def _deepdrid(card: Card, root: Path, listing: DatasetListing) -> None:
    base = base_of(root / "DeepDRiD", ["regular-fundus-training.csv"])
    if base is None:
        raise missing_data(card, root / "DeepDRiD" / "regular-fundus-training" / "regular-fundus-training.csv")
    for row in table(base / "regular-fundus-training.csv", ("patient_id", "image_id", "patient_DR_Level")):
        path = base / "Images" / row["patient_id"] / f"{row['image_id']}.jpg"
        grade = int(float(row["patient_DR_Level"]))  # of the patient: the eye's own columns do not give the paper's counts
        source_label = f"patient_DR_Level={grade}"
        entry = Entry(
            card.key, "train", "DeepDRiD", relative(path, root), (grade,), None, source_label, f"patient_{row['patient_id']}"
        )
        listing.entries.append(entry)


def _idrid(card: Card, root: Path, listing: DatasetListing) -> None:
    base = require_folder(card, root / "IDRiD", "idrid_labels.csv")
    images = pictures_by_name(base)
    for row in table(base / "idrid_labels.csv", ("id_code", "diagnosis")):
        if row["id_code"]:
            _graded(listing, card, root, "val", "IDRiD", images, f"{row['id_code']}.jpg", row["diagnosis"])


def _idrid_official(card: Card, root: Path, listing: DatasetListing) -> None:
    base = root / "IDRiD" / "official"
    tables = sorted(base.rglob("*.csv"))
    if not tables:
        raise missing_data(card, base / "*.csv")
    for path in tables:
        # Training and test images have the same names, so each table is held against the folders of its own kind.
        part = "test" if "test" in path.name.lower() else "train"
        images = {image.name.lower(): image for image in pictures(base) if part in image.parent.name.lower()}
        for row in table(path, ("Image name", "Retinopathy grade")):
            if row["Image name"]:
                _graded(listing, card, root, "val", "IDRiD", images, f"{row['Image name']}.jpg", row["Retinopathy grade"])


def _messidor2(card: Card, root: Path, listing: DatasetListing) -> None:
    base = require_folder(card, root / "MESSIDOR2", "messidor_data.csv")
    images = pictures_by_name(base)
    for row in table(base / "messidor_data.csv", ("image_id", "adjudicated_dr_grade")):
        _graded(listing, card, root, "test", "MESSIDOR2", images, row["image_id"], row["adjudicated_dr_grade"])


def _graded(
    listing: DatasetListing, card: Card, root: Path, split: str, domain: str, images: Mapping[str, Path], name: str, grade: str
) -> None:
    """Add one fundus image, if it has a grade and exists."""
    path = images.get(name.lower())
    if not grade:
        listing.leave_out(f"{domain}/{name}", "has no grade")
    elif path is None:
        listing.leave_out(f"{domain}/{name}", f"was not found ({split}, grade {grade})")
    else:
        listing.entries.append(Entry(card.key, split, domain, relative(path, root), (int(float(grade)),), None, grade))
