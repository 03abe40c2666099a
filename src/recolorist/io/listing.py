"""Lists of the image files below a folder, and counts of what it holds besides."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recolorist.errors import ImageError
from recolorist.io.formats import FORMATS
from recolorist.io.reading import display_path

__all__ = ["Listing", "Passed", "list_folder", "list_images"]


@dataclass(frozen=True, slots=True)
class Passed:
    """What a folder holds and is not read.

    Args:
        kinds: Number of files by suffix, in lower case.
        links: Links that were not followed, because they lead out of the folder or nowhere.

    Example:
        >>> print(*Passed({".svs": 2, ".txt": 10}, ("a.png",)).sentences(), sep="; ")
        12 files of other kinds were ignored: .txt 10, .svs 2; 1 link leads out of the folder or nowhere (a.png) ...
    """

    kinds: Mapping[str, int] = field(default_factory=dict)
    links: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return what is to be said of it, without a full stop; nothing if there is nothing."""
        parts = []
        if self.kinds:
            several, verb = ("file", "was") if (count := sum(self.kinds.values())) == 1 else ("files", "were")
            ordered = sorted(self.kinds.items(), key=lambda kind: (-kind[1], kind[0]))
            kinds = ", ".join(f"{display_path(suffix) or 'without a suffix'} {number}" for suffix, number in ordered)
            parts.append(f"{count} {several} of other kinds {verb} ignored: {kinds}")
        if self.links:
            lead = "link leads" if len(self.links) == 1 else "links lead"
            first = display_path(self.links[0]) + ("" if len(self.links) == 1 else " is one")
            what = "was not followed" if len(self.links) == 1 else "were not followed"
            parts.append(
                f"{len(self.links)} {lead} out of the folder or nowhere ({first}) and {what}; pass follow_links=True to read them"
            )
        return parts

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {"kinds": dict(self.kinds), "links": list(self.links)}


@dataclass(frozen=True, slots=True)
class Listing:
    """The image files below a folder, relative to it and with slashes, and what was passed over."""

    names: list[str]
    passed: Passed


def list_images(folder: str | Path) -> list[Path]:
    """List the image files below a folder, sorted by path. Links out of it are not followed; hidden files are not listed.

    Args:
        folder: The folder to search, with all folders below it.

    Returns:
        The paths of files with a suffix of a known format, and of Zarr folders.

    Raises:
        ImageError: If it is not a folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     list_images(folder)
        []
    """
    return [Path(folder, name) for name in list_folder(folder).names]


def list_folder(folder: str | Path, *, follow_links: bool = False) -> Listing:
    """List the image files below a folder as :func:`list_images` does, as strings, which cost less than paths.

    Args:
        folder: The folder to search, with all folders below it.
        follow_links: Whether links are followed that lead out of the folder, to files or to folders.

    Returns:
        The names of the images, and what else the folder holds. Hidden files are not counted.

    Raises:
        ImageError: If it is not a folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "notes.txt").write_text("")
        ...     list_folder(folder).passed.kinds
        {'.txt': 1}
    """
    root = Path(folder)
    if not root.is_dir():
        raise ImageError(f"{display_path(folder)} is not a folder; give one with image files in it")
    walk = _Walk(root.resolve(), follow_links=follow_links)
    walk.visit(str(root), "", (os.path.realpath(root),))
    passed = Passed(dict(walk.kinds), tuple(sorted(walk.links, key=_sort_key)))
    return Listing(sorted(walk.names, key=_sort_key), passed)


def _sort_key(name: str) -> list[str]:
    """Sort folder by folder, as paths do; whether upper case counts is up to the system."""
    return (name if os.sep == "/" else name.lower()).split("/")


class _Walk:
    """A search through folders, depth first; a Zarr folder is one image."""

    def __init__(self, root: Path, *, follow_links: bool) -> None:
        self._root, self._follow_links = root, follow_links
        self.names: list[str] = []
        self.kinds: Counter[str] = Counter()
        self.links: list[str] = []

    def visit(self, folder: str, before: str, above: tuple[str, ...]) -> None:
        """Add what a folder holds; ``above`` are the real paths of it and the folders on the way, so that no loop is followed."""
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name.startswith("."):
                    continue
                suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a Path would be made for every file
                if entry.is_dir(follow_symlinks=False):
                    self._add_folder(entry, before, above, suffix)
                elif entry.is_file(follow_symlinks=False):
                    self._add_file(before + name, suffix)
                elif entry.is_symlink():
                    self._add_link(entry, before, above, suffix)

    def _add_file(self, name: str, suffix: str) -> None:
        if suffix in FORMATS and suffix != ".zarr":
            self.names.append(name)
        else:
            self.kinds[suffix] += 1

    def _add_folder(self, entry: os.DirEntry[str], before: str, above: tuple[str, ...], suffix: str) -> None:
        if suffix == ".zarr":
            self.names.append(before + entry.name)
            return
        real = os.path.realpath(entry.path) if self._follow_links else entry.path
        if real not in above:
            self.visit(entry.path, f"{before}{entry.name}/", (*above, real))

    def _add_link(self, entry: os.DirEntry[str], before: str, above: tuple[str, ...], suffix: str) -> None:
        name, place = before + entry.name, _resolve(entry.path)
        if place is not None and place.is_dir():
            if self._follow_links:
                self._add_folder(entry, before, above, suffix)
            elif not place.is_relative_to(self._root):
                self.links.append(name)
        elif place is None or not place.is_file():
            self.links.append(name)
        elif self._follow_links or place.is_relative_to(self._root) or suffix not in FORMATS:
            self._add_file(name, suffix)
        else:
            self.links.append(name)


def _resolve(path: str) -> Path | None:
    """Return where a link leads; None if that is nowhere, or it is a loop."""
    try:
        return Path(path).resolve(strict=True)
    except (OSError, RuntimeError):
        return None
