"""The style bank: the moments of many images, nine numbers each for RGB, and no pixels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist._version import __version__
from recolorist.bank import file as bank_file
from recolorist.bank.making import BlankStyles, LeftOut
from recolorist.bank.names import Names, encode_names, find_code
from recolorist.bank.rows import StyleRows
from recolorist.bank.summary import summarise
from recolorist.bank.table import (
    BankTable,
    Row,
    leave_out_blank,
    merge_tables,
    refuse_bad_arrays,
    resolve_rows,
    stack_rows,
    take_rows,
)
from recolorist.core import image as check
from recolorist.core.blank import are_blank_styles
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError, StatisticsError
from recolorist.io.files import atomic_write

__all__ = ["StyleBank"]

Array = NDArray[np.float64]


class StyleBank(StyleRows):
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

    @classmethod
    def build(cls, images: Iterable[Any], **options: Any) -> StyleBank:
        """Measure images.

        Args:
            images: Any iterable of arrays or PIL images, also one array (N, H, W, C).
            **options: ``labels``, ``domains``, ``masks``, ``keys``, ``name``, ``split`` and more, as
                :func:`recolorist.bank.build.measure_images` describes them.

        Returns:
            A bank with one style for each image, without the blank ones.

        Raises:
            ImageError: There is no image, one cannot be measured, or all are blank.

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

        Returns:
            A bank with one style for each image.

        Raises:
            ImageError: The folder holds no image, or one that cannot be read.
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

        Returns:
            A bank with one style for each image.

        Raises:
            ImageError: A sample holds no image, or all are blank.
        """
        from recolorist.bank.build import measure_dataset

        return cls._from_table(measure_dataset(dataset, **options))

    @classmethod
    def from_npz(cls, path: str | Path, split: str = "train", **options: Any) -> StyleBank:
        """Measure one split of a MedMNIST file.

        Args:
            path: The ``.npz`` file.
            split: Its split.
            **options: ``name``, ``with_histograms`` and more, as :func:`recolorist.bank.build.measure_npz` describes them.

        Returns:
            A bank with one style for each image.

        Raises:
            ImageError: The file cannot be read, or has no such split.
        """
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

        Returns:
            A bank with one style for each row.

        Raises:
            ImageError: There is no row, or all are blank.
        """
        return cls._from_table(stack_rows(rows, keys, labels, domains, **facts))

    @classmethod
    def of(cls, bank: StyleBank | str | os.PathLike[str]) -> StyleBank:
        """Return a bank as it is, or open the path of a saved one.

        Args:
            bank: A bank or a path.

        Returns:
            The bank.

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

        Args:
            path: The file; JSON if its name ends in ``.json``.

        Returns:
            The bank.

        Raises:
            StatisticsError: The file is missing, damaged, or something else.
        """
        file = Path(path)
        bank_file.refuse_missing(file)
        if file.suffix.lower() != ".json":
            return cls._from_table(bank_file.read_table(file))
        try:
            return cls.from_json(file.read_text("utf-8"))
        except (OSError, ValueError) as error:  # our own errors are ValueErrors, which lack the name of the file
            rule = f". {bank_file.FORM_RULE}" if isinstance(error, UnicodeDecodeError) else ""
            raise StatisticsError(f"{file} cannot be read as a style bank: {error}{rule}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> StyleBank:
        """Return a saved bank, as :meth:`open` does.

        Args:
            path: The file, .rcb or .json.

        Returns:
            The bank.
        """
        return cls.open(path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one file with all numbers and a checksum, complete or not at all.

        Args:
            path: The file; JSON if its name ends in ``.json``.

        Returns:
            The path.

        Raises:
            RecoloristError: It cannot be written; a file that was there is unchanged.
        """
        if Path(path).suffix.lower() == ".json":
            return atomic_write(Path(path), self.to_json().encode() + b"\n")
        return bank_file.write_table(Path(path), self._table, self.library, self.fingerprint)

    @classmethod
    def from_json(cls, text: str) -> StyleBank:
        """Read what :meth:`to_json` wrote.

        Args:
            text: The JSON.

        Returns:
            The bank.

        Raises:
            StatisticsError: The text is something else.
        """
        from recolorist.bank.json_form import read_json

        return cls._from_table(read_json(text))

    def to_json(self) -> str:
        """Write the bank as JSON, for the Studio and for reading by people.

        Returns:
            The text. Histograms are left out.
        """
        from recolorist.bank.json_form import write_json

        return write_json(self._table, self.library)

    def summary(self) -> dict[str, Any]:
        """Describe the bank.

        Returns:
            Counts, mean colours and how the bank was made, ready to print or to write as JSON.
        """
        return summarise(self._table) | {"fingerprint": self.fingerprint, "library": self.library}

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

        Returns:
            A bank of these styles.

        Raises:
            OptionError: The domain, label or a row does not exist, or a row came twice.
            StatisticsError: No style is left.
        """
        keep = np.ones(len(self), bool)
        if domain is not None:
            keep &= self.domain_codes == find_code(domain, self.domains, "domain")
        if label is not None:
            keep &= self.label_codes == find_code(label, self.labels, "label")
        numbers = np.arange(len(self)) if rows is None else resolve_rows(rows, len(self))
        return self._from_table(take_rows(self._table, numbers[keep[numbers]]))

    def merge(self, *others: StyleBank) -> StyleBank:
        """Make one bank of several.

        Args:
            *others: Banks with the same channels, space and split.

        Returns:
            A bank of all styles. Where keys collide, each gets its bank's name, or number, in front.

        Raises:
            StatisticsError: The banks differ in channels, space or split.
        """
        return self._from_table(merge_tables([bank._table for bank in (self, *others)]))  # noqa: SLF001 - the same class

    def drop_outliers(self, threshold: float = 6.0) -> StyleBank:
        """Leave out blank styles, and then :meth:`outliers`.

        Args:
            threshold: Robust deviations from the median of the bank.

        Returns:
            A bank of the other styles.
        """
        bank = self._without_blank()
        return bank.subset(rows=np.setdiff1d(np.arange(len(bank)), bank.outliers(threshold)))

    def without_blank(self) -> StyleBank:
        """Leave out blank styles of a bank that does not say whether it has any.

        Returns:
            A bank without them; a bank that says so is returned as it is.

        Raises:
            StatisticsError: No style is left.
        """
        return self if self.blank is not None else self._without_blank()

    @classmethod
    def _from_table(cls, table: BankTable) -> StyleBank:
        return cls(**table._asdict())

    @property
    def _table(self) -> BankTable:
        labels = [self.label(row) for row in range(len(self))] if self.labels else None
        domains = [self.domain(row) for row in range(len(self))] if self.domains else None
        arrays = (self.mean, self.cov, self.pixels, self.keys, labels, domains)
        facts = (self.mask, self.blank, self.left_out)
        return BankTable(*arrays, self.name, self.split, self.preprocessing, self.size, self.space, self.histograms, *facts)

    def _without_blank(self) -> StyleBank:
        has_blank = self.space == "rgb" and are_blank_styles(self.cov).any()
        return self._from_table(leave_out_blank(self._table)) if has_blank else self
