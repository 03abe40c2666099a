"""From what lies on disk to a manifest: find, open every file, divide, count, and refuse when the counts are not the card's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from recolorist.errors import OptionError, RecoloristError
from recolorist.io.images import read_picture
from recolorist_lab.data.cards import Card
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.layouts import arrays, folders, tables
from recolorist_lab.data.layouts.files import Found
from recolorist_lab.data.loader import READING
from recolorist_lab.data.manifest import Entry, Excluded, Facts, Manifest
from recolorist_lab.data.statistics import differences

__all__ = ["Bar", "CountError", "Finder", "check", "index", "look", "opened_files"]

Finder = Callable[[Card, Path, Mapping[str, str]], Found]
Bar = Callable[[Iterable[Any], int], Iterable[Any]]

_FINDERS: Final[dict[str, Finder]] = {
    "medmnist": arrays.medmnist,
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
    """The counts are not those of the card; the manifest was not written."""


def index(
    card: Card,
    root: str | Path,
    *,
    allow_different: bool = False,
    options: Mapping[str, str] | None = None,
    jobs: int = 2,
    bar: Bar | None = None,
) -> Manifest:
    """The manifest of a dataset with a card. Paths in it are relative to ``root``."""
    given = dict(options or {})
    if unknown := set(given) - set(_OPTIONS.get(card.key, ())):
        raise OptionError(
            f"{card.title} has no option {', '.join(sorted(unknown))}; it has {', '.join(_OPTIONS.get(card.key, ())) or 'none'}"
        )
    folder = Path(root).resolve()
    found = _find(card, folder, given)
    opened, broken = opened_files(found.entries, folder, jobs, bar)
    facts = replace(Facts.of(card), excluded=(*found.excluded, *broken), options=tuple(found.options))
    manifest = Manifest.of(folders.divide(opened), facts)
    return _held_against(manifest, card, allow_different=allow_different)


def _find(card: Card, root: Path, options: Mapping[str, str]) -> Found:
    try:
        return _FINDERS[card.layout](card, root, options)
    except RecoloristError:
        raise
    except (ValueError, KeyError) as error:  # a number or a code that the layout does not know
        raise MissingDataError(f"a table of {card.title} below {root} holds something unexpected: {error}") from error


def _held_against(manifest: Manifest, card: Card, *, allow_different: bool) -> Manifest:
    found = differences(manifest, card)
    if found and not allow_different:
        why = "; ".join(f"{one.path} {one.reason}" for one in manifest.facts.excluded[:5])
        more = f" Left out were {len(manifest.facts.excluded):,}, such as: {why}." if why else ""
        raise CountError(
            f"{card.title} is not what its card says: {'; '.join(found[:12])}.{more} "
            "Nothing was written; --allow-different writes it all the same and records this"
        )
    return manifest.with_facts(complete=not found, differences=found)


def opened_files(
    entries: Sequence[Entry], root: Path, jobs: int = 2, bar: Bar | None = None, *, follow_links: bool = False
) -> tuple[list[Entry], list[Excluded]]:
    """Decode every image file once: entries with the sizes of their files, and those that cannot be opened, with the reason.

    Rows of arrays were looked at when the array was opened, and pass.
    """
    good: list[Entry] = []
    bad: list[Excluded] = []
    for entry, result in zip(entries, _results(entries, root, jobs, bar, follow_links=follow_links), strict=True):
        if isinstance(result, str):
            bad.append(Excluded(entry.path, result))
        else:
            good.append(replace(entry, bytes=result) if result is not None else entry)
    return good, bad


def _results(
    entries: Sequence[Entry], root: Path, jobs: int, bar: Bar | None, *, follow_links: bool = False
) -> Iterator[int | str | None]:
    with ThreadPoolExecutor(max(1, jobs)) as pool:  # decoding releases the lock
        results = pool.map(lambda entry: look(entry, root, follow_links=follow_links), entries)
        yield from bar(results, len(entries)) if bar else results


def look(entry: Entry, root: Path, *, follow_links: bool = False) -> int | str | None:
    """The size of an entry's file in bytes, or a sentence on why it cannot be used; None for a row of an array."""
    if entry.row is not None:
        return None
    path = root / entry.path
    if not path.is_file():
        return "is not there"
    if not follow_links and not path.resolve().is_relative_to(root):
        return "is a link that leaves the folder"
    try:
        shape = read_picture(path, READING).pixels.shape
    except RecoloristError as error:
        return f"cannot be opened: {error}"
    if entry.box is not None:
        x0, y0, x1, y1 = entry.box
        if not (0 <= x0 < x1 <= shape[1] and 0 <= y0 < y1 <= shape[0]):
            return f"has {shape[1]}×{shape[0]} pixels, which the box {entry.box} leaves"
    return path.stat().st_size


def check(manifest: Manifest, root: str | Path, card: Card | None = None, *, jobs: int = 2, bar: Bar | None = None) -> list[str]:
    """What is wrong with a manifest and its files, as sentences; an empty list if nothing is."""
    folder = Path(root).resolve()
    wrong: list[str] = []
    entries = list(manifest)
    for entry, result in zip(entries, _results(entries, folder, jobs, bar), strict=True):
        if isinstance(result, str):
            wrong.append(f"{entry.path} {result}")
        elif result is not None and result != entry.bytes:
            wrong.append(f"{entry.path} has {result:,} bytes and had {entry.bytes or 0:,} when it was indexed")
    wrong += _check_arrays(entries, folder)
    if card is not None:
        wrong += [
            f"{one} (recorded when indexed)" if one in manifest.facts.differences else one for one in differences(manifest, card)
        ]
    return wrong


def _check_arrays(entries: Sequence[Entry], root: Path) -> list[str]:
    from recolorist_lab.data.arrays import open_array

    last: dict[str, int] = {}
    for entry in entries:
        if entry.row is not None:
            last[entry.path] = max(last.get(entry.path, 0), entry.row)
    wrong: list[str] = []
    for path, row in last.items():
        try:
            length = len(open_array(root / path))
        except RecoloristError as error:
            wrong.append(str(error))
            continue
        if length <= row:
            wrong.append(f"{path} has {length:,} rows and the manifest names row {row:,}")
    return wrong
