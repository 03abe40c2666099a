"""Which images train, validate and test; and what is held out of the training split to see how well the source is known."""

from __future__ import annotations

import copy
import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.named import Named
from recolorist_lab.training.settings import Settings

__all__ = ["Splits", "divide", "held_out", "subset"]


class Splits(NamedTuple):
    """The images of a run.

    ``source`` is None where nothing tells how well the source itself is known. ``val_split`` is the dataset's own validation
    split where a share of the training images validates in its place: often one more domain that was never seen.
    """

    train: Samples
    val: Samples
    test: Samples
    source: Samples | None
    val_split: Samples | None


def divide(found: Named, settings: Settings) -> Splits:
    """The splits of a dataset, as the settings want them.

    >>> from recolorist_lab.data.named import named
    >>> wanted = Settings("synthetic:hospitals=3,tiles=40,size=16", 1, size=16, source_share=0.2)
    >>> [len(one) for one in divide(named(wanted.dataset), wanted) if one is not None]
    [32, 40, 40, 8]
    """
    how = {"size": settings.size, "resize": settings.resize}
    sizes = found.manifest.sizes()
    wanted = ("train", "test", *(["val"] if settings.validation == "val" else []))
    if missing := [split for split in wanted if not sizes.get(split)]:
        raise OptionError(
            f"{found.title} has no images in {' and '.join(missing)}; it has {sizes}. Without a split val, validate on a "
            'share of the training images with validation = "train"'
        )
    whole = found.samples("train", **how)
    shares = [settings.source_share, settings.validation_share if settings.validation == "train" else 0.0]
    source, val = held_out(whole, shares, settings.seed)
    train = subset(whole, np.setdiff1d(np.arange(len(whole)), np.concatenate([source, val])))
    return Splits(
        train,
        subset(whole, val) if settings.validation == "train" else found.samples("val", **how),
        found.samples("test", **how),
        _source(found, whole, source, how),
        found.samples("val", **how) if settings.validation == "train" and sizes.get("val") else None,
    )


def _source(found: Named, whole: Samples, places: NDArray[np.int64], how: Mapping[str, Any]) -> Samples | None:
    """What was held out; else what the dataset itself holds out of the training domains."""
    if len(places):
        return subset(whole, places)
    return found.samples("id_val", **how) if found.manifest.sizes().get("id_val") else None


def subset(samples: Samples, places: NDArray[np.int64]) -> Samples:
    """The same loader over some of its images."""
    if not len(places):
        raise OptionError(f"a share of {samples.manifest.facts.title} is empty; make it larger")
    chosen = copy.copy(samples)
    chosen.__dict__.pop("labels", None)  # computed for the whole
    chosen.rows = samples.rows[places]
    return chosen


def held_out(samples: Samples, shares: Sequence[float], seed: int) -> list[NDArray[np.int64]]:
    """Disjoint shares of the images, alike in domain and class; images of one patient or slide stay together.

    Which images they are depends on their keys and the seed alone, so that every method of a study holds out the same ones.
    """
    parts: list[list[int]] = [[] for _ in shares]
    taken = [0] * len(shares)
    met = 0
    for units in _strata(samples).values():
        ordered = sorted(units, key=lambda unit: _hash(seed, unit))
        met, start = met + len(ordered), 0
        for number, share in enumerate(shares):
            stop = start + max(0, round(share * met) - taken[number])  # what rounding took from one stratum the next gives back
            parts[number].extend(place for unit in ordered[start:stop] for place in units[unit])
            taken[number], start = taken[number] + len(ordered[start:stop]), stop
    return [np.array(sorted(part), np.int64) for part in parts]


def _strata(samples: Samples) -> dict[tuple[str, int], dict[str, list[int]]]:
    """Places by patient (or image), by domain and class; a patient with several classes counts with the first."""
    home: dict[str, tuple[str, int]] = {}
    found: dict[tuple[str, int], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    columns = [samples.manifest.column(name) for name in ("domain", "group", "path", "row")]
    for place, number in enumerate(samples.rows):
        domain, group, path, row = (column[number] for column in columns)
        unit = f"group:{domain}/{group}" if group else f"{path}#{row}"
        label = samples.labels[place][0] if samples.labels[place] else -1
        found[home.setdefault(unit, (domain, label))][unit].append(place)
    return found


def _hash(seed: int, unit: str) -> bytes:
    return hashlib.blake2b(f"{seed}/{unit}".encode(), digest_size=16).digest()
