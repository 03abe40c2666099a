"""Make a manifest of your own images in an .npz file.

Two layouts are read. With ``images`` and ``labels``, and optionally ``splits``, ``domains`` and ``groups``, all arrays have one
entry for each image. Or the images of each split have arrays of their own, as in MedMNIST: ``train_images``, ``train_labels`` and
so on. ``classes`` may name the classes in index order.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist.io.zips import refuse_lost_members
from recolorist_lab.data.arrays import ArrayError, check_images, convert, open_array, replaced_archive
from recolorist_lab.data.cards import EXTRA_SPLITS, SPLITS
from recolorist_lab.data.index import Bar
from recolorist_lab.data.manifest import Entry, Manifest
from recolorist_lab.data.own import IndexOptions, LabelledEntry, build_manifest

__all__ = ["index_npz"]

_DESCRIPTIONS: Final = ("splits", "domains", "groups")
_LARGEST: Final = 1 << 28  # bytes of an array that is not images


def index_npz(
    path: str | Path, plan: IndexOptions, *, into: str | Path | None = None, jobs: int = 2, bar: Bar | None = None
) -> Manifest:
    """Index the images of an archive of arrays. They are unpacked once, so that processes can share them as a map.

    Args:
        path: The .npz; nothing in it may be a Python object.
        plan: How it becomes a manifest.
        into: The folder for the unpacked arrays, in which the manifest must lie; that of the archive unless given.
        jobs: Threads.
        bar: Shows progress.

    Returns:
        The manifest.

    Raises:
        ArrayError: The archive is damaged, or lacks an array.
        OptionError: An array does not describe the images.
    """
    archive = Path(path)
    place = Path(into if into is not None else archive.parent).resolve()
    if replaced_archive(place / archive.stem, archive) is not None:
        with TemporaryDirectory(prefix=".tried-", dir=place) as folder:  # arrays and manifest there stay if this one is refused
            _index(archive, Path(folder), plan, jobs, None)
    return _index(archive, place, plan, jobs, bar)


def _index(archive: Path, place: Path, plan: IndexOptions, jobs: int, bar: Bar | None) -> Manifest:
    try:
        with zipfile.ZipFile(archive) as source:
            refuse_lost_members(source)
            names = [name.removesuffix(".npy") for name in source.namelist()]
    except (OSError, zipfile.BadZipFile) as error:
        raise ArrayError(f"{archive} cannot be read as an .npz: {error}") from error
    prefixes = _prefixes(archive, names)
    required = [f"{prefix}{name}" for prefix in prefixes for name in ("images", "labels")]
    described = [name for name in (*_DESCRIPTIONS, "classes") if name in names and (name == "classes" or prefixes == [""])]
    convert(archive, place / archive.stem, [*required, *described])
    arrays = {name: open_array(place / archive.stem / f"{name}.npy") for name in (*required, *described)}
    if any(array.nbytes > _LARGEST for name, array in arrays.items() if not name.endswith("images")):
        raise ArrayError(f"{archive} has descriptions of more than {_LARGEST:,} bytes; are they images?")
    classes = [str(name) for name in arrays.pop("classes", ())]
    rows = [row for prefix in prefixes for row in _rows(prefix, arrays, archive.stem, plan, classes)]
    return build_manifest(rows, place, plan, jobs, bar, classes=tuple(classes))


def _prefixes(archive: Path, names: list[str]) -> list[str]:
    """Find out which of the two layouts an archive has: one array of images, or one for each split."""
    if "images" in names:
        return [""]
    prefixes = [f"{split}_" for split in (*SPLITS, *EXTRA_SPLITS) if f"{split}_images" in names]
    if not prefixes:
        raise ArrayError(
            f"{archive} holds the arrays {', '.join(names[:8]) or 'none'}; expected are images and labels, or train_images, "
            "train_labels and so on"
        )
    return prefixes


def _rows(
    prefix: str, arrays: Mapping[str, NDArray[Any]], folder: str, plan: IndexOptions, classes: list[str]
) -> Iterator[LabelledEntry]:
    """Yield the images of one array with their labels and descriptions."""
    images, labels = arrays[f"{prefix}images"], np.asarray(arrays[f"{prefix}labels"])
    names = list(_label_names(labels, len(images), plan, classes))
    check_images(images, np.zeros((len(images), 1), np.uint8), prefix.rstrip("_") or "the archive's")
    described = {name: arrays[name] for name in _DESCRIPTIONS if name in arrays and not prefix}
    for name, values in described.items():
        if values.shape != (len(images),):
            raise OptionError(
                f"{name} has the shape {values.shape}; accepted is one entry for each of the {len(images):,} images"
            )
    for row, labelled in enumerate(names):
        split, domain, group = (str(described[name][row]) if name in described else "" for name in _DESCRIPTIONS)
        entry = Entry(
            plan.name,
            plan.split_of(domain, split or prefix.rstrip("_")),
            domain or plan.name,
            f"{folder}/{prefix}images.npy",
            (),
            row,
            source_label="|".join(labelled),
            group=group,
        )
        yield LabelledEntry(entry, labelled)


def _label_names(labels: NDArray[Any], count: int, plan: IndexOptions, classes: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the names of every image's classes. Numbers are class indices where the classes are named, and names otherwise."""
    if plan.multilabel:
        if labels.ndim != 2 or len(labels) != count or not np.isin(labels, (0, 1)).all():
            raise OptionError(f"labels are {labels.dtype} of shape {labels.shape}; with --multilabel: {count:,} rows of 0 and 1")
        names = classes or [str(number) for number in range(labels.shape[1])]
        yield from (tuple(names[number] for number in np.flatnonzero(row)) for row in labels)
        return
    if labels.shape not in {(count,), (count, 1)} or labels.dtype.kind not in "iuUS":
        raise OptionError(f"labels are {labels.dtype} of shape {labels.shape}; accepted are {count:,} whole numbers or texts")
    for label in labels.reshape(count):
        text = label.decode("utf-8") if isinstance(label, bytes) else str(label)
        is_index = labels.dtype.kind in "iu" and classes and 0 <= int(label) < len(classes)
        yield (classes[int(label)] if is_index else text,)
