"""Find the images of a comparison in a folder or a table, and keep them once, at the size the network sees."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from recolorist.errors import OptionError
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.index import Bar
from recolorist_lab.data.layouts.files import pictures, relative
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Manifest, is_manifest
from recolorist_lab.data.own import Columns, IndexOptions, index_folder, index_table
from recolorist_lab.data.pixels import digest_of, shape_of

__all__ = ["ImageSource", "empty_hospitals", "find_images", "store_images"]

_NAME: Final = "images"
_UNNAMED: Final = "unnamed hospital"
_TABLES: Final = (".csv", ".parquet")
_LAYOUTS: Final = "hospital/class/*.png, or class/*.png with --test-share for images of one hospital"


@dataclass(frozen=True)
class ImageSource:
    """Where the images of a comparison are, and what names their class, hospital and patient.

    Attributes:
        path: A folder, a table (CSV or Parquet), or a manifest as `recolorist-lab data index` writes it.
        root: Folder that a table's paths are relative to; by default the table's own.
        columns: Names of a table's columns.
        group_pattern: Regular expression that finds the patient or slide in an image's path.
        is_one_hospital: Whether a share of the images is held out, because there is no second hospital.
    """

    path: Path
    root: Path | None = None
    columns: Columns = field(default_factory=Columns)
    group_pattern: str = ""
    is_one_hospital: bool = False


def find_images(source: ImageSource, jobs: int = 2, bar: Bar | None = None) -> tuple[Manifest, Path]:
    """Index the images of a comparison.

    Args:
        source: Where they are.
        jobs: Threads that open files.
        bar: Shows progress.

    Returns:
        A manifest of all images, and the folder that its paths are relative to.

    Raises:
        OptionError: If the layout of the folder is not understood, or a table names the hospital of some images only.
        MissingDataError: If there is no image.
    """
    plan = IndexOptions(_NAME, group_pattern=source.group_pattern, follow_links=True)
    if source.path.is_dir():
        label, domain = _levels(source)
        manifest = index_folder(source.path, plan, label_from=label, domain_from=domain, jobs=jobs, bar=bar)
        return manifest, source.path.resolve()
    if not source.path.is_file() or source.path.suffix.lower() not in _TABLES:
        raise MissingDataError(f"{source.path} is neither a folder nor a table ({' or '.join(_TABLES)}); check the path")
    root = (source.root or source.path.parent).resolve()
    if is_manifest(source.path):
        return Manifest.read(source.path), root
    plan = replace(plan, name=_UNNAMED)  # which images get whose hospital is not named
    manifest = index_table(source.path, plan, root=root, columns=source.columns, jobs=jobs, bar=bar)
    _refuse_unnamed_hospitals(manifest, source)
    return manifest, root


def _refuse_unnamed_hospitals(manifest: Manifest, source: ImageSource) -> None:
    """Refuse a table that names the hospital of some images only; the others would be taken for one hospital."""
    hospitals = Counter(manifest.column("domain"))
    unnamed = hospitals.pop(_UNNAMED, 0)
    if unnamed and hospitals:
        raise OptionError(
            f"{unnamed:,} of {len(manifest):,} images of {source.path} have no hospital in the column {source.columns.domain!r}; "
            "name it, or leave them out of the table"
        )


def _levels(source: ImageSource) -> tuple[int, int | None]:
    """Find which levels of folders name class and hospital; None where there is one hospital."""
    paths = [relative(path, source.path) for path in pictures(source.path)]
    if not paths:
        raise MissingDataError(f"{source.path} contains no PNG, JPEG or TIFF file; check the path")
    depths = Counter(path.count("/") for path in paths)
    if len(depths) > 1 or 0 in depths:
        odd = next(path for path in paths if path.count("/") == min(depths))
        raise OptionError(f"{odd} is at another folder level than other images, or in no folder; accepted is {_LAYOUTS}")
    if 1 in depths:
        if not source.is_one_hospital:
            raise OptionError(
                f"{source.path} has images as class/*.png, so there is no second hospital to test on; hold out a share of them "
                "with --test-share 0.3, or lay them out as hospital/class/*.png"
            )
        return 0, None
    return 1, 0


def empty_hospitals(source: ImageSource, manifest: Manifest) -> list[str]:
    """Name the folders of hospitals of which no image takes part.

    Args:
        source: Where the images are.
        manifest: The images that take part.

    Returns:
        One sentence for each folder; none where the source is a table, or the folder of one hospital.
    """
    present = set(manifest.column("domain"))
    if not source.path.is_dir() or not present & {path.name for path in source.path.iterdir()}:
        return []
    folders = sorted(path for path in source.path.iterdir() if path.is_dir() and not path.name.startswith((".", "__")))
    return [
        f"{path.name} takes no part: {'links to folders are not followed' if path.is_symlink() else 'it has no image to use'}."
        for path in folders
        if path.name not in present
    ]


def store_images(manifest: Manifest, root: Path, folder: Path, size: int) -> Manifest:
    """Write all images, resized, into one array, so that no training decodes a file again.

    The name of the array holds the hash of its pixels. A changed image is therefore another dataset, and old results are not
    taken for those of the new images.

    Args:
        manifest: The images.
        root: Folder that the manifest's paths are relative to.
        folder: Where to write the array.
        size: Side of the square in pixels; shapes are kept, with a border.

    Returns:
        A manifest of the rows of the array.
    """
    samples = Samples(manifest, root=root, size=size, resize="letterbox")
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{_NAME}.part.npy"
    stored: Any = np.lib.format.open_memmap(partial, "w+", np.uint8, (len(samples), size, size, 3))
    digest, rows = hashlib.sha256(f"{size}".encode()), []
    for number, (entry, sample) in enumerate(zip(manifest, samples, strict=True)):
        stored[number] = sample.image
        digest.update(sample.image.tobytes())
        box = None if sample.box == (0, 0, size, size) else sample.box
        shape, pixels = shape_of(sample.image), digest_of(sample.image)
        rows.append(replace(entry, row=number, box=box, bytes=None, split="train", shape=shape, digest=pixels))
    stored.flush()
    del stored
    name = f"{_NAME}-{digest.hexdigest()[:16]}.npy"
    partial.replace(folder / name)
    return Manifest.of([replace(entry, path=name) for entry in rows], manifest.facts)
