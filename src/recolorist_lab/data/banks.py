"""Style banks of a split: the library's own, with the dataset, its fingerprint and how the images were resized written in."""

from __future__ import annotations

import hashlib
import json
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from recolorist.bank.style_bank import StyleBank
from recolorist.errors import RecoloristError
from recolorist_lab.data.loader import Samples
from recolorist_lab.runs.fingerprint import code_fingerprint

__all__ = ["cached_bank", "style_bank"]

_WRITABLE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def cached_bank(samples: Samples, space: str = "rgb") -> StyleBank:
    """:func:`style_bank`, measured once and kept beside the manifest, under its usual name in the folder of the images.

    Nothing is written into a folder that has no manifest, or is marked as read-only, whoever asks. The name of the file holds
    everything that could change a style: the images, how they are resized, the space, and our own code. A file that does not
    verify is made again.
    """
    path = _place(samples, space)
    if path is None:
        return style_bank(samples, space)
    with suppress(RecoloristError, OSError):
        return StyleBank.load(path)
    bank = style_bank(samples, space)
    if path.parent.stat().st_mode & _WRITABLE:  # the mark counts also for those whom the system would let write
        with suppress(RecoloristError, OSError):  # a full disk costs time, not the run
            bank.save(path)
    return bank


def _place(samples: Samples, space: str) -> Path | None:
    dataset = samples.manifest.facts.dataset
    if not (samples.root / f"{dataset}.parquet").is_file():  # also where images are in memory: their root is no folder of theirs
        return None
    rows = hashlib.sha256(samples.rows.tobytes()).hexdigest()
    code = code_fingerprint("recolorist_lab.data.banks")
    parts = [samples.manifest.fingerprint(), samples.split, rows, samples.size, samples.resize, space, code]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return samples.root / f"{dataset}.{digest[:16]}.bank"


def style_bank(samples: Samples, space: str = "rgb") -> StyleBank:
    """Measure every image of a split as a network would see it, without the borders of letterboxing.

    The bank carries the split, so `recolorist.Colorist` refuses any but the training one. Images with several labels or none get
    their class names joined.

    >>> from recolorist_lab.data.synthetic import Recipe, make
    >>> bank = style_bank(make(Recipe(hospitals=3, tiles=4, size=16)).samples("train"))
    >>> bank.split, len(bank), bank.name.partition("@")[0]
    ('train', 4, 'synthetic')
    """
    facts = samples.manifest.facts
    entries = [samples.manifest[int(row)] for row in samples.rows]
    size = "native size" if samples.size is None else f"{samples.resize} to {samples.size} pixels, bilinear"
    return StyleBank.build(
        (sample.picture for sample in samples),
        labels=["|".join(facts.classes[label] for label in entry.labels) for entry in entries],
        domains=[entry.domain for entry in entries],
        keys=[entry.key for entry in entries],
        name=f"{facts.dataset}@{samples.manifest.fingerprint()[:16]}",
        split=samples.split,
        preprocessing=size,
        space=space,
        with_blank=True,  # the paper draws every training image
    )
