"""Functions that all layouts share: find files, read tables, list images."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from recolorist import optional
from recolorist.io.images import FORMATS
from recolorist.io.reading import refuse_packed_rows
from recolorist_lab.data.cards import Card
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.manifest import Entry, Excluded

__all__ = [
    "PICTURES",
    "DatasetListing",
    "base_of",
    "folders",
    "missing_data",
    "pictures",
    "pictures_by_name",
    "relative",
    "require_folder",
    "table",
]

PICTURES: Final = tuple(suffix for suffix, form in FORMATS.items() if form in ("PNG", "JPEG", "TIFF"))


@dataclass(slots=True)
class DatasetListing:
    """Images of a layout, and what was left out."""

    entries: list[Entry] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)  #: from the card, beside those of counts

    def leave_out(self, path: str, reason: str) -> None:
        """Note an image, or a folder of them, that is not used.

        Args:
            path: Its path.
            reason: Why it is not used.
        """
        self.excluded.append(Excluded(path, reason))


def missing_data(card: Card, path: Path) -> MissingDataError:
    """Make the error for a file or folder that is not there.

    Args:
        card: The dataset.
        path: What is missing.

    Returns:
        The error, which the caller raises.

    Example:
        >>> from recolorist_lab.data.registry import card_of
        >>> print(missing_data(card_of("ddi"), Path("data/ddi_metadata.csv")))
        data/ddi_metadata.csv was not found; `recolorist-lab data fetch ddi --root DIR` explains how to get it and where to put it
    """
    return MissingDataError(
        f"{path} was not found; `recolorist-lab data fetch {card.key} --root DIR` explains how to get it and where to put it"
    )


def base_of(root: Path, members: Iterable[str]) -> Path | None:
    """Find the folder of a dataset: the root, or one folder below it, as archives often have.

    Args:
        root: Where to look.
        members: Names of files or folders, of which one must be in it.

    Returns:
        The folder, or None where there is none.
    """
    names = tuple(members)
    if not root.is_dir():
        return None
    for folder in (root, *folders(root)):
        if any((folder / name).exists() for name in names):
            return folder
    return None


def require_folder(card: Card, root: Path, *members: str) -> Path:
    """Find the folder of a dataset with :func:`base_of`.

    Args:
        card: The dataset, for the error.
        root: Where to look.
        members: Names of files or folders, of which one must be in it.

    Returns:
        The folder.

    Raises:
        MissingDataError: There is none; the error names the first member.
    """
    base = base_of(root, members)
    if base is None:
        raise missing_data(card, root / members[0])
    return base


def folders(root: Path) -> list[Path]:
    """List the folders in a folder, sorted, without hidden ones and `__MACOSX`.

    Args:
        root: The folder.

    Returns:
        Their paths.
    """
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith((".", "__")))


def pictures(folder: Path) -> list[Path]:
    """List the image files below a folder, sorted, without hidden files and folders, links to folders and `__MACOSX`.

    Args:
        folder: The folder; one that does not exist holds no images.

    Returns:
        Their paths.
    """
    return sorted(_walk(folder)) if folder.is_dir() else []


def _walk(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name == "__MACOSX":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(folder / entry.name)
            elif entry.is_file() and os.path.splitext(entry.name)[1].lower() in PICTURES:  # noqa: PTH122 - for every file of many
                yield folder / entry.name


def pictures_by_name(folder: Path) -> dict[str, Path]:
    """List the image files below a folder by name, in lower case, because tables and disks differ in the case of endings.

    Args:
        folder: The folder.

    Returns:
        Paths by name.
    """
    return {path.name.lower(): path for path in pictures(folder)}


def relative(path: Path, root: Path) -> str:
    """Return a path as a manifest holds it.

    Args:
        path: The path of an image.
        root: The folder of the manifest.

    Returns:
        The relative path with forward slashes.
    """
    return path.relative_to(root).as_posix()


def table(path: Path, columns: Iterable[str]) -> list[dict[str, str]]:
    """Read a CSV or Parquet table; blank lines are left out.

    Args:
        path: The file.
        columns: Columns that it must have.

    Returns:
        The rows, with cells as text.

    Raises:
        MissingDataError: The file cannot be read, has no rows, or lacks a column.
    """
    try:
        if path.suffix.lower() == ".parquet":
            rows = _parquet_rows(path)
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file, strict=True)  # a quotation mark that is not closed would hide the rows after it
                _refuse_repeated_columns(reader.fieldnames or ())
                rows = [row for row in map(_plain, reader) if any(row.values())]
    except (OSError, ValueError, csv.Error) as error:
        raise MissingDataError(f"{path} cannot be read as a table: {error}") from error
    if not rows:
        raise MissingDataError(f"{path} has no rows; is it the right file?")
    if absent := [name for name in columns if name not in rows[0]]:
        names, present = (", ".join(map(repr, some)) for some in (absent, rows[0]))
        raise MissingDataError(f"{path} has no column {names}; it has {present}: is it the right file, and separated by commas?")
    return rows


def _refuse_repeated_columns(names: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise ValueError(f"it has two columns {repeated[0]!r}; rename or remove one of them")


def _parquet_rows(path: Path) -> list[dict[str, str]]:
    parquet: Any = optional.load("pyarrow.parquet", "read Parquet tables")
    refuse_packed_rows(parquet.read_metadata(path), path.stat().st_size)
    lines = parquet.read_table(path).to_pylist()
    return [{str(name): "" if value is None else str(value).strip() for name, value in line.items()} for line in lines]


def _plain(row: Mapping[str | None, str | list[str] | None]) -> dict[str, str]:
    """Return cells as text without surrounding blanks; surplus cells are dropped."""
    return {name: value.strip() if isinstance(value, str) else "" for name, value in row.items() if name is not None}
