"""The manifest: one table for every dataset, with image, label, split and domain. Parquet on disk, Arrow in memory."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from recolorist import optional
from recolorist._version import __version__
from recolorist.errors import RecoloristError
from recolorist.io.files import atomic_write
from recolorist_lab.data.cards import EXTRA_SPLITS, SPLITS, Card, Task

__all__ = ["COLUMNS", "FORMAT", "Entry", "Excluded", "Facts", "Manifest", "ManifestError", "is_manifest"]

FORMAT: Final = "recolorist.manifest/2"
_WHY: Final = "read and write manifests"
_TEXT: Final = ("dataset", "split", "domain", "path", "label", "source_label", "group", "shape", "digest")
COLUMNS: Final = (*_TEXT, "row", "box", "bytes")


class ManifestError(RecoloristError):
    """A manifest that cannot be read, or that contradicts itself."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One image.

    ``path`` is relative to the manifest's root, with forward slashes; ``row`` is the place in it if it is an array of images.
    ``labels`` are class indices: exactly one, except where the task is multi-label. ``box`` is the part of the picture to use,
    ``(x0, y0, x1, y1)``. ``group`` is the patient or slide, where known. ``shape`` and ``digest`` identify the pixels: height,
    width and channels as in ``"28x28x3"``, and a BLAKE2 of the file, or of the row of the array (:func:`.pixels.digest_of`).
    """

    dataset: str
    split: str
    domain: str
    path: str
    labels: tuple[int, ...]
    row: int | None = None
    source_label: str = ""
    group: str = ""
    box: tuple[int, int, int, int] | None = None
    bytes: int | None = None
    shape: str = ""
    digest: str = ""

    @property
    def key(self) -> str:
        """Return a name that no other image of the manifest has.

        >>> Entry("ddi", "train", "FST12", "000001.png", (0,)).key, Entry("x", "train", "d", "a.npy", (0,), row=7).key
        ('000001.png', 'a.npy#7')
        """
        return self.path if self.row is None else f"{self.path}#{self.row}"


@dataclass(frozen=True, slots=True)
class Excluded:
    """An image that was found and is not used, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the whole manifest, kept in the metadata of the Parquet file."""

    dataset: str
    title: str
    task: Task
    classes: tuple[str, ...]
    complete: bool = True  #: the counts are those of the card; for data without a card: nothing was excluded
    differences: tuple[str, ...] = ()  #: how the counts differ from the card, where that was allowed
    excluded: tuple[Excluded, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    library: str = __version__

    def to_json(self) -> str:
        """Write the facts as JSON.

        Returns:
            The text.
        """
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Facts:
        """Read facts from what :meth:`to_json` wrote.

        Args:
            text: The text.

        Returns:
            The facts.

        Raises:
            ManifestError: They are of another format.

        Example:
            >>> facts = Facts("a", "A", "binary", ("no", "yes"), excluded=(Excluded("x.png", "broken"),))
            >>> Facts.from_json(facts.to_json()) == facts
            True
        """
        data = json.loads(text)
        if data.pop("format", None) != FORMAT:
            raise ManifestError(f"the manifest is not of the format {FORMAT}; index the data again")
        lists = {name: tuple(data[name]) for name in ("classes", "differences")}
        pairs = tuple((str(name), str(value)) for name, value in data["options"])
        return cls(**{**data, **lists, "excluded": tuple(Excluded(**image) for image in data["excluded"]), "options": pairs})

    @classmethod
    def of(cls, card: Card) -> Facts:
        """Return the facts of a dataset with a card.

        Args:
            card: The dataset.

        Returns:
            The facts.
        """
        return cls(card.key, card.title, card.task, card.classes)


class Manifest:
    """Rows in a fixed order, by domain, path and row, and the facts about all of them."""

    def __init__(self, table: Any, facts: Facts) -> None:
        """Use :meth:`of` or :meth:`read`; ``table`` is an Arrow table with our columns."""
        self.table: Final = table.combine_chunks()
        self.facts: Final = facts
        self._columns = {name: self.table.column(name).combine_chunks() for name in COLUMNS}
        self._fingerprint: str | None = None

    @classmethod
    def of(cls, entries: Iterable[Entry], facts: Facts) -> Manifest:
        """Make a manifest of entries, in order.

        Args:
            entries: The images.
            facts: What holds for all of them.

        Returns:
            The manifest.

        Raises:
            ManifestError: Two entries are of one image, or a split or label is unknown.
        """
        ordered = sorted(entries, key=lambda entry: (entry.domain, entry.path, -1 if entry.row is None else entry.row))
        _refuse_bad(ordered, facts)
        arrow: Any = optional.load("pyarrow", _WHY)
        columns = {name: [getattr(entry, name) for entry in ordered] for name in COLUMNS if name != "label"}
        columns["label"] = ["|".join(map(str, entry.labels)) for entry in ordered]
        columns["box"] = [None if box is None else list(box) for box in columns["box"]]
        return cls(arrow.table({name: columns[name] for name in COLUMNS}, schema=_schema(arrow)), facts)

    @classmethod
    def read(cls, path: str | Path) -> Manifest:
        """Read a manifest.

        Args:
            path: The file.

        Returns:
            The manifest.

        Raises:
            ManifestError: The file is missing, or not a manifest.
        """
        if not Path(path).is_file():
            raise ManifestError(
                f"the manifest {path} was not found; make one with `recolorist-lab data index`, or name the folder of "
                "the data with "
                "--root or RECOLORIST_DATA"
            )
        parquet: Any = optional.load("pyarrow.parquet", _WHY)
        try:
            table = parquet.read_table(Path(path))
            facts = (table.schema.metadata or {})[b"recolorist"].decode()
        except KeyError:
            raise ManifestError(
                f"{path} is a Parquet file but not a manifest; make one with: recolorist-lab data index"
            ) from None
        except Exception as error:  # Arrow has its own errors
            raise ManifestError(f"{path} cannot be read as a manifest: {error}") from error
        if missing := set(COLUMNS) - set(table.column_names):
            raise ManifestError(f"{path} has no column {', '.join(sorted(missing))}; index the data again")
        return cls(table.select(COLUMNS), Facts.from_json(facts))

    def write(self, path: str | Path) -> Path:
        """Write the manifest; it appears complete or not at all, and the same manifest gives the same bytes.

        Args:
            path: The file.

        Returns:
            The path.
        """
        parquet: Any = optional.load("pyarrow.parquet", _WHY)
        buffer = io.BytesIO()
        table = self.table.replace_schema_metadata({"recolorist": self.facts.to_json()})
        parquet.write_table(table, buffer, compression="zstd")
        return atomic_write(Path(path), buffer.getvalue())

    def __len__(self) -> int:
        """Return the number of images."""
        return int(self.table.num_rows)

    def __getitem__(self, index: int) -> Entry:
        """Return one row."""
        values = {name: column[index].as_py() for name, column in self._columns.items()}
        labels = _labels(values.pop("label"))
        box = values.pop("box")
        return Entry(**values, labels=labels, box=None if box is None else cast("tuple[int, int, int, int]", tuple(box)))

    def __iter__(self) -> Iterator[Entry]:
        """Yield the rows in order."""
        return (self[index] for index in range(len(self)))

    def column(self, name: str) -> list[Any]:
        """Return one column.

        Args:
            name: Name of the column.

        Returns:
            Its values in the order of the rows.
        """
        return cast("list[Any]", self._columns[name].to_pylist())

    def labels(self) -> list[tuple[int, ...]]:
        """Return the class indices of every row.

        Returns:
            The indices; several for an image with several labels.
        """
        return [_labels(text) for text in self.column("label")]

    def rows(self, split: str | None = None, domain: str | None = None) -> NDArray[np.int64]:
        """Number the rows of a split, a domain, or both.

        Args:
            split: The split; None for all.
            domain: The domain; None for all.

        Returns:
            Numbers in rising order.
        """
        keep = np.ones(len(self), bool)
        for name, value in (("split", split), ("domain", domain)):
            if value is not None:
                keep &= np.array(self.column(name), object) == value
        return np.flatnonzero(keep)

    def sizes(self) -> dict[str, int]:
        """Count images per split.

        Returns:
            The counts in the usual order; a split without images is not listed.
        """
        counts = Counter(self.column("split"))
        return {split: counts[split] for split in (*SPLITS, *EXTRA_SPLITS) if counts[split]}

    def class_counts(self, split: str) -> tuple[int, ...]:
        """Count the images of each class in a split; with several labels to an image, positives of each.

        Args:
            split: The split.

        Returns:
            Counts in index order.
        """
        counts = Counter(
            label for where, labels in zip(self.column("split"), self.labels(), strict=True) if where == split for label in labels
        )
        return tuple(counts[index] for index in range(len(self.facts.classes)))

    def fingerprint(self) -> str:
        """Hash what would change a result: pixels, labels, splits, domains; not where the data are.

        Returns:
            The sha256 in hexadecimal.
        """
        if self._fingerprint is None:
            self._fingerprint = self._computed_fingerprint()
        return self._fingerprint

    def _computed_fingerprint(self) -> str:
        digest = hashlib.sha256(json.dumps([FORMAT, self.facts.task, self.facts.classes]).encode())
        for name in COLUMNS:
            digest.update(json.dumps([name, self.column(name)], separators=(",", ":")).encode())
        return digest.hexdigest()

    def with_facts(self, **changes: Any) -> Manifest:
        """Return the same rows with other facts.

        Returns:
            The manifest.
        """
        return Manifest(self.table, replace(self.facts, **changes))


def is_manifest(path: str | Path) -> bool:
    """Tell whether a file is a Parquet file with a manifest's metadata.

    Args:
        path: The file.

    Returns:
        False also for files that cannot be read.
    """
    if Path(path).suffix.lower() != ".parquet":
        return False
    parquet: Any = optional.load("pyarrow.parquet", _WHY)
    try:
        return b"recolorist" in (parquet.read_schema(Path(path)).metadata or {})
    except Exception:  # noqa: BLE001 - Arrow has its own errors; whoever reads the file says what is wrong with it
        return False


def _schema(arrow: Any) -> Any:
    types = dict.fromkeys(_TEXT, arrow.string()) | {
        "row": arrow.int64(),
        "box": arrow.list_(arrow.int32()),
        "bytes": arrow.int64(),
    }
    return arrow.schema([(name, types[name]) for name in COLUMNS])


def _labels(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("|")) if text else ()


def _refuse_bad(entries: Sequence[Entry], facts: Facts) -> None:
    splits = {*SPLITS, *EXTRA_SPLITS}
    keys: set[str] = set()
    for entry in entries:
        if entry.key in keys:
            raise ManifestError(f"{entry.key} is listed twice; a manifest lists every image once")
        keys.add(entry.key)
        if entry.split not in splits:
            raise ManifestError(f"{entry.key} is in the split {entry.split!r}; splits are {', '.join((*SPLITS, *EXTRA_SPLITS))}")
        if not all(0 <= label < len(facts.classes) for label in entry.labels):
            raise ManifestError(f"{entry.key} has the label {entry.labels}; there are {len(facts.classes)} classes, from 0")
        if facts.task != "multilabel" and len(entry.labels) != 1:
            raise ManifestError(f"{entry.key} has {len(entry.labels)} labels; with the task {facts.task} every image has one")
