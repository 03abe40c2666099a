"""Cards: where a dataset is, its terms, its layout on disk, and its expected counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["EXTRA_SPLITS", "GIB", "SPLITS", "Access", "Card", "Expected", "File", "Layout", "Source", "Task"]

Access = Literal["open", "by hand", "account", "agreement"]
Task = Literal["binary", "multiclass", "ordinal", "multilabel"]
Layout = Literal["medmnist", "camelyon17", "epistr", "fitzpatrick17k", "ddi", "peripheral_blood", "bone_marrow", "retina"]

SPLITS: Final = ("train", "val", "test")  #: the splits of the paper
EXTRA_SPLITS: Final = ("id_val", "unused")  #: rows that are kept in a manifest and take no part in its counts
GIB: Final = 2**30


@dataclass(frozen=True, slots=True)
class File:
    """One file that may be downloaded.

    ``name`` is where it goes below the dataset's folder. ``bytes`` and ``checksum`` ("md5:…", "sha256:…") are pinned where they
    are known, the checksum perhaps only by its first digits. Where they are not, the first download is recorded and later ones
    are compared with it. ``unpack`` is the folder below the dataset's that an archive is unpacked into; None leaves the file as
    it is. ``at_most`` bounds what is accepted when the size is not known.
    """

    name: str
    url: str
    bytes: int | None = None
    checksum: str | None = None
    unpack: str | None = None
    at_most: int = 64 * GIB


@dataclass(frozen=True, slots=True)
class Source:
    """Where images come from, and their terms.

    ``folder`` is below the dataset's. ``request`` says what to ask for and where, for what cannot be downloaded by a program;
    ``layout`` how it must lie afterwards.
    """

    key: str
    title: str
    page: str
    record: str
    licence: str
    access: Access
    folder: str
    layout: tuple[str, ...]
    files: tuple[File, ...] = ()
    request: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether downloading the files is enough."""
        return bool(self.files) and not self.request


@dataclass(frozen=True, slots=True)
class Expected:
    """What the paper prints: images per split, imbalance ratio and normalised entropy of the training split.

    ``per_class`` holds, for the splits where they are known, the counts of each class in index order.
    """

    train: int
    val: int
    test: int
    ir: float
    entropy: float
    per_class: tuple[tuple[str, tuple[int, ...]], ...] = ()
    status: str = ""

    @property
    def sizes(self) -> dict[str, int]:
        """Images per split.

        >>> Expected(3, 2, 1, 1.0, 1.0).sizes
        {'train': 3, 'val': 2, 'test': 1}
        """
        return {"train": self.train, "val": self.val, "test": self.test}

    def classes(self, split: str) -> tuple[int, ...] | None:
        """Return counts per class of a split.

        Args:
            split: The split.

        Returns:
            The counts; None where they are not known.

        Example:
            >>> Expected(3, 2, 1, 2.0, 0.9, (("train", (2, 1)),)).classes("train")
            (2, 1)
        """
        return dict(self.per_class).get(split)


@dataclass(frozen=True, slots=True)
class Card:
    """One dataset of the study with all facts about it."""

    key: str
    title: str
    modality: str
    colour: Literal["RGB", "Gray"]
    task: Task
    classes: tuple[str, ...]
    layout: Layout
    sources: tuple[Source, ...]
    domains: tuple[str, ...]
    split_rule: str
    expected: Expected
    notes: tuple[str, ...] = ()
    pixels: int = 0  #: side of the stored images; 0 where it varies
    archives: tuple[tuple[str, str], ...] = ()  #: checksums of the same images at other sides, by side

    @property
    def multilabel(self) -> bool:
        """Whether an image may carry several labels, or none."""
        return self.task == "multilabel"

    @property
    def files(self) -> tuple[File, ...]:
        """All files that may be downloaded, of all sources."""
        return tuple(file for source in self.sources for file in source.files)
