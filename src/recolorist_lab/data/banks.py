"""Style banks of a split, with the dataset, its fingerprint and the way of resizing recorded in them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from recolorist.bank.style_bank import StyleBank
from recolorist.errors import RecoloristError
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.locks import locked
from recolorist_lab.data.pixels import Bytes
from recolorist_lab.disk import cache_place
from recolorist_lab.runs.fingerprint import code_fingerprint

__all__ = ["cached_bank", "style_bank"]

_AHEAD: Final = 16  # images that each thread reads before they are measured


def cached_bank(samples: Samples, space: str = "rgb") -> StyleBank:
    """Return the result of :func:`style_bank`, measured once and kept beside the manifest, or in the user's cache.

    If several processes need it, one measures and the others wait. Nothing is written for a folder without a manifest. The name
    of the file is a digest of everything that could change a style: the pixels, how they are resized, the space, and our own
    code. For arrays it also holds when they were last written. So an array that was changed in place is measured again, and
    refused. A file that does not verify is made again.

    Args:
        samples: The images.
        space: The colour space of the styles.

    Returns:
        The bank.

    Raises:
        ImageError: An image is not the one that was indexed.
    """
    name = _name(samples, space)
    if name is None:
        return style_bank(samples, space)
    path = cache_place(samples.root, name)
    with suppress(RecoloristError, OSError):
        return StyleBank.load(path)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path):
        with suppress(RecoloristError, OSError):  # another process made it meanwhile
            return StyleBank.load(path)
        bank = style_bank(samples, space)
        with suppress(RecoloristError, OSError):  # a full disk costs time, not the run
            bank.save(path)
    return bank


def _name(samples: Samples, space: str) -> str | None:
    dataset = samples.manifest.facts.dataset
    if not (samples.root / f"{dataset}.parquet").is_file():  # also where images are in memory: their root is no folder of theirs
        return None
    rows = hashlib.sha256(samples.rows.tobytes()).hexdigest()
    code = code_fingerprint("recolorist_lab.data.banks")
    parts = [samples.manifest.fingerprint(), samples.split, rows, samples.size, samples.resize, space, code, _stamps(samples)]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return f"{dataset}.{digest[:16]}.bank"


def _stamps(samples: Samples) -> list[list[int]]:
    """Return size and time of every array; image files are too many to check for each run."""
    if samples.packed is not None:
        return []
    columns = zip(samples.manifest.column("path"), samples.manifest.column("row"), strict=True)
    paths = sorted({path for path, row in columns if row is not None})
    states = [(samples.root / path).stat() for path in paths if (samples.root / path).is_file()]
    return [[state.st_size, state.st_mtime_ns] for state in states]


def style_bank(samples: Samples, space: str = "rgb") -> StyleBank:
    """Measure every image of a split as a network would see it, without the borders of letterboxing.

    The bank carries the split, so `recolorist.Colorist` refuses any but the training one. Images with several labels or none get
    their class names joined. Images are read by as many threads as there are cores.

    Args:
        samples: The images.
        space: The colour space of the styles.

    Returns:
        The bank.

    Raises:
        ImageError: An image cannot be read, or is not the one that was indexed.

    Example:
        >>> from recolorist_lab.data.synthetic import Recipe, make
        >>> bank = style_bank(make(Recipe(hospitals=3, tiles=4, size=16)).samples("train"))
        >>> bank.split, len(bank), bank.name.partition("@")[0]
        ('train', 4, 'synthetic')
    """
    facts = samples.manifest.facts
    entries = [samples.manifest[int(row)] for row in samples.rows]
    size = "native size" if samples.size is None else f"{samples.resize} to {samples.size} pixels, bilinear"
    return StyleBank.build(
        _pictures(samples),
        labels=["|".join(facts.classes[label] for label in entry.labels) for entry in entries],
        domains=[entry.domain for entry in entries],
        keys=[entry.key for entry in entries],
        name=f"{facts.dataset}@{samples.manifest.fingerprint()[:16]}",
        split=samples.split,
        preprocessing=size,
        space=space,
        with_blank=True,  # the paper draws every training image
    )


def _pictures(samples: Samples) -> Iterator[Bytes]:
    """Yield the images in order, read by several threads; decoding and hashing release Python's lock."""
    is_packed = samples.packed is not None  # then every image was compared with the manifest when it was packed

    def read(place: int) -> Bytes:
        if not is_packed:
            samples.refuse_changed(place)
        return samples[place].picture

    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(jobs) as pool:
        for start in range(0, len(samples), _AHEAD * jobs):
            yield from pool.map(read, range(start, min(start + _AHEAD * jobs, len(samples))))
