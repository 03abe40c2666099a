"""The style bank: the moments of many images, nine numbers each for RGB, and no pixels."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist._version import __version__
from recolorist.bank import file as bank_file
from recolorist.bank.making import BlankStyles, LeftOut
from recolorist.bank.names import Groups, Names, encode_names, find_code
from recolorist.bank.summary import find_outliers, summarise
from recolorist.bank.table import BankTable, Row, merge_tables, refuse_bad_arrays, resolve_rows, stack_rows, take_rows
from recolorist.core import image as check
from recolorist.core.blank import are_blank_styles
from recolorist.core.moments import Moments
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError, StatisticsError
from recolorist.io.files import atomic_write

__all__ = ["StyleBank"]

Array = NDArray[np.float64]

_TRAINING: Final = ("train", "training", None)


class StyleBank:
    """The moments of many images in unit range, with the key, label and domain of each.

    Make one with :meth:`build`, :meth:`from_folder`, :meth:`from_dataset` or :meth:`from_npz`, or open a saved one with
    :meth:`open`. A bank never changes: its arrays cannot be written to.

    Args:
        mean: Means (N, C) in unit range.
        cov: Covariances (N, C, C) in unit range.
        pixels: Measured pixels of each image (N,).
        keys: A name for each image that no other one has.
        labels: The class of each image, None where unknown.
        domains: The hospital, scanner or camera of each image, None where unknown.
        name: Name of the bank.
        split: The split the images belong to.
        preprocessing: What was done to the images before they were measured.
        size: Height and width of the images if all are equal.
        space: The space of the moments; ``"rgb"`` serves every linear space.
        histograms: Counts of levels (N, C, 256), which the histogram methods need.
        mask: The rule that chose the measured pixels; ``"none"``: all pixels, ``"own"``: masks of the caller, None: unknown.
        blank: ``"left out"`` if blank images are not among the styles, ``"kept"`` if they are, None: unknown.
        left_out: Blank images that were left out.

    Raises:
        StatisticsError: The arrays do not fit together, or hold numbers that no image has.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> tiles = rng.integers(0, 255, (6, 8, 9, 3), dtype=np.uint8)
        >>> bank = StyleBank.build(tiles, domains=list("aaabbb"), split="train")
        >>> len(bank), bank.domains, bank.subset(domain="b").keys[0]
        (6, ('a', 'b'), '3')
    """

    def __init__(
        self,
        mean: Array,
        cov: Array,
        pixels: NDArray[np.int64],
        keys: Sequence[str],
        labels: Names = None,
        domains: Names = None,
        *,
        name: str = "",
        split: str | None = None,
        preprocessing: str = "",
        size: tuple[int, int] | None = None,
        space: str = "rgb",
        histograms: NDArray[np.uint32] | None = None,
        mask: str | None = None,
        blank: BlankStyles | None = None,
        left_out: Sequence[LeftOut] = (),
    ) -> None:
        """Copy the arrays and check them."""
        self.mean, self.cov = np.array(mean, np.float64), np.array(cov, np.float64)
        self.pixels = np.array(pixels, np.int64)
        self.keys = tuple(keys)
        self.label_codes, self.labels = encode_names(labels, len(self.keys))
        self.domain_codes, self.domains = encode_names(domains, len(self.keys))
        self.name, self.split, self.preprocessing, self.size = name, split, preprocessing, size
        self.space = check.option(space, SPACES, "space")
        self.histograms = None if histograms is None else np.asarray(histograms).view()  # large: not copied
        self.mask, self.blank, self.left_out = mask, blank, tuple(left_out)
        self.library = __version__
        refuse_bad_arrays(self.mean, self.cov, self.pixels, self.keys, self.histograms, self.space)
        for array in (self.mean, self.cov, self.pixels, self.histograms):
            if array is not None:
                array.flags.writeable = False
        self._rows: dict[str, int] | None = None
        self._left_out: dict[str, LeftOut] | None = None
        self._groups: dict[str, Groups] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the bank without what is looked up later, so that its pickle does not change with use."""
        return {**self.__dict__, "_rows": None, "_left_out": None, "_groups": {}}

    @classmethod
    def build(cls, images: Iterable[Any], **options: Any) -> StyleBank:
        """Measure images.

        Args:
            images: Any iterable of arrays or PIL images, also one array (N, H, W, C).
            **options: ``labels``, ``domains``, ``masks``, ``keys``, ``name``, ``split`` and more, as
                :func:`recolorist.bank.build.measure_images` describes them.

        Example:
            >>> StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), keys=["tile"], split="train")
            StyleBank(1 styles, 0 domains, 0 labels, unnamed, split 'train')
        """
        from recolorist.bank.build import measure_images

        return cls._from_table(measure_images(images, **options))

    @classmethod
    def from_folder(cls, folder: str | Path, **options: Any) -> StyleBank:
        """Measure a folder of image files.

        Args:
            folder: The folder.
            **options: ``label_from``, ``domain_from``, ``split``, ``transform`` and more, as
                :func:`recolorist.bank.build.measure_folder` describes them.
        """
        from recolorist.bank.build import measure_folder

        return cls._from_table(measure_folder(folder, **options))

    @classmethod
    def from_dataset(cls, dataset: Any, **options: Any) -> StyleBank:
        """Measure a map-style dataset, such as torch's.

        Args:
            dataset: Anything with ``len`` and ``[i]``.
            **options: ``image``, ``label``, ``domain``, ``split`` and more, as
                :func:`recolorist.bank.build.measure_dataset` describes them.
        """
        from recolorist.bank.build import measure_dataset

        return cls._from_table(measure_dataset(dataset, **options))

    @classmethod
    def from_npz(cls, path: str | Path, split: str = "train", **options: Any) -> StyleBank:
        """Measure one split of a MedMNIST file; see :func:`recolorist.bank.build.measure_npz`."""
        from recolorist.bank.build import measure_npz

        return cls._from_table(measure_npz(path, split, **options))

    @classmethod
    def from_rows(
        cls, rows: Sequence[Row], keys: Sequence[str], labels: Names = None, domains: Names = None, **facts: Any
    ) -> StyleBank:
        """Make a bank of images that were measured elsewhere.

        Args:
            rows: What :func:`recolorist.bank.build.measure_row` returned for each image.
            keys: A name for each image.
            labels: A label for each image.
            domains: A domain for each image.
            **facts: ``name``, ``split``, ``preprocessing``, ``space``, ``mask`` and ``with_blank``.

        Raises:
            ImageError: There is no row, or all are blank.
        """
        return cls._from_table(stack_rows(rows, keys, labels, domains, **facts))

    @classmethod
    def of(cls, bank: StyleBank | str | os.PathLike[str]) -> StyleBank:
        """Return a bank as it is, or open the path of a saved one.

        Raises:
            OptionError: Something else came.
            StatisticsError: The file cannot be read.
        """
        if isinstance(bank, StyleBank):
            return bank
        if isinstance(bank, (str, os.PathLike)):
            return cls.open(bank)
        raise OptionError(f"bank is a {type(bank).__name__}; accepted are a StyleBank and the path of a saved one (.rcb, .json)")

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> StyleBank:
        """Read what :meth:`save` wrote, and verify its checksum.

        Raises:
            StatisticsError: The file is missing, damaged, or something else.
        """
        file = Path(path)
        if file.suffix.lower() != ".json":
            return cls._from_table(bank_file.read_table(file))
        try:
            return cls.from_json(file.read_text("utf-8"))
        except (OSError, ValueError) as error:  # our own errors are ValueErrors, which lack the name of the file
            rule = f". {bank_file.FORM_RULE}" if isinstance(error, UnicodeDecodeError) else ""
            raise StatisticsError(f"{file} cannot be read as a style bank: {error}{rule}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> StyleBank:
        """Read a saved bank: :meth:`open`."""
        return cls.open(path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one file with all numbers and a checksum, complete or not at all: JSON if its name ends in ``.json``."""
        if Path(path).suffix.lower() == ".json":
            return atomic_write(Path(path), self.to_json().encode() + b"\n")
        return bank_file.write_table(Path(path), self._table, self.library, self.fingerprint)

    @classmethod
    def from_json(cls, text: str) -> StyleBank:
        """Read what :meth:`to_json` wrote.

        Raises:
            StatisticsError: The text is something else.
        """
        from recolorist.bank.json_form import read_json

        return cls._from_table(read_json(text))

    def to_json(self) -> str:
        """Return the bank as JSON, for the Studio and for reading by people; histograms are left out."""
        from recolorist.bank.json_form import write_json

        return write_json(self._table, self.library)

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
        """Return one style, as :func:`recolorist.match` takes it."""
        return Moments(int(self.pixels[row]), self.mean[row], self.cov[row], 1.0, self.space)

    def average(self, domain: str | None = None) -> Moments:
        """Return the average style of the bank or of one domain: mean of the means, mean of the covariances.

        What varies from image to image is left out on purpose: a style is what one image looks like.

        Raises:
            OptionError: No style has this domain.

        Example:
            >>> dark, bright = np.full((2, 4, 4, 3), [[[[51]]], [[[153]]]], np.uint8)
            >>> StyleBank.build([dark, bright], with_blank=True).average().mean.round(3).tolist()
            [0.4, 0.4, 0.4]
        """
        chosen = self if domain is None else self.subset(domain=domain)
        cov = chosen.cov.mean(axis=0)
        return Moments(int(chosen.pixels.sum()), chosen.mean.mean(axis=0), (cov + cov.T) / 2, 1.0, chosen.space)

    def label(self, row: int) -> str | None:
        """Return the label of one style."""
        code = int(self.label_codes[row])
        return self.labels[code] if code >= 0 else None

    def domain(self, row: int) -> str | None:
        """Return the domain of one style: hospital, scanner, camera."""
        code = int(self.domain_codes[row])
        return self.domains[code] if code >= 0 else None

    def row_of(self, key: str) -> int | None:
        """Return the row of the image with this key, or None if it is not in the bank."""
        if self._rows is None:
            self._rows = {known: row for row, known in enumerate(self.keys)}
        return self._rows.get(key)

    def groups(self, by: str) -> Groups:
        """Return the rows sorted by ``"domain"`` or ``"label"``, so that a group or its complement is drawn from in one step."""
        if by not in self._groups:
            codes = {"domain": self.domain_codes, "label": self.label_codes}
            self._groups[by] = Groups.of(codes[check.option(by, codes, "by")])
        return self._groups[by]

    def find_left_out(self, key: str) -> LeftOut:
        """Return label and domain of a blank image that was left out; None for one the bank does not know."""
        if self._left_out is None:
            self._left_out = {gone.key: gone for gone in self.left_out}
        return self._left_out.get(key) or LeftOut(key)

    def summary(self) -> dict[str, Any]:
        """Return counts, mean colours and how the bank was made, ready to print or to write as JSON."""
        return summarise(self._table) | {"fingerprint": self.fingerprint, "library": self.library}

    def outliers(self, threshold: float = 6.0) -> NDArray[np.int64]:
        """Return the rows whose mean or deviation lies over ``threshold`` robust deviations from the median of the bank."""
        return find_outliers(self.mean, self.std, threshold)

    def refuse_other_splits(self, *, allow: bool = False) -> None:
        """Refuse to train with styles of other than training images, unless that is allowed.

        Raises:
            OptionError: The bank is of another split.
        """
        if self.split not in _TRAINING and not allow:
            raise OptionError(
                f"this bank was made from the {self.split!r} split, and training with it would leak; build one from the "
                "training split, or pass allow_split=True if that is what you mean"
            )

    def __repr__(self) -> str:
        """Short enough for a log line."""
        where = f"{self.name or 'unnamed'}, split {self.split!r}"
        return f"StyleBank({len(self)} styles, {len(self.domains)} domains, {len(self.labels)} labels, {where})"

    def subset(
        self,
        domain: str | None = None,
        label: str | None = None,
        rows: Sequence[int] | NDArray[Any] | None = None,
    ) -> StyleBank:
        """Return the styles of one domain, one label, or given rows; conditions combine.

        Args:
            domain: A domain of the bank.
            label: A label of the bank.
            rows: Numbers of rows, in the order wanted, negative ones counted from the end; or one truth value for each row.

        Raises:
            OptionError: The domain, label or a row does not exist, or a row came twice.
            StatisticsError: No style is left.
        """
        keep = np.ones(len(self), bool)
        if domain is not None:
            keep &= self.domain_codes == find_code(domain, self.domains, "domain")
        if label is not None:
            keep &= self.label_codes == find_code(label, self.labels, "label")
        chosen = np.arange(len(self)) if rows is None else resolve_rows(rows, len(self))
        return self._from_table(take_rows(self._table, chosen[keep[chosen]]))

    def merge(self, *others: StyleBank) -> StyleBank:
        """Return one bank of several; where keys collide, each gets its bank's name, or number, in front.

        Raises:
            StatisticsError: The banks differ in channels, space or split.
        """
        return self._from_table(merge_tables([bank._table for bank in (self, *others)]))  # noqa: SLF001 - the same class

    def drop_outliers(self, threshold: float = 6.0) -> StyleBank:
        """Return the bank without blank styles, and then without :meth:`outliers`, such as failed scans."""
        bank = self._leave_out(are_blank_styles(self.cov)) if self.space == "rgb" else self
        return bank.subset(rows=np.setdiff1d(np.arange(len(bank)), bank.outliers(threshold)))

    def without_blank(self) -> StyleBank:
        """Return a bank that does not say whether blank images are in it without them; others are returned as they are.

        Raises:
            StatisticsError: No style is left.
        """
        return self if self.blank is not None or self.space != "rgb" else self._leave_out(are_blank_styles(self.cov))

    @classmethod
    def _from_table(cls, table: BankTable) -> StyleBank:
        return cls(**table._asdict())

    @property
    def _table(self) -> BankTable:
        labels = [self.label(row) for row in range(len(self))] if self.labels else None
        domains = [self.domain(row) for row in range(len(self))] if self.domains else None
        arrays = (self.mean, self.cov, self.pixels, self.keys, labels, domains)
        made = (self.mask, self.blank, self.left_out)
        return BankTable(*arrays, self.name, self.split, self.preprocessing, self.size, self.space, self.histograms, *made)

    def _leave_out(self, blank: NDArray[np.bool_]) -> StyleBank:
        if not blank.any():
            return self
        if blank.all():
            raise StatisticsError(
                f"all {len(self)} styles of the bank are blank; build it from other images, or pass blank='match' to draw them"
            )
        gone = [LeftOut(self.keys[row], self.label(row), self.domain(row)) for row in np.flatnonzero(blank).tolist()]
        table = take_rows(self._table, np.flatnonzero(~blank))
        return self._from_table(table._replace(blank="left out", left_out=(*self.left_out, *gone)))
