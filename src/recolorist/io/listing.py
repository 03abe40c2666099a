"""Lists of the image files below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from recolorist.errors import ImageError
from recolorist.io.formats import FORMATS
from recolorist.io.reading import display_path

__all__ = ["list_images", "list_names"]


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
    return [Path(folder, name) for name in list_names(folder)]


def list_names(folder: str | Path) -> list[str]:
    """Return what :func:`list_images` lists, relative to the folder and with slashes: strings cost less than paths."""
    root = Path(folder)
    if not root.is_dir():
        raise ImageError(f"{display_path(folder)} is not a folder; give one with image files in it")
    return sorted(_walk(str(root), "", root.resolve()), key=_sort_key)


def _sort_key(name: str) -> list[str]:
    """Sort folder by folder, as paths do; whether upper case counts is up to the system."""
    return (name if os.sep == "/" else name.lower()).split("/")


def _walk(folder: str, before: str, inside: Path) -> Iterator[str]:
    """Search depth first; a Zarr folder is one image, and a link is followed only to a file inside."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            form = FORMATS.get(os.path.splitext(name)[1].lower())  # noqa: PTH122 - see `list_names`
            if name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from [before + name] if form == "ZARR" else _walk(entry.path, f"{before}{name}/", inside)
            elif form and form != "ZARR" and (entry.is_file(follow_symlinks=False) or _is_safe_link(Path(entry.path), inside)):
                yield before + name


def _is_safe_link(path: Path, inside: Path) -> bool:
    try:
        return path.is_file() and path.resolve().is_relative_to(inside)
    except OSError:  # a loop of links
        return False
