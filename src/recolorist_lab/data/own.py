"""Make a manifest of your own images in folders or a table; for an .npz file see :mod:`.own_arrays`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.data.cards import EXTRA_SPLITS, SPLITS, Task
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.index import Bar, inspect_files
from recolorist_lab.data.layouts.files import pictures, relative, table
from recolorist_lab.data.manifest import Entry, Excluded, Facts, Manifest

__all__ = ["Columns", "IndexOptions", "LabelledEntry", "build_manifest", "index_folder", "index_table"]

_SYNONYMS: Final = {"training": "train", "validation": "val", "valid": "val", "dev": "val", "testing": "test"}
_BOX: Final = ("x0", "y0", "x1", "y1")
_PATHS: Final = ("path", "file", "filename", "image")
_OUTSIDE: Final = "lies outside the folder that paths are relative to; name one that holds all images with --root"
_WHAT: Final = ("label", "domain", "split")  # what levels of folders may name


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How a collection becomes a manifest.

    Images of the domains in ``val_domains`` and ``test_domains`` go into these splits; the others into ``split``, or where the
    data say so themselves.
    """

    name: str
    split: str = "train"
    val_domains: tuple[str, ...] = ()
    test_domains: tuple[str, ...] = ()
    multilabel: bool = False
    classes: tuple[str, ...] = ()  #: in index order; sorted by name if not given
    follow_links: bool = False  #: use images that are links to files outside the folder
    group_pattern: str = ""  #: regular expression that finds the patient or slide in an image's path

    def split_of(self, domain: str, stated: str = "") -> str:
        """Return the split of an image.

        Args:
            domain: Its domain.
            stated: What the data say; may be empty.

        Returns:
            The split.

        Raises:
            OptionError: There is no such split.

        Example:
            >>> IndexOptions("mine", test_domains=("b",)).split_of("b"), IndexOptions("mine").split_of("a", "Training")
            ('test', 'train')
        """
        if domain in self.test_domains:
            return "test"
        if domain in self.val_domains:
            return "val"
        word = (stated or self.split).lower()
        split = _SYNONYMS.get(word, word)
        if split not in (*SPLITS, *EXTRA_SPLITS):
            raise OptionError(
                f"{stated or self.split!r} is not a split; accepted are {', '.join((*SPLITS, *EXTRA_SPLITS, *_SYNONYMS))}"
            )
        return split

    def group_of(self, path: str) -> str:
        r"""Find the patient or slide in a path: the pattern's first group, or else all that it matches.

        Args:
            path: The path of an image.

        Returns:
            The group; empty where there is no pattern.

        Raises:
            OptionError: The pattern is no regular expression, or does not match.

        Example:
            >>> IndexOptions("mine", group_pattern=r"(p\d+)_").group_of("north/benign/p07_2.png")
            'p07'
        """
        if not self.group_pattern:
            return ""
        try:
            match = re.search(self.group_pattern, path)
        except re.error as error:
            raise OptionError(f"--group-pattern {self.group_pattern!r} is not a regular expression: {error}") from error
        if match is None:
            raise OptionError(f"--group-pattern {self.group_pattern!r} matches nothing in {path}; it must match every path")
        return str(match.group(1) if match.re.groups else match.group())


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a table hold what; those that are not there are not used. An empty path means the first usual name."""

    path: str = ""
    label: str = "label"
    domain: str = "domain"
    split: str = "split"
    group: str = "group"

    def needed(self) -> list[str]:
        """Return the columns that a table must have: that of the labels, and those that were named explicitly.

        Returns:
            Names of columns. A name that is empty or ``none`` asks for no column.

        Example:
            >>> Columns(group="patient", split="none").needed()
            ['label', 'patient']
        """
        named = [(self.domain, "domain"), (self.split, "split"), (self.group, "group")]
        return [self.label, *(name for name, usual in named if name not in ("", "none", usual))]


@dataclass(slots=True)
class LabelledEntry:
    """An image whose classes are still names; one with a problem is left out and listed."""

    entry: Entry
    names: tuple[str, ...]
    problem: str = ""


def index_folder(
    folder: str | Path,
    plan: IndexOptions,
    *,
    label_from: int = -1,
    domain_from: int | None = None,
    split_from: int | None = None,
    jobs: int = 2,
    bar: Bar | None = None,
) -> Manifest:
    """Index the image files below a folder. Levels of its sub-folders name class, domain and split.

    Args:
        folder: The folder.
        plan: How it becomes a manifest.
        label_from: The level that names the class: 0 is the first folder, -1 the one that holds the file.
        domain_from: The level that names the domain; None for one domain.
        split_from: The level that names the split; None for that of ``plan``.
        jobs: Threads.
        bar: Shows progress.

    Returns:
        The manifest.

    Raises:
        MissingDataError: There is no image, or none can be used.
        OptionError: An image has no folder at a level.
    """
    root = Path(folder).resolve()
    paths = pictures(root)
    if not paths:
        raise MissingDataError(f"{folder} contains no PNG, JPEG or TIFF file; check the path")
    rows = []
    for path in paths:
        where = relative(path, root)
        label, domain, named_split = (
            _level(where, level, purpose) for level, purpose in zip((label_from, domain_from, split_from), _WHAT, strict=True)
        )
        split, group = plan.split_of(domain, named_split), plan.group_of(where)
        entry = Entry(plan.name, split, domain or plan.name, where, (), source_label=label, group=group)
        rows.append(LabelledEntry(entry, (label,)))
    return build_manifest(rows, root, plan, jobs, bar)


def index_table(
    path: str | Path,
    plan: IndexOptions,
    *,
    root: str | Path | None = None,
    columns: Columns | None = None,
    jobs: int = 2,
    bar: Bar | None = None,
) -> Manifest:
    """Index the images that a CSV lists.

    Columns x0, y0, x1, y1, if there, are the part of each picture to use.

    Args:
        path: The CSV.
        plan: Names, splits and groups.
        root: The folder that paths in it are relative to; None for that of the table.
        columns: The columns that hold path, label and so on.
        jobs: Threads.
        bar: Shows progress.

    Returns:
        The manifest.

    Raises:
        OptionError: A column is missing, or a label is not among the classes.
        MissingDataError: No image can be used.
    """
    file = Path(path)
    base = Path(root if root is not None else file.parent).resolve()
    chosen = columns or Columns()
    lines = table(file, chosen.needed())
    place = chosen.path or next((name for name in _PATHS if name in lines[0]), "")
    if place not in lines[0]:
        raise OptionError(f"{file} has no column {place or ' or '.join(_PATHS)!r}; name the one that holds the paths")
    roots = (base, Path(file.parent if root is None else root).absolute())  # with links followed, and as it was named
    rows = [_row_of(line, _place_below(roots, line[place]), chosen, plan) for line in lines]
    return build_manifest(rows, base, plan, jobs, bar)


def _place_below(roots: Sequence[Path], text: str) -> str:
    """Return a path relative to the first of the folders that contain it; unchanged if none does."""
    path = Path(os.path.normpath(roots[0] / text))
    below = next((root for root in roots if path.is_relative_to(root)), None)
    return Path(text).as_posix() if below is None else path.relative_to(below).as_posix()


def _row_of(line: Mapping[str, str], path: str, columns: Columns, plan: IndexOptions) -> LabelledEntry:
    text, domain = line[columns.label], line.get(columns.domain, "")
    names = tuple(part for part in text.split("|") if part) if plan.multilabel else (text,)
    entry = Entry(
        plan.name,
        plan.split_of(domain, line.get(columns.split, "")),
        domain or plan.name,
        path,
        (),
        source_label=text,
        group=line.get(columns.group, "") or plan.group_of(path),
        box=_box(line, path),
    )
    outside = Path(path).is_absolute() or ".." in Path(path).parts
    return LabelledEntry(entry, names, _OUTSIDE if outside else "" if names != ("",) else "has no label")


def _box(line: Mapping[str, str], path: str) -> tuple[int, int, int, int] | None:
    cells = [line.get(name, "") for name in _BOX]
    if not all(cells):
        return None
    try:
        x0, y0, x1, y1 = (int(float(cell)) for cell in cells)
    except (ValueError, OverflowError):
        raise OptionError(f"{path}: the box {', '.join(map(repr, cells))} is not of four whole numbers; mend the table") from None
    return x0, y0, x1, y1


def _level(where: str, level: int | None, purpose: str) -> str:
    if level is None:
        return ""
    folders = where.split("/")[:-1]
    if not -len(folders) <= level < len(folders):
        raise OptionError(
            f"{where} has {len(folders)} folders above it, so none at level {level} to name its {purpose}; put images into "
            f"a folder for each {purpose}, or list them in a table (--csv)"
        )
    return folders[level]


def build_manifest(
    rows: Sequence[LabelledEntry], root: Path, plan: IndexOptions, jobs: int, bar: Bar | None, *, classes: tuple[str, ...] = ()
) -> Manifest:
    """Number the classes, read every image, and put it all into a manifest.

    Args:
        rows: The images.
        root: The folder that their paths are relative to.
        plan: What to call them; its classes count before others.
        jobs: Threads.
        bar: Shows progress.
        classes: In index order, where the data name them; otherwise those of usable images, by name.

    Returns:
        The manifest, with the images that cannot be used and why.

    Raises:
        OptionError: A label is not among the classes.
        MissingDataError: No image can be used.
    """
    usable = [row for row in rows if not row.problem]
    excluded = [Excluded(row.entry.path, row.problem) for row in rows if row.problem]
    present = sorted({name for row in usable for name in row.names}, key=_natural)
    stated = plan.classes or classes
    classes = stated or tuple(present)
    if strange := sorted(set(present) - set(classes)):
        raise OptionError(
            f"the labels {', '.join(map(repr, strange[:5]))} are not among the classes {', '.join(map(repr, classes))}"
        )
    number = {name: place for place, name in enumerate(classes)}
    entries = [replace(row.entry, labels=tuple(sorted(number[name] for name in row.names))) for row in usable]
    good, bad = inspect_files(entries, root, jobs, bar, follow_links=plan.follow_links)
    left_out = (*excluded, *bad)
    if not good:
        raise MissingDataError(
            f"none of the {len(rows):,} images below {root} can be used; the first: {left_out[0].path} {left_out[0].reason}"
        )
    if not stated:
        good, classes = _without_empty_classes(good, classes)
    task: Task = "multilabel" if plan.multilabel else "binary" if len(classes) == 2 else "multiclass"
    return Manifest.of(good, Facts(plan.name, plan.name, task, classes, not left_out, (), left_out))


def _without_empty_classes(entries: Sequence[Entry], classes: tuple[str, ...]) -> tuple[list[Entry], tuple[str, ...]]:
    """Number the classes anew, without those of which no image can be used."""
    used = sorted({label for entry in entries for label in entry.labels})
    number = {label: place for place, label in enumerate(used)}
    renumbered = [replace(entry, labels=tuple(number[label] for label in entry.labels)) for entry in entries]
    return renumbered, tuple(classes[label] for label in used)


def _natural(name: str) -> tuple[int, int, str]:
    """Sort key: numbers by value, then names by letter."""
    return (0, int(name), "") if name.isdecimal() else (1, 0, name)
