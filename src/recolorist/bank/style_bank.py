"""The style bank: the moments of a training split. Nine numbers an image, and no pixels of anyone."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist._version import __version__
from recolorist.bank import file as bank_file
from recolorist.core import image as check
from recolorist.core.moments import Moments
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError, StatisticsError

Array = NDArray[np.float64]

JSON_FORMAT: Final = "recolorist.bank/1"
_TRAINING: Final = ("train", "training", None)


class Groups(NamedTuple):
    """Rows in groups: ``order`` lists them group by group, group ``codes[i]`` from ``starts[i]`` to ``starts[i + 1]``."""

    order: NDArray[np.int64]
    codes: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.int32]) -> Groups:
        """Sort rows by code; rows of one group keep their order."""
        order = np.argsort(codes, kind="stable")
        found, starts = np.unique(codes[order], return_index=True)
        return cls(order, found.astype(np.int64), np.append(starts, len(codes)))

    def bounds(self, code: int) -> tuple[int, int]:
        """Where a group begins and ends in ``order``; equal if there is no such group."""
        i = int(np.searchsorted(self.codes, code))
        if i == len(self.codes) or self.codes[i] != code:
            return 0, 0
        return int(self.starts[i]), int(self.starts[i + 1])


class StyleBank:
    """Moments of many images in unit range, with label, domain and key of each, and where they came from.

    Build one with :meth:`build`, :meth:`from_folder`, :meth:`from_dataset` or :meth:`from_npz`; all of it is arrays, one row
    per image, and none of it is ever changed.

    >>> rng = np.random.default_rng(0)
    >>> bank = StyleBank.build(rng.integers(0, 255, (6, 8, 9, 3), dtype=np.uint8), domains=list("aaabbb"), split="train")
    >>> len(bank), bank.domains, bank.subset(domain="b").keys[0]
    (6, ('a', 'b'), '3')
    """

    def __init__(
        self,
        mean: Array,
        cov: Array,
        pixels: NDArray[np.int64],
        keys: Sequence[str],
        labels: Sequence[str | None] | None = None,
        domains: Sequence[str | None] | None = None,
        *,
        name: str = "",
        split: str | None = None,
        preprocessing: str = "",
        size: tuple[int, int] | None = None,
        space: str = "rgb",
        histograms: NDArray[np.uint32] | None = None,
    ) -> None:
        """Take over arrays: ``mean`` (N, C) and ``cov`` (N, C, C) in unit range."""
        self.mean, self.cov = np.array(mean, np.float64), np.array(cov, np.float64)
        self.pixels = np.array(pixels, np.int64)
        self.keys = tuple(keys)
        self.label_codes, self.labels = _coded(labels, len(self.keys))
        self.domain_codes, self.domains = _coded(domains, len(self.keys))
        self.name, self.split, self.preprocessing, self.size = name, split, preprocessing, size
        self.space = check.option(space, SPACES, "space")
        self.histograms = histograms
        self.library = __version__
        self._refuse_nonsense()
        for array in (self.mean, self.cov, self.pixels):
            array.flags.writeable = False
        self._rows: dict[str, int] | None = None
        self._groups: dict[str, Groups] = {}

    def __len__(self) -> int:
        """Number of styles."""
        return len(self.keys)

    @property
    def channels(self) -> int:
        """Channels of every style."""
        return int(self.mean.shape[1])

    @property
    def std(self) -> Array:
        """Standard deviations, (N, C), unit range."""
        return np.sqrt(np.diagonal(self.cov, axis1=1, axis2=2))

    @property
    def fingerprint(self) -> str:
        """A digest of what was measured: equal for equal images in equal order, whatever their names."""
        digest = hashlib.sha256()
        for array in (self.mean, self.cov, self.pixels):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def moments(self, row: int) -> Moments:
        """One style, as :func:`recolorist.match` takes it."""
        return Moments(int(self.pixels[row]), self.mean[row], self.cov[row], 1.0, self.space)

    def label(self, row: int) -> str | None:
        """The label of one style."""
        code = int(self.label_codes[row])
        return self.labels[code] if code >= 0 else None

    def domain(self, row: int) -> str | None:
        """The domain of one style: hospital, scanner, camera."""
        code = int(self.domain_codes[row])
        return self.domains[code] if code >= 0 else None

    def row_of(self, key: str) -> int | None:
        """The row of the image with this key, if it is in the bank."""
        if self._rows is None:
            self._rows = {known: row for row, known in enumerate(self.keys)}
        return self._rows.get(key)

    def groups(self, by: str) -> Groups:
        """Rows sorted by ``"domain"`` or ``"label"``, so that any group or its complement is drawn from in one step."""
        if by not in self._groups:
            self._groups[by] = Groups.of(self.domain_codes if by == "domain" else self.label_codes)
        return self._groups[by]

    # ---- made from images ------------------------------------------------------------------------------------------

    @classmethod
    def build(cls, images: Iterable[Any], **options: Any) -> StyleBank:
        """Measure images; options are those of :func:`recolorist.bank.build`."""
        from recolorist.bank.build import build

        return build(images, **options)

    @classmethod
    def from_folder(cls, folder: str | Path, **options: Any) -> StyleBank:
        """Measure a folder of image files; see :func:`recolorist.bank.build.from_folder`."""
        from recolorist.bank.build import from_folder

        return from_folder(folder, **options)

    @classmethod
    def from_dataset(cls, dataset: Any, **options: Any) -> StyleBank:
        """Measure a torch-style dataset; see :func:`recolorist.bank.build.from_dataset`."""
        from recolorist.bank.build import from_dataset

        return from_dataset(dataset, **options)

    @classmethod
    def from_npz(cls, path: str | Path, split: str = "train", **options: Any) -> StyleBank:
        """Measure a split of a MedMNIST file; see :func:`recolorist.bank.build.from_npz`."""
        from recolorist.bank.build import from_npz

        return from_npz(path, split, **options)

    # ---- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write one file, whole or not at all: arrays without pickle, a format version and a checksum."""
        return bank_file.write(Path(path), self._arrays(), self._facts())

    @classmethod
    def load(cls, path: str | Path) -> StyleBank:
        """Read a bank and verify its checksum."""
        arrays, facts = bank_file.read(Path(path))
        try:
            size = facts["size"]
            return cls(
                arrays["mean"],
                square(arrays["cov"]),
                arrays["pixels"],
                bank_file.unpacked(arrays["keys"], arrays["key_lengths"]),
                _decoded(arrays["label_codes"], facts["labels"]),
                _decoded(arrays["domain_codes"], facts["domains"]),
                name=facts["name"],
                split=facts["split"],
                preprocessing=facts["preprocessing"],
                size=None if size is None else (int(size[0]), int(size[1])),
                space=facts["space"],
                histograms=arrays.get("histograms"),
            )
        except (KeyError, TypeError, ValueError, IndexError, zlib.error) as error:
            raise StatisticsError(f"{path} is not a bank this version can read ({error}); build it again") from error

    def to_json(self) -> str:
        """The bank as JSON, for the Studio and for reading by people; histograms do not travel this way."""
        from recolorist.bank.json import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> StyleBank:
        """Read what :meth:`to_json` wrote."""
        from recolorist.bank.json import from_json

        return from_json(text)

    # ---- made from banks -------------------------------------------------------------------------------------------

    def subset(
        self,
        domain: str | None = None,
        label: str | None = None,
        rows: Sequence[int] | NDArray[Any] | None = None,
    ) -> StyleBank:
        """The styles of one domain, one label, or given rows; conditions combine."""
        keep = np.ones(len(self), bool)
        if domain is not None:
            keep &= self.domain_codes == _code_of(domain, self.domains, "domain")
        if label is not None:
            keep &= self.label_codes == _code_of(label, self.labels, "label")
        chosen = np.flatnonzero(keep)
        if rows is not None:
            wanted = np.asarray(rows)
            chosen = np.flatnonzero(wanted) if wanted.dtype == bool else wanted
            chosen = chosen[keep[chosen]]
        return self._taken(chosen)

    def merge(self, *others: StyleBank) -> StyleBank:
        """One bank of several; where keys collide each gets its bank's name, or number, in front."""
        banks = (self, *others)
        if len({(bank.channels, bank.space) for bank in banks}) > 1:
            raise StatisticsError("the banks differ in channels or colour space; such styles cannot share a bank")
        splits, prepared = {bank.split for bank in banks}, {bank.preprocessing for bank in banks}
        if len(splits) > 1:
            raise StatisticsError(f"the banks are of different splits ({sorted(map(str, splits))}); merging would hide that")
        keys = [key for bank in banks for key in bank.keys]
        if len(set(keys)) < len(keys):
            names = [bank.name for bank in banks]
            fronts = names if all(names) and len(set(names)) == len(names) else [str(i) for i in range(len(banks))]
            keys = [f"{front}/{key}" for front, bank in zip(fronts, banks, strict=True) for key in bank.keys]
        return StyleBank(
            np.concatenate([bank.mean for bank in banks]),
            np.concatenate([bank.cov for bank in banks]),
            np.concatenate([bank.pixels for bank in banks]),
            keys,
            [bank.label(row) for bank in banks for row in range(len(bank))],
            [bank.domain(row) for bank in banks for row in range(len(bank))],
            name="+".join(dict.fromkeys(bank.name for bank in banks if bank.name)),
            split=self.split,
            preprocessing=self.preprocessing if len(prepared) == 1 else " | ".join(sorted(prepared)),
            size=self.size if len({bank.size for bank in banks}) == 1 else None,
            space=self.space,
            histograms=_stacked([bank.histograms for bank in banks]),
        )

    def outliers(self, threshold: float = 6.0) -> NDArray[np.int64]:
        """Rows whose mean or deviation lies more than ``threshold`` robust deviations from the median of the bank."""
        features = np.concatenate([self.mean, self.std], axis=1)
        distance = np.abs(features - np.median(features, axis=0))
        spread = 1.4826 * np.median(distance, axis=0)  # the median absolute deviation as a standard deviation
        far = distance > threshold * np.maximum(spread, 1.0 / 255.0)
        return np.flatnonzero(far.any(axis=1))

    def drop_outliers(self, threshold: float = 6.0) -> StyleBank:
        """The bank without :meth:`outliers`: near-blank tiles, failed scans."""
        keep = np.ones(len(self), bool)
        keep[self.outliers(threshold)] = False
        return self._taken(np.flatnonzero(keep))

    def summary(self) -> dict[str, Any]:
        """Counts and mean colours, ready to print or to dump as JSON."""
        return {
            "name": self.name,
            "split": self.split,
            "styles": len(self),
            "channels": self.channels,
            "preprocessing": self.preprocessing,
            "size": self.size,
            "mean": self.mean.mean(axis=0).tolist(),
            "std": self.std.mean(axis=0).tolist(),
            "domains": {name: _described(self, self.domain_codes == i) for i, name in enumerate(self.domains)},
            "labels": {name: int((self.label_codes == i).sum()) for i, name in enumerate(self.labels)},
            "outliers": len(self.outliers()),
            "fingerprint": self.fingerprint,
            "library": self.library,
        }

    def refuse_other_splits(self, *, allow: bool = False) -> None:
        """Styles for training come from training images; anything else must be allowed knowingly."""
        if self.split not in _TRAINING and not allow:
            raise OptionError(
                f"this bank was made from the {self.split!r} split, and training with it would leak; build one from the "
                "training split, or pass allow_split=True if that is what you mean"
            )

    def __repr__(self) -> str:
        """Short enough for a log line."""
        where = f"{self.name or 'unnamed'}, split {self.split!r}"
        return f"StyleBank({len(self)} styles, {len(self.domains)} domains, {len(self.labels)} labels, {where})"

    def _taken(self, rows: NDArray[Any]) -> StyleBank:
        if not len(rows):
            raise StatisticsError("no style is left; choose other conditions")
        return StyleBank(
            self.mean[rows],
            self.cov[rows],
            self.pixels[rows],
            [self.keys[row] for row in rows],
            [self.label(row) for row in rows],
            [self.domain(row) for row in rows],
            name=self.name,
            split=self.split,
            preprocessing=self.preprocessing,
            size=self.size,
            space=self.space,
            histograms=None if self.histograms is None else self.histograms[rows],
        )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        rows, columns = np.triu_indices(self.channels)
        keys, lengths = bank_file.packed(self.keys)
        arrays: dict[str, NDArray[Any]] = {
            "mean": self.mean,
            "cov": self.cov[:, rows, columns],
            "pixels": self.pixels.astype(np.uint32) if self.pixels.max(initial=0) < 2**32 else self.pixels,
            "keys": keys,
            "key_lengths": lengths,
            "label_codes": self.label_codes.astype(np.min_scalar_type(-max(1, len(self.labels)))),
            "domain_codes": self.domain_codes.astype(np.min_scalar_type(-max(1, len(self.domains)))),
        }
        return arrays if self.histograms is None else arrays | {"histograms": self.histograms}

    def _facts(self) -> dict[str, Any]:
        names = ("name", "split", "preprocessing", "size", "space", "labels", "domains", "library")
        return {name: getattr(self, name) for name in names} | {"fingerprint": self.fingerprint}

    def _refuse_nonsense(self) -> None:
        n = len(self.keys)
        channels = self.mean.shape[-1] if self.mean.ndim == 2 else 0
        shapes = (self.mean.shape, self.cov.shape, self.pixels.shape)
        if not n or not channels or shapes != ((n, channels), (n, channels, channels), (n,)):
            raise StatisticsError(f"a bank needs at least one style and one row per key; shapes are {shapes} for {n} keys")
        finite = np.isfinite(self.mean).all() and np.isfinite(self.cov).all()
        if not finite or (np.diagonal(self.cov, axis1=1, axis2=2) < 0).any() or (self.pixels < 1).any():
            raise StatisticsError("a bank's numbers must be finite, its variances and pixel counts positive")
        if len(set(self.keys)) < n:
            raise StatisticsError("two styles share a key; keys tell images apart, so that none is matched to itself")


def _coded(names: Sequence[str | None] | None, count: int) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Names as numbers into a sorted table; -1 for none."""
    if names is None:
        return np.full(count, -1, np.int32), ()
    if len(names) != count:
        raise StatisticsError(f"{len(names)} labels or domains for {count} images; give one for each, or none")
    table = sorted({str(name) for name in names if name is not None})
    codes = {name: code for code, name in enumerate(table)}
    return np.array([-1 if name is None else codes[str(name)] for name in names], np.int32), tuple(table)


def _decoded(codes: NDArray[Any], table: Sequence[str]) -> list[str | None]:
    lookup: list[str | None] = [*map(str, table), None]  # code -1 finds the None at the end
    return [lookup[code] for code in codes.tolist()]


def _code_of(name: str, table: tuple[str, ...], what: str) -> int:
    if name not in table:
        raise OptionError(f"no style has {what} {name!r}; the bank has {', '.join(map(repr, table)) or 'none'}")
    return table.index(name)


def square(triangles: NDArray[Any]) -> Array:
    """Upper triangles row by row to symmetric matrices."""
    channels = int((np.sqrt(8 * triangles.shape[1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(channels)
    cov = np.empty((len(triangles), channels, channels))
    cov[:, rows, columns] = cov[:, columns, rows] = triangles
    return cov


def _stacked(parts: list[NDArray[np.uint32] | None]) -> NDArray[np.uint32] | None:
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if len(present) == len(parts) else None


def _described(bank: StyleBank, rows: NDArray[np.bool_]) -> dict[str, Any]:
    return {
        "styles": int(rows.sum()),
        "mean": bank.mean[rows].mean(axis=0).tolist(),
        "std": bank.std[rows].mean(axis=0).tolist(),
    }


#: A function that reports progress: it is called with an iterable and its length, and yields the same items.
Progress = Callable[[Iterable[Any], int | None], Iterable[Any]]
