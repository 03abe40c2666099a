"""Measuring: count, mean and covariance of an image. Exact for integer images, in any strips and any order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core import kernels
from recolorist.core.converted import are_levels, join_pixels, level_sums
from recolorist.core.kernels.fallback_pairs import exact_rows
from recolorist.core.spaces import SPACES
from recolorist.core.sums import MOST_PAIRED, Pairs, exact_pairs, float_pixels, float_sums, integer_sums, stepped_pairs
from recolorist.errors import StatisticsError

__all__ = [
    "Moments",
    "level_pairs",
    "measure",
    "measure_opened",
    "trusted_moments",
]


class Moments:
    """Count, mean and population covariance of an image, in its own units (0 to ``data_range``).

    These few numbers are all a plan needs to know of an image. Two measurements add up to that of both together;
    for integer images exactly, so strips of an image add up to the whole, bit for bit.

    Args:
        count: Number of pixels.
        mean: Mean of each channel.
        cov: Covariance (C, C), divided by ``count``.
        data_range: Largest value that the image may hold.
        space: The colour space that it was measured in.

    Raises:
        StatisticsError: These are not the moments of any image.

    Example:
        >>> image = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
        >>> measure(image[:1]) + measure(image[1:]) == measure(image)
        True
    """

    __slots__ = ("_extremes", "_sums", "count", "cov", "data_range", "mean", "pairs", "rows", "space")

    count: int
    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    pairs: Pairs  #: mean and variance of each channel, as plain numbers
    rows: list[list[float]]  #: the covariance, as plain numbers
    data_range: float
    space: str

    def __init__(
        self,
        count: int,
        mean: Sequence[float] | NDArray[Any],
        cov: Sequence[Sequence[float]] | NDArray[Any],
        data_range: float = 1.0,
        space: str = "rgb",
    ) -> None:
        """Take over known numbers; images are measured with :func:`measure`."""
        if not check.is_number(data_range):
            raise StatisticsError(f"data_range={data_range!r}; accepted is a positive number")
        self.count, self.data_range = count, float(data_range)
        try:
            self.mean, self.cov = np.array(mean, dtype=np.float64), np.array(cov, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise StatisticsError(f"mean and cov must be numbers ({error}); images are measured with measure()") from error
        self.space = check.option(space, SPACES, "space")
        self._sums: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._extremes: NDArray[np.float64] | None = None
        self._refuse_nonsense()
        self._freeze()

    def __getattr__(self, name: str) -> Any:
        """Work out numbers when somebody asks for them first; a plan by channel needs no arrays."""
        sums, is_rgb = self._sums, self.space == "rgb"
        if name == "pairs" and sums is None:
            self.pairs = list(zip(self.mean.tolist(), self.cov.diagonal().tolist(), strict=True))
        elif name == "pairs" and sums is not None:
            pairs = exact_pairs(self.count, *sums) if is_rgb else stepped_pairs(self.count, *sums, SPACES[self.space].bits)
            self.pairs = pairs
        elif name == "rows":
            self.rows = self.cov.tolist() if sums is None else self._exact_rows(*sums)
        elif name == "mean":
            self.mean = np.array([mean for mean, _ in self.pairs])
            self.mean.flags.writeable = False
        elif name == "cov":
            self.cov = np.array(self.rows)
            self.cov.flags.writeable = False
        else:
            raise AttributeError(f"Moments has no attribute {name!r}")
        return getattr(self, name)

    def _exact_rows(self, sums: tuple[int, ...], products: tuple[int, ...]) -> list[list[float]]:
        """Turn integers into the nearest float64, once: Python divides integers of any size correctly rounded."""
        rows = exact_rows(self.count, sums, products)
        if self.space == "rgb":
            return rows
        # sums of whole steps, two to the power of minus ``bits``; a channel that deviates by less than a step is flat
        scale = [0.5**bits if variance else 0.0 for bits, (_, variance) in zip(SPACES[self.space].bits, self.pairs, strict=True)]
        for row, first in zip(rows, scale, strict=True):
            row[:] = [value * (first * second) if first and second else 0.0 for value, second in zip(row, scale, strict=True)]
        return rows

    @property
    def std(self) -> NDArray[np.float64]:
        """Standard deviation per channel (population: divided by ``count``)."""
        return np.sqrt(self.cov.diagonal())

    @property
    def channels(self) -> int:
        """Number of channels."""
        return len(self.pairs if self._sums is None else self._sums[0])

    def rescaled(self, data_range: float) -> Moments:
        """Return the moments of the same image in other units: a bank measured on uint8 serves floats and uint16.

        Args:
            data_range: The largest value in the new units.

        Raises:
            StatisticsError: One of the two ranges is infinite, or a number becomes too large.

        Example:
            >>> float(measure(np.full((2, 2), 51, np.uint8)).rescaled(1.0).mean[0])
            0.2
        """
        if data_range == self.data_range:
            return self
        if math.isinf(data_range) or math.isinf(self.data_range):
            raise StatisticsError(
                f"moments in the range 0 to {self.data_range:g} cannot be expressed in 0 to {data_range:g}; "
                "declare a finite data_range for both images"
            )
        ratio = data_range / self.data_range
        with np.errstate(over="ignore"):  # what overflows is refused
            return Moments(self.count, self.mean * ratio, self.cov * (ratio * ratio), data_range, self.space)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {
            "count": self.count,
            "mean": self.mean.tolist(),
            "cov": self.cov.tolist(),
            "data_range": self.data_range,
            "space": self.space,
        }

    @classmethod
    def from_dict(cls, numbers: Mapping[str, Any]) -> Moments:
        """Return the moments that :meth:`to_dict` wrote.

        Args:
            numbers: What it returned.

        Raises:
            StatisticsError: They are something else.

        Example:
            >>> m = measure(np.eye(3, dtype=np.uint8))
            >>> Moments.from_dict(m.to_dict()) == m
            True
        """
        try:
            return cls(**numbers)
        except (TypeError, ValueError) as error:
            raise StatisticsError(f"these are not moments ({error}); expected count, mean, cov, data_range, space") from error

    def __add__(self, other: object) -> Moments:
        """Measure both together."""
        if isinstance(other, int) and other == 0:  # so that sum(...) works
            return self
        if not isinstance(other, Moments):
            return NotImplemented
        if (self.channels, self.data_range, self.space) != (other.channels, other.data_range, other.space):
            raise StatisticsError(f"cannot add {self} and {other}: channels, data_range and space must agree")
        if self._sums and other._sums:
            return _from_sums(
                self.count + other.count,
                tuple(a + b for a, b in zip(self._sums[0], other._sums[0], strict=True)),
                tuple(a + b for a, b in zip(self._sums[1], other._sums[1], strict=True)),
                self.data_range,
                self.space,
            )
        return self._merged(other)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        """Return whether the numbers and their units are equal."""
        if not isinstance(other, Moments):
            return NotImplemented
        return (self.count, self.data_range, self.space) == (other.count, other.data_range, other.space) and self.has_moments_of(
            other
        )

    def has_moments_of(self, other: Moments) -> bool:
        """Return whether mean and covariance are equal, whatever the counts.

        Args:
            other: The moments to compare with.
        """
        return self.pairs == other.pairs and self.rows == other.rows

    __hash__ = None  # type: ignore[assignment]  # arrays inside

    def __repr__(self) -> str:
        """Short enough for a log line."""
        mean, std = ([float(f"{v:.4g}") for v in values] for values in (self.mean, self.std))
        return f"Moments({self.count} pixels, mean={mean}, std={std}, range 0 to {self.data_range:g}, {self.space})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without losing the exact sums."""
        return _rebuild, (self.to_dict(), self._sums, self._extremes)

    def _merged(self, other: Moments) -> Moments:
        """Join by Chan's update: weighted means, and the scatter between the two means."""
        count = self.count + other.count
        share = other.count / count
        gap = other.mean - self.mean
        mean = self.mean + gap * share
        between = np.outer(gap, gap) * (share * (1 - share))
        merged = Moments(count, mean, self.cov * (1 - share) + other.cov * share + between, self.data_range, self.space)
        if self._extremes is not None and other._extremes is not None:
            low = np.minimum(self._extremes[0], other._extremes[0])
            merged._extremes = np.stack([low, np.maximum(self._extremes[1], other._extremes[1])])
            _flatten(merged)
        return merged

    def _freeze(self) -> None:
        self.mean.flags.writeable = False
        self.cov.flags.writeable = False

    def _refuse_nonsense(self) -> None:
        n = self.mean.size
        whole = isinstance(self.count, (int, np.integer)) and not isinstance(self.count, bool) and self.count >= 1
        ranged = self.data_range > 0
        shaped = self.mean.shape == (n,) and n and self.cov.shape == (n, n)
        finite = shaped and bool(np.isfinite(self.mean).all() and np.isfinite(self.cov).all())
        if not (whole and ranged and finite) or (self.cov.diagonal() < 0).any() or (self.cov != self.cov.T).any():
            raise StatisticsError(
                f"count={self.count!r}, mean of shape {self.mean.shape}, cov of shape {self.cov.shape}, "
                f"data_range={self.data_range:g} are not moments; needed are count >= 1, C finite means, a symmetric finite "
                "C x C covariance without negative variances, and a positive data_range"
            )


def measure(
    image: Any,
    mask: Any = None,
    *,
    space: str = "rgb",
    data_range: float | None = None,
    alpha: bool | None = None,
    on_nonfinite: check.OnNonFinite = "raise",
) -> Moments:
    """Measure count, mean and covariance of an image. Integer images are summed exactly.

    Args:
        image: An image, or a batch (N, H, W, C).
        mask: The pixels to measure, by default all.
        space: A key of :data:`recolorist.SPACES`. Plans in linear spaces need the moments of ``"rgb"``, others their own.
        data_range: Largest value that the image may hold; 255 or 65535 for integers, 1.0 for floats unless declared.
        alpha: Whether the last channel is alpha; None: if there are four.
        on_nonfinite: ``"raise"`` for NaN and infinite pixels, or ``"mask"`` to leave them out.

    Returns:
        The moments; for a batch a tuple of them.

    Example:
        >>> m = measure(np.array([[0, 10], [20, 30]], np.uint8))
        >>> m.count, m.mean.tolist(), m.cov.tolist()
        (4, [15.0], [[125.0]])
    """
    opened = check.open_image(image, data_range, alpha)
    inside = check.open_mask(mask, opened)
    check.option(space, SPACES, "space")
    check.option(on_nonfinite, ("raise", "mask"), "on_nonfinite")
    if opened.is_batch:
        masks = [None] * len(opened.array) if inside is None else inside
        each = (measure_opened(opened[i], part, space, on_nonfinite) for i, part in enumerate(masks))
        return cast("Moments", tuple(each))  # type checkers cannot see whether an array is a batch
    return measure_opened(opened, inside, space, on_nonfinite)


def measure_opened(
    opened: check.Opened, mask: NDArray[np.bool_] | None, space: str = "rgb", on_nonfinite: str = "raise", name: str = "image"
) -> Moments:
    """Measure one image that was checked."""
    array = opened.array
    if (
        mask is None
        and opened.kind == "B"
        and array.size <= 3 * MOST_PAIRED
        and array.shape[-1] == 3 == opened.channels
        and array.flags.c_contiguous
        and SPACES[space].is_linear
    ):
        check.refuse_levels_above(opened, name)
        moments = Moments.__new__(Moments)  # all numbers of a small image come from one call
        moments.count, moments.data_range, moments.space, moments._extremes = array.size // 3, opened.data_range, "rgb", None  # noqa: SLF001
        moments._sums, moments.pairs, moments.rows = kernels.loops.rows_levels(array)  # noqa: SLF001 - same module
        return moments
    check.refuse_empty(mask, name)
    if opened.is_integer:
        check.refuse_levels_above(opened, name)
        if SPACES[space].is_linear:
            return _from_sums(*integer_sums(opened, mask, opened.channels), opened.data_range)
        if are_levels(opened):
            return _from_sums(*level_sums(opened, mask, space, name, 3), 1.0, space)
        return _measure_converted(opened, mask, space, name)
    if on_nonfinite == "mask":
        mask = check.finite_pixels(opened, mask, name)
    if not SPACES[space].is_linear:
        return _measure_converted(opened, mask, space, name)
    moments, low, high = _float_moments(float_pixels(opened, mask), opened.data_range, name)
    check.refuse_outside(low, high, opened.data_range, name)
    return moments


def _measure_converted(opened: check.Opened, mask: NDArray[np.bool_] | None, space: str, name: str) -> Moments:
    """Measure in a space that is not linear."""
    count, mean, cov, extremes = join_pixels(opened, mask, space, name)
    moments = trusted_moments(count, mean, cov, 1.0, space)
    moments._extremes = extremes  # noqa: SLF001 - same module
    moments._freeze()  # noqa: SLF001
    _flatten(moments)
    return moments


def _float_moments(pixels: NDArray[Any], data_range: float, name: str) -> tuple[Moments, float, float]:
    channels = pixels.shape[-1]
    mean, products, lows, highs = float_sums(pixels, name)
    count, cov = pixels.size // channels, np.empty((channels, channels))
    following = iter(products)
    for i in range(channels):
        for j in range(i, channels):
            cov[i, j] = cov[j, i] = next(following) / count
    moments = trusted_moments(count, np.array(mean), cov, data_range)
    moments._extremes = np.array([lows, highs])  # noqa: SLF001 - same module
    moments._freeze()  # noqa: SLF001
    _flatten(moments)
    return moments, min(lows), max(highs)


def level_pairs(opened: check.Opened, mask: NDArray[np.bool_] | None, space: str, name: str) -> Pairs:
    """Measure mean and variance per channel of an 8-bit image in a space that is not linear."""
    check.refuse_empty(mask, name)
    return stepped_pairs(*level_sums(opened, mask, space, name, 1), SPACES[space].bits)


def _flatten(moments: Moments) -> None:
    """Give float channels with one value that value as mean and no variance, whatever rounding left over."""
    if moments._extremes is None:  # noqa: SLF001
        return
    low, high = moments._extremes  # noqa: SLF001
    flat = low == high
    if flat.any():
        mean, cov = moments.mean.copy(), moments.cov.copy()
        mean[flat] = low[flat]
        cov[flat, :] = cov[:, flat] = 0.0
        moments.mean, moments.cov = mean, cov
        moments._freeze()  # noqa: SLF001


def _from_sums(count: int, sums: tuple[int, ...], products: tuple[int, ...], data_range: float, space: str = "rgb") -> Moments:
    """Take over exact sums; mean and covariance are worked out when asked for."""
    moments = Moments.__new__(Moments)
    moments.count, moments.data_range, moments.space = count, data_range, space
    moments._sums, moments._extremes = (sums, products), None  # noqa: SLF001 - same module
    return moments


def trusted_moments(
    count: int, mean: NDArray[np.float64], cov: NDArray[np.float64], data_range: float, space: str = "rgb"
) -> Moments:
    """Return moments from arrays known to be good, without checks: for hot paths."""
    moments = Moments.__new__(Moments)
    moments.count, moments.data_range, moments.space = count, data_range, space
    moments.mean, moments.cov = mean, cov
    moments._sums = moments._extremes = None  # noqa: SLF001
    return moments


def _rebuild(numbers: dict[str, Any], sums: Any, extremes: Any) -> Moments:
    moments = Moments(**numbers)
    moments._sums, moments._extremes = sums, extremes  # noqa: SLF001
    return moments
