"""Hold out shares of the images, alike in domain and class, with the images of one patient or slide kept together."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab.data.manifest import Manifest

__all__ = ["held_out", "split_by_shares"]


def held_out(manifest: Manifest, rows: NDArray[np.int64], shares: Sequence[float], seed: int) -> list[NDArray[np.int64]]:
    """Choose disjoint shares of some images.

    Which images they are depends on their keys and the seed alone, so that every method of a study holds out the same ones.

    Args:
        manifest: The images, their labels, domains and groups.
        rows: Numbers of the rows to choose from.
        shares: Size of each share, from 0 to 1.
        seed: Another seed chooses other images.

    Returns:
        For each share the places in ``rows``, in rising order.
    """
    parts: list[list[int]] = [[] for _ in shares]
    counts = [0] * len(shares)
    met = 0
    for units in _strata(manifest, rows).values():
        ordered = sorted(units, key=lambda unit: _hash(seed, unit))
        met, start = met + len(ordered), 0
        for number, share in enumerate(shares):
            stop = start + max(0, round(share * met) - counts[number])  # what rounding took from one stratum the next gives back
            parts[number].extend(place for unit in ordered[start:stop] for place in units[unit])
            counts[number], start = counts[number] + len(ordered[start:stop]), stop
    return [np.array(sorted(part), np.int64) for part in parts]


def split_by_shares(manifest: Manifest, *, test: float = 0.0, val: float = 0.0, seed: int = 0) -> Manifest:
    """Move shares of the training images into the splits test and val.

    Args:
        manifest: Images in any split; only those in ``train`` are moved.
        test: Share that becomes the test split.
        val: Share that becomes the validation split.
        seed: Another seed moves other images.

    Returns:
        The same images with the new splits.

    Raises:
        OptionError: If the shares leave no image to train on, or a share is empty.

    Example:
        >>> from recolorist_lab.data.synthetic import Recipe, make
        >>> images = make(Recipe(hospitals=1, tiles=40, size=8)).manifest
        >>> split_by_shares(images, test=0.25, val=0.25).sizes()
        {'train': 20, 'val': 10, 'test': 10}
    """
    if min(test, val) < 0 or test + val >= 1:
        raise OptionError(f"test-share {test} and val-share {val}; accepted are shares from 0 that add up to less than 1")
    rows = manifest.rows("train")
    splits: dict[int, str] = {}
    for name, share, part in zip(("test", "val"), (test, val), held_out(manifest, rows, [test, val], seed), strict=True):
        if share and not len(part):
            raise OptionError(f"a {name}-share of {share} holds out no image of {len(rows):,}; use a larger share")
        splits |= {int(rows[place]): name for place in part}
    entries = [replace(entry, split=splits.get(number, entry.split)) for number, entry in enumerate(manifest)]
    return Manifest.of(entries, manifest.facts)


def _strata(manifest: Manifest, rows: NDArray[np.int64]) -> dict[tuple[str, int], dict[str, list[int]]]:
    """Group places by patient (or image), by domain and class; a patient with several classes counts with the first."""
    first: dict[str, tuple[str, int]] = {}
    strata: dict[tuple[str, int], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    columns = [manifest.column(name) for name in ("domain", "group", "path", "row")]
    labels = manifest.labels()
    for place, number in enumerate(rows):
        domain, group, path, row = (column[number] for column in columns)
        unit = f"group:{domain}/{group}" if group else f"{path}#{row}"
        label = labels[number][0] if labels[number] else -1
        strata[first.setdefault(unit, (domain, label))][unit].append(place)
    return strata


def _hash(seed: int, unit: str) -> bytes:
    return hashlib.blake2b(f"{seed}/{unit}".encode(), digest_size=16).digest()
