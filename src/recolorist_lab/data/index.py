"""Make a manifest from files on disk: find and read every image, assign splits, count, and compare with the card."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError, RecoloristError
from recolorist.io.images import read_picture
from recolorist_lab.data.arrays import open_array, replaced_archive
from recolorist_lab.data.cards import Card
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.layouts import arrays, folders, tables
from recolorist_lab.data.layouts.files import DatasetListing
from recolorist_lab.data.loader import READING
from recolorist_lab.data.manifest import Entry, Excluded, Facts, Manifest
from recolorist_lab.data.pixels import digest_of, shape_of
from recolorist_lab.data.statistics import differences

__all__ = ["Bar", "CountError", "Finder", "Stored", "check", "index", "inspect_files", "inspect_image"]

Finder = Callable[[Card, Path, Mapping[str, str]], DatasetListing]
Bar = Callable[[Iterable[Any], int], Iterable[Any]]

_FINDERS: Final[dict[str, Finder]] = {
    "camelyon17": tables.camelyon17,
    "epistr": folders.epistr,
    "fitzpatrick17k": tables.fitzpatrick17k,
    "ddi": tables.ddi,
    "peripheral_blood": folders.blood,
    "bone_marrow": folders.blood,
    "retina": tables.retina,
}
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {"retina": ("idrid",)}


class CountError(RecoloristError):
    """The counts, the sizes of the images or the archive are not those of the card; the manifest was not written."""


def index(
    card: Card,
    root: str | Path,
    *,
    into: str | Path | None = None,
    allow_different: bool = False,
    options: Mapping[str, str] | None = None,
    jobs: int = 2,
    bar: Bar | None = None,
) -> Manifest:
    """Make the manifest of a dataset with a card.

    Args:
        card: The dataset.
        root: The folder of its files; paths in the manifest are relative to it.
        into: Another folder, for arrays unpacked from an archive, which their paths are then relative to. Use it where ``root``
            cannot be written to.
        allow_different: Accept what differs from the card, and record it.
        options: Choices that the dataset offers.
        jobs: Threads.
        bar: Shows progress.

    Returns:
        The manifest, to be written into ``root``, or ``into`` where that is given.

    Raises:
        OptionError: An option is unknown.
        CountError: What was found is not what the card says.
    """
    choices = dict(options or {})
    if unknown := set(choices) - set(_OPTIONS.get(card.key, ())):
        raise OptionError(
            f"{card.title} has no option {', '.join(sorted(unknown))}; it has {', '.join(_OPTIONS.get(card.key, ())) or 'none'}"
        )
    if into is not None and card.layout != "medmnist":
        raise OptionError(
            f"the images of {card.title} are files, so its manifest must be in their folder {root}; leave out --out"
        )
    folder = Path(root).resolve()
    with _arrays_folder(card, folder, folder if into is None else Path(into).resolve(), is_kept=allow_different) as place:
        listing = arrays.medmnist(card, folder, place) if card.layout == "medmnist" else _find(card, folder, choices)
        opened, broken = inspect_files(listing.entries, place, jobs, bar)
    facts = replace(Facts.of(card), excluded=(*listing.excluded, *broken), options=tuple(listing.options))
    manifest = Manifest.of(folders.divide(opened), facts)
    return _compared(manifest, card, listing.differences, allow_different=allow_different)


@contextmanager
def _arrays_folder(card: Card, root: Path, place: Path, *, is_kept: bool) -> Iterator[Path]:
    """Yield the folder for arrays, or a temporary one where the archive will be refused.

    The arrays of an earlier indexing belong to its manifest, which stays when another archive is refused.
    """
    if is_kept or card.layout != "medmnist" or not arrays.is_other_archive(card, root):
        yield place
        return
    place.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".refused-", dir=place) as folder:
        yield Path(folder)


def _find(card: Card, root: Path, options: Mapping[str, str]) -> DatasetListing:
    try:
        return _FINDERS[card.layout](card, root, options)
    except RecoloristError:
        raise
    except (ValueError, KeyError) as error:  # a number or a code that the layout does not know
        raise MissingDataError(f"a table of {card.title} below {root} holds something unexpected: {error}") from error


def _compared(manifest: Manifest, card: Card, noticed: Sequence[str], *, allow_different: bool) -> Manifest:
    """Refuse or record differences from the card: counts, image sizes, and what the layout reported."""
    faults = (*noticed, *differences(manifest, card))
    if faults and not allow_different:
        why = "; ".join(f"{image.path} {image.reason}" for image in manifest.facts.excluded[:5])
        more = f" Left out were {len(manifest.facts.excluded):,}, such as: {why}." if why else ""
        raise CountError(
            f"{card.title} differs from its card: {'; '.join(faults[:12])}.{more} "
            "Nothing was written; --allow-different writes the manifest and records the differences"
        )
    return manifest.with_facts(complete=not faults, differences=faults)


def inspect_files(
    entries: Sequence[Entry], root: Path, jobs: int = 2, bar: Bar | None = None, *, follow_links: bool = False
) -> tuple[list[Entry], list[Excluded]]:
    """Decode every image once, and note what identifies its pixels.

    Args:
        entries: Images in files or in rows of arrays.
        root: The folder that their paths are relative to.
        jobs: Threads; decoding and hashing release Python's lock.
        bar: Shows progress.
        follow_links: Use files that are links out of the folder.

    Returns:
        The entries with bytes, shape and digest; and the images that cannot be used, with the reason.
    """
    good: list[Entry] = []
    bad: list[Excluded] = []
    for entry, result in zip(entries, _results(entries, root, jobs, bar, follow_links=follow_links), strict=True):
        if isinstance(result, str):
            bad.append(Excluded(entry.path, result))
        else:
            good.append(replace(entry, **result._asdict()))
    return good, bad


class Stored(NamedTuple):
    """What identifies the pixels of an image; see :class:`recolorist_lab.data.manifest.Entry`."""

    bytes: int | None
    shape: str
    digest: str


def _results(
    entries: Sequence[Entry], root: Path, jobs: int, bar: Bar | None, *, follow_links: bool = False
) -> Iterator[Stored | str]:
    maps = {entry.path: _mapped(root / entry.path) for entry in entries if entry.row is not None}
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        results = pool.map(lambda entry: inspect_image(entry, root, follow_links=follow_links, maps=maps), entries)
        yield from bar(results, len(entries)) if bar else results


def _mapped(path: Path) -> NDArray[Any] | str:
    try:
        return open_array(path)
    except RecoloristError as error:
        return str(error)


def inspect_image(
    entry: Entry, root: Path, *, follow_links: bool = False, maps: Mapping[str, NDArray[Any] | str] | None = None
) -> Stored | str:
    """Inspect an image.

    Args:
        entry: The image.
        root: The folder that its path is relative to.
        follow_links: Accept a file that is a link out of the folder.
        maps: Arrays by path, or why they cannot be read; those that are not there are opened.

    Returns:
        What identifies its pixels, or a sentence on why it cannot be used.
    """
    path = root / entry.path
    if entry.row is not None:
        images = (maps or {}).get(entry.path)
        return _look_at_row(entry, _mapped(path) if images is None else images)
    if not os.path.isfile(path):  # noqa: PTH113 - a Path raises on a name that is too long for the system
        return "was not found"
    if not follow_links and not path.resolve().is_relative_to(root):
        return "is a link that leaves the folder"
    try:
        pixels = read_picture(path, READING).pixels
    except RecoloristError as error:
        return f"cannot be opened: {error}"
    if entry.box is not None:
        x0, y0, x1, y1 = entry.box
        if not (0 <= x0 < x1 <= pixels.shape[1] and 0 <= y0 < y1 <= pixels.shape[0]):
            return f"has {pixels.shape[1]}×{pixels.shape[0]} pixels, which the box {entry.box} leaves"
    return Stored(path.stat().st_size, shape_of(pixels), digest_of(path))


def _look_at_row(entry: Entry, images: NDArray[Any] | str) -> Stored | str:
    if isinstance(images, str):
        return f"cannot be read: {images}"
    if entry.row is None or entry.row >= len(images):
        return f"has {len(images):,} rows and the manifest names row {entry.row:,}"
    pixels = np.asarray(images[entry.row])
    return Stored(None, shape_of(pixels), digest_of(pixels))


def check(manifest: Manifest, root: str | Path, card: Card | None = None, *, jobs: int = 2, bar: Bar | None = None) -> list[str]:
    """Read every image of a manifest again, and compare it with what was indexed.

    Args:
        manifest: The images as they were indexed.
        root: The folder that its paths are relative to.
        card: What the counts must be.
        jobs: Threads.
        bar: Shows progress.

    Returns:
        What is wrong, as sentences: one for a file, one for all rows of an array with the same fault.
    """
    folder = Path(root).resolve()
    entries = list(manifest)
    faults: dict[tuple[str, str], list[Entry]] = {}
    for entry, result in zip(entries, _results(entries, folder, jobs, bar), strict=True):
        if fault := result if isinstance(result, str) else _changed(entry, result):
            faults.setdefault((entry.path, fault), []).append(entry)
    wrong = [_sentence(path, fault, rows) for (path, fault), rows in faults.items()]
    converted = {(folder / entry.path).parent for entry in entries if entry.row is not None}
    wrong += [
        f"{archive} is another file than the one that was indexed, whose images are still used; index the data again"
        for archive in map(replaced_archive, sorted(converted))
        if archive is not None
    ]
    if card is not None:
        recorded = manifest.facts.differences
        wrong += [f"{text} (recorded when indexed)" if text in recorded else text for text in differences(manifest, card)]
    return wrong


def _changed(entry: Entry, now: Stored) -> str:
    """Describe how an image differs from the indexed one; empty if it does not."""
    if now.bytes is not None and now.bytes != entry.bytes:
        return f"has {now.bytes:,} bytes and had {entry.bytes or 0:,} when it was indexed"
    if entry.shape and now.shape != entry.shape:
        return f"has the shape {now.shape} and had {entry.shape} when it was indexed"
    return "holds other pixels than when it was indexed" if entry.digest and now.digest != entry.digest else ""


def _sentence(path: str, fault: str, entries: Sequence[Entry]) -> str:
    if entries[0].row is None:
        return f"{path} {fault}"
    return f"{path}, {len(entries):,} rows from row {entries[0].row:,}: {fault}"
