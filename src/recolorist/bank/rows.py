"""The rows of a bank: looking up the numbers, names and groups of single styles."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.making import LeftOut
from recolorist.bank.names import Groups, find_code
from recolorist.bank.summary import find_outliers
from recolorist.core import image as check
from recolorist.core.moments import Moments
from recolorist.errors import OptionError

__all__ = ["StyleRows"]

Array = NDArray[np.float64]

_TRAINING: Final = ("train", "training", None)


class StyleRows:
    """What :class:`recolorist.StyleBank` knows of each of its styles.

    Example:
        >>> from recolorist import StyleBank
        >>> bank = StyleBank.build(np.zeros((2, 8, 8, 3), np.uint8), keys=["a", "b"], labels=["x", None], with_blank=True)
        >>> bank.row_of("b"), bank.label(0), bank.label(1), bank.moments(0).mean.tolist()
        (1, 'x', None, [0.0, 0.0, 0.0])
    """

    mean: Array
    cov: Array
    pixels: NDArray[np.int64]
    keys: tuple[str, ...]
    labels: tuple[str, ...]
    domains: tuple[str, ...]
    label_codes: NDArray[np.int32]
    domain_codes: NDArray[np.int32]
    left_out: tuple[LeftOut, ...]
    split: str | None
    space: str
    _rows: dict[str, int] | None = None
    _left_out: dict[str, LeftOut] | None = None
    _groups: dict[str, Groups] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the bank without what is looked up later, so that its pickle does not change with use."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_rows", "_left_out", "_groups")}

    def __len__(self) -> int:
        """Number of styles."""
        return len(self.keys)

    @property
    def channels(self) -> int:
        """Channels of every style."""
        return int(self.mean.shape[1])

    @property
    def std(self) -> Array:
        """Standard deviations (N, C) in unit range."""
        return np.sqrt(np.diagonal(self.cov, axis1=1, axis2=2))

    @property
    def fingerprint(self) -> str:
        """A digest of what was measured: equal for equal images in equal order, whatever their names."""
        digest = hashlib.sha256()
        for array in (self.mean, self.cov, self.pixels):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def moments(self, row: int) -> Moments:
        """Return one style.

        Args:
            row: Its number.

        Returns:
            Moments in unit range, as :func:`recolorist.match` takes them.
        """
        return Moments(int(self.pixels[row]), self.mean[row], self.cov[row], 1.0, self.space)

    def average(self, domain: str | None = None) -> Moments:
        """Return the average style of the bank or of one domain: mean of the means, mean of the covariances.

        What varies from image to image is left out on purpose: a style is what one image looks like.

        Args:
            domain: A domain of the bank; None: all of it.

        Returns:
            Moments in unit range.

        Raises:
            OptionError: No style has this domain.

        Example:
            >>> from recolorist import StyleBank
            >>> dark, bright = np.full((2, 4, 4, 3), [[[[51]]], [[[153]]]], np.uint8)
            >>> StyleBank.build([dark, bright], with_blank=True).average().mean.round(3).tolist()
            [0.4, 0.4, 0.4]
        """
        rows = slice(None) if domain is None else self.domain_codes == find_code(domain, self.domains, "domain")
        cov = self.cov[rows].mean(axis=0)
        return Moments(int(self.pixels[rows].sum()), self.mean[rows].mean(axis=0), (cov + cov.T) / 2, 1.0, self.space)

    def label(self, row: int) -> str | None:
        """Return the label of one style.

        Args:
            row: Its number.

        Returns:
            The label, or None if it has none.
        """
        code = int(self.label_codes[row])
        return self.labels[code] if code >= 0 else None

    def domain(self, row: int) -> str | None:
        """Return the domain of one style: hospital, scanner, camera.

        Args:
            row: Its number.

        Returns:
            The domain, or None if it has none.
        """
        code = int(self.domain_codes[row])
        return self.domains[code] if code >= 0 else None

    def row_of(self, key: str) -> int | None:
        """Find the row of an image.

        Args:
            key: The key of the image.

        Returns:
            The row, or None if the image is not in the bank.
        """
        if self._rows is None:
            self._rows = {name: row for row, name in enumerate(self.keys)}
        return self._rows.get(key)

    def groups(self, by: str) -> Groups:
        """Sort the rows, so that a group or its complement is drawn from in one step.

        Args:
            by: ``"domain"`` or ``"label"``.

        Returns:
            The rows by group.

        Raises:
            OptionError: Something else was asked for.
        """
        if self._groups is None:
            self._groups = {}
        if by not in self._groups:
            codes = {"domain": self.domain_codes, "label": self.label_codes}
            self._groups[by] = Groups.of(codes[check.option(by, codes, "by")])
        return self._groups[by]

    def find_left_out(self, key: str) -> LeftOut:
        """Find a blank image that was left out of the bank.

        Args:
            key: The key of the image.

        Returns:
            Its label and domain, which are None for an image the bank does not know.
        """
        if self._left_out is None:
            self._left_out = {entry.key: entry for entry in self.left_out}
        return self._left_out.get(key) or LeftOut(key)

    def outliers(self, threshold: float = 6.0) -> NDArray[np.int64]:
        """Find styles far from all others, such as those of failed scans.

        Args:
            threshold: Robust deviations from the median of the bank, of a mean or a deviation.

        Returns:
            The numbers of the rows beyond it.
        """
        return find_outliers(self.mean, self.std, threshold)

    def refuse_other_splits(self, *, allow: bool = False) -> None:
        """Refuse to train with styles of other than training images.

        Args:
            allow: Do not refuse it.

        Raises:
            OptionError: The bank is of another split.
        """
        if self.split not in _TRAINING and not allow:
            raise OptionError(
                f"this bank was made from the {self.split!r} split, and training with it would leak; build one from the "
                "training split, or pass allow_split=True if that is what you mean"
            )
