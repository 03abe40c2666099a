"""What all on-disk layouts share: finding files, reading tables, and the list of what was found."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from recolorist import optional
from recolorist.io.images import FORMATS
from recolorist_lab.data.cards import Card
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.manifest import Entry, Excluded

__all__ = ["PICTURES", "Found", "base_of", "by_name", "folders", "missing", "needed", "pictures", "relative", "table"]

PICTURES: Final = tuple(suffix for suffix, form in FORMATS.items() if form in ("PNG", "JPEG", "TIFF"))


@dataclass(slots=True)
class Found:
    """Images of a layout, and what was left out."""

    entries: list[Entry] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)  #: from the card, beside those of counts

    def leave_out(self, path: str, reason: str) -> None:
        """Note an image, or a folder of them, that is not used."""
        self.excluded.append(Excluded(path, reason))


def missing(card: Card, what: Path) -> MissingDataError:
    """The error for something that is not there.

    >>> from recolorist_lab.data.registry import card_of
    >>> print(missing(card_of("ddi"), Path("data/ddi_metadata.csv")))
    data/ddi_metadata.csv is not there; recolorist-lab data fetch ddi --root DIR says how to get it and how to lay it out
    """
    return MissingDataError(
        f"{what} is not there; recolorist-lab data fetch {card.key} --root DIR says how to get it and how to lay it out"
    )


def base_of(root: Path, wanted: Iterable[str]) -> Path | None:
    """The folder that holds one of the wanted names: the root, or, as archives often have one folder on top, one below it."""
    names = tuple(wanted)
    if not root.is_dir():
        return None
    for folder in (root, *folders(root)):
        if any((folder / name).exists() for name in names):
            return folder
    return None


def needed(card: Card, root: Path, *wanted: str) -> Path:
    """The folder that :func:`base_of` finds; where there is none, the error names the first of the wanted."""
    base = base_of(root, wanted)
    if base is None:
        raise missing(card, root / wanted[0])
    return base


def folders(root: Path) -> list[Path]:
    """The folders in a folder, sorted, without hidden ones and `__MACOSX`."""
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith((".", "__")))


def pictures(folder: Path) -> list[Path]:
    """Image files below a folder, sorted; hidden files and folders, links to folders and `__MACOSX` are passed over."""
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


def by_name(folder: Path) -> dict[str, Path]:
    """Image files below a folder by their names in lower case: tables and disks differ in the case of endings."""
    return {path.name.lower(): path for path in pictures(folder)}


def relative(path: Path, root: Path) -> str:
    """A path as a manifest holds it."""
    return path.relative_to(root).as_posix()


def table(path: Path, columns: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a CSV or Parquet table that has at least these columns; blank lines are passed over."""
    try:
        if path.suffix.lower() == ".parquet":
            rows = _parquet_rows(path)
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = [row for row in map(_plain, csv.DictReader(file)) if any(row.values())]
    except (OSError, ValueError, csv.Error) as error:
        raise MissingDataError(f"{path} cannot be read as a table: {error}") from error
    absent = [name for name in columns if rows and name not in rows[0]]
    if absent or not rows:
        raise MissingDataError(f"{path} has no {'column ' + ', '.join(absent) if absent else 'rows'}; is it the right file?")
    return rows


def _parquet_rows(path: Path) -> list[dict[str, str]]:
    parquet: Any = optional.load("pyarrow.parquet", "read Parquet tables")
    lines = parquet.read_table(path).to_pylist()
    return [{str(name): "" if value is None else str(value).strip() for name, value in line.items()} for line in lines]


def _plain(row: Mapping[str | None, str | list[str] | None]) -> dict[str, str]:
    """Cells as text without blanks around them; surplus cells are dropped."""
    return {name: value.strip() if isinstance(value, str) else "" for name, value in row.items() if name is not None}
