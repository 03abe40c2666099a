"""Divide images into training, validation and test, and hold out some of the training domains."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.named import NamedDataset
from recolorist_lab.data.shares import held_out as shares_of
from recolorist_lab.training.settings import Settings

__all__ = ["Splits", "divide", "held_out", "subset"]


class Splits(NamedTuple):
    """The images of a run.

    ``source`` is None if no image is held out to measure the accuracy at the source. ``val_split`` is the dataset's own
    validation split, where a share of the training images is used for validation instead. It is often one more domain that was
    never seen.
    """

    train: Samples
    val: Samples
    test: Samples
    source: Samples | None
    val_split: Samples | None


def divide(dataset: NamedDataset, settings: Settings) -> Splits:
    """Divide a dataset into the splits that the settings ask for.

    Args:
        dataset: The dataset.
        settings: Of the run.

    Returns:
        The splits.

    Raises:
        OptionError: A split has no images, or nothing can be held out.

    Example:
        >>> from recolorist_lab.data.named import open_dataset
        >>> wanted = Settings("synthetic:hospitals=3,tiles=40,size=16", 1, size=16, source_share=0.2)
        >>> [len(samples) for samples in divide(open_dataset(wanted.dataset), wanted) if samples is not None]
        [32, 40, 40, 8]
    """
    how = {"size": settings.size, "resize": settings.resize}
    sizes = dataset.manifest.sizes()
    required = ("train", "test", *(["val"] if settings.validation == "val" else []))
    if missing := [split for split in required if not sizes.get(split)]:
        raise OptionError(f"{dataset.title} has no images in {' and '.join(missing)}; it has {sizes}. {_advice(missing)}")
    whole = dataset.samples("train", **how)
    shares = [settings.source_share, settings.validation_share if settings.validation == "train" else 0.0]
    source, val = held_out(whole, shares, settings.seed)
    for name, share, part in zip(("source_share", "validation_share"), shares, (source, val), strict=True):
        if share and not len(part):
            raise OptionError(_nothing_held_out(whole, name, share))
    train = subset(whole, np.setdiff1d(np.arange(len(whole)), np.concatenate([source, val])))
    return Splits(
        train,
        subset(whole, val) if settings.validation == "train" else dataset.samples("val", **how),
        dataset.samples("test", **how),
        _source(dataset, whole, source, how),
        dataset.samples("val", **how) if settings.validation == "train" and sizes.get("val") else None,
    )


def _nothing_held_out(samples: Samples, name: str, share: float) -> str:
    """Say why a share of the training images is empty, and what to do about it."""
    groups = np.array(samples.manifest.column("group"))[samples.rows]
    count = len(set(groups.tolist()) - {""})
    why = f"the images of a patient or slide stay together, and there are {count} of these" if count else "there are too few"
    return (
        f"{name}={share} of the {len(samples):,} training images of {samples.manifest.facts.title} holds out none: {why}. Add "
        f"images of more patients, or set a larger {name}"
    )


def _advice(missing: Sequence[str]) -> str:
    """Say what gives the splits that are missing."""
    if "train" in missing:
        return "Index images to train on, in the split 'train'"
    shares = " and ".join(f"--{split}-share or --{split}-domain" for split in missing)
    also = ", or validate on a share of the training images with --set validation=train" if missing == ["val"] else ""
    return f"Index again with {shares}{also}"


def _source(dataset: NamedDataset, whole: Samples, places: NDArray[np.int64], how: Mapping[str, Any]) -> Samples | None:
    """Return the held-out images; otherwise the dataset's own held-out images of the training domains."""
    if len(places):
        return subset(whole, places)
    return dataset.samples("id_val", **how) if dataset.manifest.sizes().get("id_val") else None


def subset(samples: Samples, places: NDArray[np.int64]) -> Samples:
    """Return the same loader over some of its images.

    Args:
        samples: All images.
        places: Which of them.

    Returns:
        A copy that shares the maps.

    Raises:
        OptionError: There are none.
    """
    if not len(places):
        raise OptionError(f"a share of {samples.manifest.facts.title} is empty; make it larger")
    chosen = copy.copy(samples)
    chosen.__dict__.pop("labels", None)  # computed for the whole
    chosen.rows = samples.rows[places]
    return chosen


def held_out(samples: Samples, shares: Sequence[float], seed: int) -> list[NDArray[np.int64]]:
    """Hold out disjoint shares of the images; see :func:`recolorist_lab.data.shares.held_out`.

    Args:
        samples: The images.
        shares: Size of each share, from 0 to 1.
        seed: Another seed chooses other images.

    Returns:
        For each share the places in ``samples``.
    """
    return shares_of(samples.manifest, samples.rows, shares, seed)
