"""Decode and resize every image of a dataset once, in several processes, into one array that training maps.

Images come in chunks. A chunk is noted with its checksum when it is written; an interrupted pack goes on with those that are
missing or do not verify. The folder gets its name when all are there.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.data.index import Bar
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.locks import locked
from recolorist_lab.data.packed import BOXES, FACTS, FORMAT, IMAGES, Packed, digest_of_chunk, pack_name
from recolorist_lab.disk import cache_place, refuse_full_disk

__all__ = ["CHUNK", "pack"]

CHUNK: Final = 64  #: images that are checked together
_JOURNAL: Final = "done.jsonl"

_samples: Samples | None = None  # of a process that packs


def pack(samples: Samples, *, jobs: int = 1, bar: Bar | None = None) -> Path:
    """Write the images of a manifest at their size into one array; do nothing where it exists.

    Args:
        samples: All images of a manifest, with the size and the way of resizing that training will ask for.
        jobs: Processes.
        bar: Shows progress.

    Returns:
        The folder of the pack, beside the manifest, or in the cache where that folder is read-only.

    Raises:
        OptionError: The samples are not all images of a manifest on disk, or have no size.
        ImageError: An image cannot be read, or is not the one that was indexed.
    """
    if samples.size is None or samples.split is not None or len(samples) != len(samples.manifest):
        raise OptionError("a pack holds all images of a manifest at one size; give Samples(manifest, size=224) without a split")
    folder = cache_place(samples.root, pack_name(samples.manifest, samples.size, samples.resize))
    with locked(folder):
        if (folder / FACTS).is_file():
            return folder
        part = folder.with_name(f".{folder.name}.part")
        digests = _resume(part, samples)
        missing = [number for number in range(len(digests)) if digests[number] is None]
        results = _write_chunks(samples, part, missing, jobs)
        with (part / _JOURNAL).open("a", encoding="utf-8") as journal:
            for number, digest in bar(results, len(missing)) if bar else results:
                digests[number] = digest
                journal.write(json.dumps([number, digest]) + "\n")
                journal.flush()
        facts = {"format": FORMAT, "fingerprint": samples.manifest.fingerprint(), "size": samples.size, "resize": samples.resize}
        (part / FACTS).write_text(json.dumps({**facts, "chunk": CHUNK, "digests": digests}), "utf-8")
        (part / _JOURNAL).unlink()
        part.rename(folder)
    return folder


def _resume(part: Path, samples: Samples) -> list[str | None]:
    """Allocate the file of all images, or find it there; return the checksum of every chunk that is written and verifies."""
    count, size = len(samples), samples.size or 0
    digests: list[str | None] = [None] * -(-count // CHUNK)
    if not (part / _JOURNAL).is_file():
        part.mkdir(parents=True, exist_ok=True)
        refuse_full_disk(part, count * size**2 * 3, RecoloristError, f"the pack of {samples.manifest.facts.title}")
        np.lib.format.open_memmap(part / IMAGES, "w+", np.uint8, (count, size, size, 3))
        np.lib.format.open_memmap(part / BOXES, "w+", np.int32, (count, 4))
        (part / _JOURNAL).touch()
        return digests
    packed = Packed(part)
    for line in (part / _JOURNAL).read_text("utf-8").splitlines():
        try:
            number, digest = json.loads(line)
        except ValueError:  # the last line of a process that was killed
            continue
        if digest_of_chunk(packed, number, CHUNK) == digest:
            digests[number] = digest
    return digests


def _write_chunks(samples: Samples, part: Path, chunks: list[int], jobs: int) -> Iterator[tuple[int, str]]:
    if jobs == 1:
        _begin(samples)
        yield from (_fill(part, number) for number in chunks)
        return
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(min(jobs, max(1, len(chunks))), context, _begin, (samples,)) as pool:
        try:
            yield from pool.map(_fill, [part] * len(chunks), chunks)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _begin(samples: Samples) -> None:
    global _samples  # noqa: PLW0603 - sent once to each process, not with every chunk
    _samples = samples


def _fill(part: Path, number: int) -> tuple[int, str]:
    """Read the images of a chunk, write them, and return its number and checksum."""
    assert _samples is not None  # noqa: S101 - for the type checker
    images, boxes = (np.lib.format.open_memmap(part / name, "r+") for name in (IMAGES, BOXES))
    for row in range(number * CHUNK, min((number + 1) * CHUNK, len(_samples))):
        _samples.refuse_changed(row)
        sample = _samples[row]
        images[row], boxes[row] = sample.image, sample.box
    images.flush()
    boxes.flush()
    return number, digest_of_chunk(Packed(part), number, CHUNK)
