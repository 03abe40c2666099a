"""Lists of the image files below a folder, and counts of what it holds besides."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recolorist.errors import ImageError
from recolorist.io.formats import FORMATS
from recolorist.io.reading import describe_unopened, display_path

__all__ = ["Ignored", "Listing", "list_folder", "list_images"]


@dataclass(frozen=True, slots=True)
class Ignored:
    """What a folder holds and is not read.

    Args:
        kinds: Number of files by suffix, in lower case.
        links: Links that were not followed, because they lead out of the folder or nowhere.

    Example:
        >>> print(*Ignored({".svs": 2, ".txt": 10}, ("a.png",)).sentences(), sep="; ")
        12 files of other kinds were ignored: .txt 10, .svs 2; 1 link leads out of the folder or nowhere (a.png) ...
    """

    kinds: Mapping[str, int] = field(default_factory=dict)
    links: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return messages about it, without a full stop; none if nothing was ignored.

        Returns:
            Sentences without a full stop; none if nothing was ignored.
        """
        parts = []
        if self.kinds:
            count = sum(self.kinds.values())
            files, verb = ("file", "was") if count == 1 else ("files", "were")
            ordered = sorted(self.kinds.items(), key=lambda kind: (-kind[1], kind[0]))
            kinds = ", ".join(f"{display_path(suffix) or 'without a suffix'} {number}" for suffix, number in ordered)
            parts.append(f"{count} {files} of other kinds {verb} ignored: {kinds}")
        if self.links:
            is_one = len(self.links) == 1
            links, verb = ("1 link leads", "was") if is_one else (f"{len(self.links)} links lead", "were")
            first = display_path(self.links[0]) + ("" if is_one else " is one")
            parts.append(
                f"{links} out of the folder or nowhere ({first}) and {verb} not followed; pass follow_links=True to read them"
            )
        return parts

    def to_dict(self) -> dict[str, object]:
        """Return plain values.

        Returns:
            The counts and the links.
        """
        return {"kinds": dict(self.kinds), "links": list(self.links)}


@dataclass(frozen=True, slots=True)
class Listing:
    """The image files below a folder, relative to it and with slashes, and what was passed over."""

    names: list[str]
    ignored: Ignored


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
        ...     list_folder(folder).ignored.kinds
        {'.txt': 1}
    """
    root = Path(folder)
    if not root.is_dir():
        raise ImageError(f"{display_path(folder)} is not a folder; give one with image files in it")
    walk = _Walk(root.resolve(), follow_links=follow_links)
    walk.visit(str(root), "", (os.path.realpath(root),))
    ignored = Ignored(dict(walk.kinds), tuple(sorted(walk.links, key=_sort_key)))
    return Listing(sorted(walk.names, key=_sort_key), ignored)


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

    def visit(self, folder: str, prefix: str, ancestors: tuple[str, ...]) -> None:
        """Add what a folder holds; ``ancestors`` are the real paths of it and its parents, so that no loop is followed."""
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            raise ImageError(describe_unopened(folder, error)) from error
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a Path would be made for every file
            if entry.is_dir(follow_symlinks=False):
                self._add_folder(entry, prefix, ancestors, suffix)
            elif entry.is_file(follow_symlinks=False):
                self._add_file(prefix + name, suffix)
            elif entry.is_symlink():
                self._add_link(entry, prefix, ancestors, suffix)

    def _add_file(self, name: str, suffix: str) -> None:
        if suffix in FORMATS and suffix != ".zarr":
            self.names.append(name)
        else:
            self.kinds[suffix] += 1

    def _add_folder(self, entry: os.DirEntry[str], prefix: str, ancestors: tuple[str, ...], suffix: str) -> None:
        if suffix == ".zarr":
            self.names.append(prefix + entry.name)
            return
        real = os.path.realpath(entry.path) if self._follow_links else entry.path
        if real not in ancestors:
            self.visit(entry.path, f"{prefix}{entry.name}/", (*ancestors, real))

    def _add_link(self, entry: os.DirEntry[str], prefix: str, ancestors: tuple[str, ...], suffix: str) -> None:
        name, target = prefix + entry.name, _resolve(entry.path)
        if target is not None and target.is_dir():
            if self._follow_links:
                self._add_folder(entry, prefix, ancestors, suffix)
            elif not target.is_relative_to(self._root):
                self.links.append(name)
        elif target is None or not target.is_file():
            self.links.append(name)
        elif self._follow_links or target.is_relative_to(self._root) or suffix not in FORMATS:
            self._add_file(name, suffix)
        else:
            self.links.append(name)


def _resolve(path: str) -> Path | None:
    """Return where a link leads; None if that is nowhere, or it is a loop."""
    try:
        return Path(path).resolve(strict=True)
    except (OSError, RuntimeError):
        return None
