"""Measuring: count, mean and covariance of an image. Exact for integer images, in any strips and any order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core.converted import are_levels, join_pixels, level_sums
from recolorist.core.spaces import SPACES
from recolorist.core.sums import float_sums, integer_sums
from recolorist.errors import ImageError, StatisticsError

__all__ = [
    "Moments",
    "Pairs",
    "exact_pairs",
    "finite_pixels",
    "float_pairs",
    "integer_pairs",
    "level_pairs",
    "measure",
    "measure_opened",
    "trusted_moments",
]

Pairs = list[tuple[float, float]]  #: mean and variance of each channel


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

    __slots__ = ("_extremes", "_sums", "count", "cov", "data_range", "mean", "pairs", "space")

    count: int
    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    pairs: Pairs  #: mean and variance of each channel, as plain numbers
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
        if name == "pairs":
            if self._sums is None:
                self.pairs = list(zip(self.mean.tolist(), self.cov.diagonal().tolist(), strict=True))
            else:
                self.pairs = _pairs_in(self.space, self.count, *self._sums)
        elif name in ("mean", "cov") and self._sums is not None:
            self._fill_arrays(*self._sums)
        else:
            raise AttributeError(f"Moments has no attribute {name!r}")
        return getattr(self, name)

    def _fill_arrays(self, sums: tuple[int, ...], products: tuple[int, ...]) -> None:
        """Turn integers into the nearest float64, once: Python divides integers of any size correctly rounded."""
        channels, square = len(sums), self.count * self.count
        steps = None if self.space == "rgb" else [1 << bits for bits in SPACES[self.space].bits]
        self.mean, self.cov = np.array([total / self.count for total in sums]), np.empty((channels, channels))
        for d in range(channels):
            for i in range(channels - d):
                exact = self.count * products[d * channels + i] - sums[i] * sums[i + d]
                self.cov[i, i + d] = self.cov[i + d, i] = exact / (square if steps is None else square * steps[i] * steps[i + d])
        if steps is not None:
            self.mean /= steps
            self.cov[[not variance for _, variance in self.pairs]] = 0.0
            self.cov[:, [not variance for _, variance in self.pairs]] = 0.0
        self._freeze()

    @property
    def std(self) -> NDArray[np.float64]:
        """Standard deviation per channel (population: divided by ``count``)."""
        return np.sqrt(self.cov.diagonal())

    @property
    def channels(self) -> int:
        """Number of channels."""
        return len(self.mean if self._sums is None else self._sums[0])

    def rescaled(self, data_range: float) -> Moments:
        """Return the moments of the same image in other units: a bank measured on uint8 serves floats and uint16.

        Args:
            data_range: The largest value in the new units.

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
        """Equal numbers in equal units."""
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
        return bool(self.mean.tolist() == other.mean.tolist() and self.cov.tolist() == other.cov.tolist())

    __hash__ = None  # type: ignore[assignment]  # arrays inside

    def __repr__(self) -> str:
        """Short enough for a log line."""
        mean, std = ([float(f"{v:.4g}") for v in values] for values in (self.mean, self.std))
        return f"Moments({self.count} pixels, mean={mean}, std={std}, range 0 to {self.data_range:g}, {self.space})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without losing the exact sums."""
        return _rebuild, (self.to_dict(), self._sums, self._extremes)

    def _merged(self, other: Moments) -> Moments:
        """Chan's update: weighted means, and the scatter between the two means."""
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
        each = (measure_opened(opened[i], one, space, on_nonfinite) for i, one in enumerate(masks))
        return cast("Moments", tuple(each))  # type checkers cannot see whether an array is a batch
    return measure_opened(opened, inside, space, on_nonfinite)


def measure_opened(
    opened: check.Opened, mask: NDArray[np.bool_] | None, space: str = "rgb", on_nonfinite: str = "raise", name: str = "image"
) -> Moments:
    """Measure one image that was checked."""
    check.refuse_empty(mask, name)
    if opened.is_integer:
        check.refuse_levels_above(opened, name)
        if SPACES[space].is_linear:
            count, sums, products = integer_sums(opened, mask, opened.channels)
            return _from_sums(count, sums, products, opened.data_range)
        if are_levels(opened):
            return _from_sums(*level_sums(opened, mask, space, name, 3), 1.0, space)
        return _measure_converted(opened, mask, space, name)
    if on_nonfinite == "mask":
        mask = finite_pixels(opened, mask, name)
    if not SPACES[space].is_linear:
        return _measure_converted(opened, mask, space, name)
    moments, low, high = _float_moments(_gather(opened, mask), opened.data_range, name)
    check.refuse_outside(low, high, opened.data_range, name)
    return moments


def finite_pixels(opened: check.Opened, mask: NDArray[np.bool_] | None, name: str) -> NDArray[np.bool_]:
    """Pixels whose channels are all finite, inside the mask."""
    finite = np.isfinite(opened.colour).all(axis=-1)
    inside: NDArray[np.bool_] = finite if mask is None else finite & mask
    if not inside.any():
        raise ImageError(f"{name} has no pixel that is finite in every channel; nothing is left to measure")
    return inside


def _gather(opened: check.Opened, mask: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Float pixels, contiguous and native; half precision widened."""
    pixels = opened.colour if mask is None else opened.colour[mask]
    return np.ascontiguousarray(pixels, dtype=np.float64 if opened.kind == "d" else np.float32)


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
    mean, products, lows, highs = float_sums(pixels, name, diagonal=False)
    count, cov = pixels.size // channels, np.empty((channels, channels))
    left = iter(products)
    for i in range(channels):
        for j in range(i, channels):
            cov[i, j] = cov[j, i] = next(left) / count
    moments = trusted_moments(count, np.array(mean), cov, data_range)
    moments._extremes = np.array([lows, highs])  # noqa: SLF001 - same module
    moments._freeze()  # noqa: SLF001
    _flatten(moments)
    return moments, min(lows), max(highs)


def integer_pairs(opened: check.Opened, mask: NDArray[np.bool_] | None, name: str) -> Pairs:
    """Mean and variance per channel of an integer image: the numbers of :func:`measure` without the rest."""
    check.refuse_empty(mask, name)
    check.refuse_levels_above(opened, name)
    return exact_pairs(*integer_sums(opened, mask, 1))


def exact_pairs(count: int, sums: Sequence[int], products: Sequence[int]) -> Pairs:
    """Mean and variance per channel from exact sums: the nearest float64, for Python divides integers of any size correctly."""
    square = count * count
    return [(s / count, (count * q - s * s) / square) for s, q in zip(sums, products, strict=False)]


def level_pairs(opened: check.Opened, mask: NDArray[np.bool_] | None, space: str, name: str) -> Pairs:
    """Mean and variance per channel of an 8-bit image in a space that is not linear."""
    check.refuse_empty(mask, name)
    return _pairs_in(space, *level_sums(opened, mask, space, name, 1))


def _pairs_in(space: str, count: int, sums: tuple[int, ...], products: tuple[int, ...]) -> Pairs:
    """Mean and variance per channel from exact sums; in a space that is not linear these are sums of whole steps.

    A channel that deviates by less than a step is flat: that is the rounding of its conversion.
    """
    if space == "rgb":
        return exact_pairs(count, sums, products)
    square, pairs = count * count, []
    for total, products_of, bits in zip(sums, products, SPACES[space].bits, strict=False):
        spread = count * products_of - total * total
        pairs.append((total / (count << bits), spread / (square << 2 * bits) if spread > square else 0.0))
    return pairs


def float_pairs(pixels: NDArray[Any], data_range: float, name: str) -> Pairs:
    """Mean and variance per channel of contiguous float pixels: the numbers of :func:`measure` without the rest."""
    mean, squares, lows, highs = float_sums(pixels, name, diagonal=True)
    check.refuse_outside(min(lows), max(highs), data_range, name)
    count = pixels.size // pixels.shape[-1]
    numbers = zip(mean, squares, lows, highs, strict=True)
    return [(low, 0.0) if low == high else (value, square / count) for value, square, low, high in numbers]


def _flatten(moments: Moments) -> None:
    """A float channel with one value has that value as its mean and no variance, whatever rounding left over."""
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
    """Moments from arrays known to be good, without the checks: for hot paths."""
    moments = Moments.__new__(Moments)
    moments.count, moments.data_range, moments.space = count, data_range, space
    moments.mean, moments.cov = mean, cov
    moments._sums = moments._extremes = None  # noqa: SLF001
    return moments


def _rebuild(numbers: dict[str, Any], sums: Any, extremes: Any) -> Moments:
    moments = Moments(**numbers)
    moments._sums, moments._extremes = sums, extremes  # noqa: SLF001
    return moments
