"""Download the open files of a dataset: over https only, and checked before a file gets its name.

A file is written beside its target with the ending ``.part``; an interrupted download goes on from there. Sizes and checksums of
the card are always checked. A file without one is recorded in ``fetched.json`` at its first download, and later downloads are
compared with that.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from recolorist.io.files import atomic_write
from recolorist_lab.assets.archives import ArchiveError, check_archive, unpack
from recolorist_lab.assets.download import CutOffError, FetchError, Link, note_of, transfer
from recolorist_lab.data.cards import Card, File, Source
from recolorist_lab.progress import Tick

__all__ = ["RECORD", "Fetched", "fetch", "fetch_files", "instructions"]

RECORD: Final = "fetched.json"
_CHUNK: Final = 1 << 20
_MAGIC: Final = {".npz": b"PK\3\4", ".zip": b"PK\3\4", ".gz": b"\x1f\x8b"}
_RECORDED: Final = {"bytes": int, "sha256": str, "url": str, "unpacked": str}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was done, and what is left for a person to do."""

    files: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    by_hand: tuple[Source, ...] = ()


@dataclass(slots=True)
class _Run:
    root: Path
    link: Link
    tick: Tick
    keep: bool
    accept_new: bool
    record: dict[str, dict[str, Any]] = field(default_factory=dict)


def fetch(
    card: Card,
    root: str | Path,
    *,
    link: Link | None = None,
    tick: Tick | None = None,
    keep_archives: bool = False,
    accept_new: bool = False,
) -> Fetched:
    """Download every open file of a dataset.

    Args:
        card: The dataset.
        root: The folder to download to.
        link: How to reach the servers.
        tick: Is called with every piece that came.
        keep_archives: Whether archives are kept after they are unpacked.
        accept_new: Whether a file that is not the one recorded at its first download is accepted and recorded anew. What the
            card pins is checked in any case.

    Returns:
        What was downloaded, what was there, and the sources that only a person can ask for.

    Raises:
        FetchError: A download failed, or is not what it should be.
        ArchiveError: An archive was refused.
    """
    fetched = fetch_files(card.files, root, link=link, tick=tick, keep_archives=keep_archives, accept_new=accept_new)
    return replace(fetched, by_hand=tuple(source for source in card.sources if source.request))


def fetch_files(
    files: Iterable[File],
    root: str | Path,
    *,
    link: Link | None = None,
    tick: Tick | None = None,
    keep_archives: bool = False,
    accept_new: bool = False,
) -> Fetched:
    """Download files; see :func:`fetch`.

    Args:
        files: The files.
        root: The folder.
        link: How to reach the servers.
        tick: Is called with every piece.
        keep_archives: Keep archives that were unpacked.
        accept_new: Accept files that differ from those recorded.

    Returns:
        What was downloaded and what was there.

    Raises:
        FetchError: A file is refused or is not what it should be.
    """
    folder = Path(root)
    folder.mkdir(parents=True, exist_ok=True)
    run = _Run(folder, link or Link(), tick or (lambda *_: None), keep_archives, accept_new, _read_record(folder))
    downloaded: list[str] = []
    present: list[str] = []
    for file in files:
        (downloaded if _fetch_file(file, run) else present).append(file.name)
    return Fetched(tuple(downloaded), tuple(present))


def instructions(source: Source, root: str | Path) -> str:
    """Describe what to ask for, where, and how to lay it out.

    Args:
        source: Where the images come from.
        root: The folder of the data.

    Returns:
        The text.
    """
    lines = [
        f"{source.title} cannot be downloaded by a program ({source.access}).",
        f"  Page: {source.page}",
        f"  Licence: {source.licence}",
    ]
    lines += [f"  {number}. {step.replace('FOLDER', str(root))}" for number, step in enumerate(source.request, 1)]
    lines += [f"  Layout below {root}:", *(f"    {line}" for line in source.layout)]
    lines += [f"  Note: {note}" for note in source.notes]
    return "\n".join(lines)


def _fetch_file(file: File, run: _Run) -> bool:
    """Make sure of one file; False if it was there already and is right."""
    target = run.root / file.name
    recorded = run.record.get(file.name, {})
    pinned = {} if run.accept_new else recorded
    unpacked = None if file.unpack is None else run.root / file.unpack
    if unpacked is not None and recorded.get("unpacked") == file.unpack and unpacked.is_dir():
        return False
    fresh = not target.exists()
    if fresh:
        target.parent.mkdir(parents=True, exist_ok=True)
        _download(file, target, pinned, run)
    else:
        _note(run, file, _verify(file, target, pinned))
    if unpacked is not None:
        unpack(target, unpacked)
        _note(run, file, {"unpacked": file.unpack})
        if not run.keep:
            target.unlink()
    return fresh or unpacked is not None


def _download(file: File, target: Path, pinned: dict[str, Any], run: _Run) -> None:
    part = target.with_name(f"{target.name}.part")
    for attempt in range(run.link.tries):
        try:
            transfer(file, part, run.link, run.tick)
            break
        except CutOffError as error:
            if attempt + 1 == run.link.tries:
                raise FetchError(f"{error}; what came is kept, and the same command goes on from there") from error
            time.sleep(run.link.pause * 2**attempt)
    try:
        facts = _verify(file, part, pinned)
    except FetchError:
        part.unlink()  # the bytes are wrong, so there is nothing to go on from
        note_of(part).unlink(missing_ok=True)
        raise
    part.replace(target)
    note_of(part).unlink(missing_ok=True)
    _note(run, file, {**facts, "url": file.url})


def _verify(file: File, path: Path, pinned: dict[str, Any]) -> dict[str, Any]:
    """Size, checksum and first bytes; those of the card, and those of an earlier download where the card has none."""
    size = path.stat().st_size
    due = file.bytes if file.bytes is not None else pinned.get("bytes")
    if due is not None and size != due:
        raise FetchError(f"{path.name} has {size:,} bytes and should have {due:,}; it is not accepted")
    kind = file.checksum.partition(":")[0] if file.checksum else "sha256"
    digests = _digests(path, {kind, "sha256"})
    pins = [file.checksum] if file.checksum else []
    pins += [f"sha256:{pinned['sha256']}"] if "sha256" in pinned else []
    for pin in pins:
        name, _, value = pin.partition(":")
        if not value or not digests[name].startswith(value):
            hint = "" if pin == file.checksum else "; it changed since its first download (--accept-new takes the new one)"
            raise FetchError(f"{path.name} has the {name} {digests[name]} and should have {value}; it is not accepted{hint}")
    magic = _MAGIC.get(Path(file.name).suffix)
    with path.open("rb") as stream:
        if magic and stream.read(len(magic)) != magic:
            raise FetchError(f"{path.name} does not begin as a {Path(file.name).suffix} file does; it is not accepted")
    if magic and not pins:
        try:
            check_archive(path)
        except ArchiveError as error:
            raise FetchError(f"{path.name} has no known checksum and is not accepted: {error}") from error
    return {"bytes": size, "sha256": digests["sha256"]}


def _digests(path: Path, kinds: set[str]) -> dict[str, str]:
    hashes = {kind: hashlib.new(kind, usedforsecurity=False) for kind in kinds}
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            for hash_ in hashes.values():
                hash_.update(block)
    return {kind: hash_.hexdigest() for kind, hash_ in hashes.items()}


def _read_record(root: Path) -> dict[str, dict[str, Any]]:
    path = root / RECORD
    if not path.exists():
        return {}
    try:
        record: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
        is_sound = all(isinstance(value, _RECORDED.get(key, object)) for facts in record.values() for key, value in facts.items())
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise FetchError(f"{path} is damaged ({error}); remove it to start its record again") from error
    if not is_sound:
        raise FetchError(f"{path} is damaged (it holds facts of another kind); remove it to start its record again")
    return record


def _note(run: _Run, file: File, facts: dict[str, Any]) -> None:
    run.record[file.name] = run.record.get(file.name, {}) | facts
    atomic_write(run.root / RECORD, (json.dumps(run.record, indent=2, sort_keys=True) + "\n").encode())
