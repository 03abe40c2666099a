"""The records of a planned map: plain numbers while it is worked on, and the plan itself with its form in JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core.gains import Array, Flags, Pairs, clipped_levels, mean_and_deviation
from recolorist.core.options import EpsMode, MatchOptions
from recolorist.core.spaces import SPACES
from recolorist.errors import StatisticsError

__all__ = ["AFFINE_METHODS", "FLAG_NAMES", "ChannelMap", "MatrixMap", "Plan"]

AFFINE_METHODS: Final = ("mean_std", "covariance")  # whose maps are plans
_FORMAT: Final = "recolorist.plan/1"
_JSON: Final = json.JSONEncoder(allow_nan=False)
FLAG_NAMES: Final = frozenset({"flat", "collapsed", "gain_capped", "blank"})
_VECTORS: Final = ("offset", "gain", "content_mean", "content_std", "style_mean", "style_std")


class _PlainNumbers:
    """The slot of a plan that keeps its numbers as they were planned, until somebody asks for the arrays."""

    __slots__ = ("_plain",)

    _plain: ChannelMap | MatrixMap | None


@dataclass(frozen=True, slots=True, eq=False)
class Plan(_PlainNumbers):
    """One affine map, decided: ``output = matrix @ pixel + offset``, in units of 0 to ``data_range``.

    In a linear space the map is one of RGB; in any other (``lab``, ``hsv``, …) it acts on converted pixels, in that
    space's own units.

    Example:
        >>> from recolorist import measure, plan
        >>> content, style = np.array([[0, 2]], np.uint8), np.array([[10, 30]], np.uint8)
        >>> p = plan(measure(content), measure(style))
        >>> p.matrix.tolist(), p.offset.tolist()
        ([[10.0]], [10.0])
        >>> Plan.from_json(p.to_json()) == p
        True
    """

    matrix: Array  #: (C, C)
    offset: Array  #: (C,)
    gain: Array  #: factor on each channel of the matching space
    flags: Flags  #: per channel: ``flat``, ``collapsed``, ``gain_capped``, ``blank``
    method: str
    space: str
    strength: float
    max_gain: float
    eps_mode: str
    data_range: float  #: largest value of the content
    content_mean: Array = field(repr=False)
    content_std: Array = field(repr=False)
    style_mean: Array = field(repr=False)
    style_std: Array = field(repr=False)

    def __getattr__(self, name: str) -> Any:
        """Make the arrays when somebody asks for one; a small image is matched in less time than they take."""
        if name == "_plain":  # a plan that was made from arrays
            return None
        plain = self._plain
        if plain is None or name not in _ARRAYS:
            raise AttributeError(f"Plan has no attribute {name!r}")
        for field_name, array in zip(_ARRAYS, _make_arrays(plain), strict=True):
            object.__setattr__(self, field_name, array)
        object.__setattr__(self, "_plain", None)  # from here on the arrays count
        return getattr(self, name)

    @property
    def channels(self) -> int:
        """Number of colour channels."""
        return len(self.flags)

    @property
    def numbers(self) -> tuple[list[float], list[float]]:
        """Gain and offset as plain numbers: a factor for each channel if the plan is diagonal, else the matrix row by row."""
        plain = self._plain
        if isinstance(plain, ChannelMap):
            return plain.gain, plain.offset
        matrix, offset = (self.matrix.ravel().tolist(), self.offset.tolist()) if plain is None else (plain.matrix, plain.offset)
        step = len(offset) + 1
        mixed = matrix.copy()
        del mixed[::step]
        return matrix if any(mixed) else matrix[::step], offset

    @property
    def is_diagonal(self) -> bool:
        """Whether each output channel depends on its own input channel alone."""
        return len(self.numbers[0]) == self.channels

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        gain, offset = self.numbers
        return gain.count(1.0) == self.channels == len(gain) and not any(offset)

    @property
    def is_linear_space(self) -> bool:
        """Whether the map acts on RGB itself."""
        return SPACES[self.space].is_linear

    def offset_for(self, data_range: float) -> Array:
        """Return the offset in the units of another image: a plan made for uint8 also serves floats in [0, 1].

        Args:
            data_range: The largest value of that image.

        Returns:
            The offset of each channel; in a non-linear space that of the plan, whatever the range.

        Raises:
            StatisticsError: One of the two ranges is infinite.

        Example:
            >>> from recolorist import Moments, plan
            >>> p = plan(Moments(1, [51.0], [[1.0]], 255.0), Moments(1, [102.0], [[1.0]], 255.0))
            >>> p.offset_for(255.0).tolist(), p.offset_for(1.0).tolist()
            ([51.0], [0.2])
        """
        if data_range == self.data_range or not self.is_linear_space:
            return self.offset
        if math.isinf(data_range) or math.isinf(self.data_range):
            raise StatisticsError(
                f"the plan was made for the range 0 to {self.data_range:g} and the image declares 0 to {data_range:g}; "
                "declare the same data_range for both"
            )
        return self.offset * (data_range / self.data_range)

    def kept_levels(self, data_range: int | None = None) -> NDArray[np.int64]:
        """Return the first and last input level, per channel, that an integer image keeps; all others would be clipped.

        Args:
            data_range: The largest level of that image, by default the plan's.

        Example:
            >>> from recolorist import Moments, measure, plan
            >>> ramp = np.arange(256, dtype=np.uint8)[None]
            >>> plan(measure(ramp), Moments(1, [127.5], [[4 * measure(ramp).cov[0, 0]]], 255)).kept_levels().tolist()
            [[64, 191]]
        """
        return np.array([_find_kept(clipped) for clipped in self.clipped_levels(data_range)])

    def clipped_levels(self, data_range: int | None = None) -> NDArray[np.bool_]:
        """Return whether the output would be clipped, for each channel and input level of an integer image.

        Args:
            data_range: The largest level of that image, by default the plan's.

        Returns:
            True for a level that would be clipped, shaped (channels, levels).

        Raises:
            StatisticsError: The plan mixes channels or belongs to a non-linear space, or the range is not one of integers.

        Example:
            >>> from recolorist import Moments, plan
            >>> p = plan(Moments(1, [1.0], [[1.0]], 3.0), Moments(1, [1.0], [[4.0]], 3.0))
            >>> p.clipped_levels().tolist()
            [[True, False, False, True]]
        """
        high = self.data_range if data_range is None else data_range
        if not (check.is_number(high) and 1 <= high <= 65535):
            raise StatisticsError(f"data_range={high!r}; levels are those of integer images, from 1 to 65535 of them")
        high = int(high)
        if not (self.is_diagonal and self.is_linear_space):
            raise StatisticsError("only a diagonal plan in RGB clips by level; audit(image, plan) counts for any plan")
        return clipped_levels(self.matrix.diagonal(), self.offset_for(high), high)

    def predicted_clipping(self, histogram: NDArray[Any]) -> Array:
        """Return the share of values, per channel, that would be clipped.

        Args:
            histogram: Counts of the levels, shaped (channels, levels).

        Returns:
            One share for each channel.

        Raises:
            StatisticsError: The counts do not fit the plan, or it does not clip by level.

        Example:
            >>> from recolorist import Moments, plan
            >>> p = plan(Moments(1, [1.0], [[1.0]], 3.0), Moments(1, [1.0], [[4.0]], 3.0))
            >>> p.predicted_clipping(np.array([[1, 2, 1, 0]])).tolist()
            [0.25]
        """
        counts = np.asarray(histogram)
        if counts.ndim != 2 or len(counts) != self.channels or counts.dtype.kind not in "iuf" or (counts.sum(axis=1) <= 0).any():
            raise StatisticsError(
                f"counts have shape {counts.shape}; needed are positive counts shaped ({self.channels}, levels)"
            )
        clipped = np.where(self.clipped_levels(counts.shape[1] - 1), counts, 0).sum(axis=1)
        return np.asarray(clipped / counts.sum(axis=1))

    def to_json(self) -> str:
        """Return one line that :meth:`from_json` reads back to the same bits; see there for an example."""
        numbers = (self.matrix.tolist(), self.offset.tolist(), self.gain.tolist())
        options = (self.method, self.space, self.strength, self.max_gain, self.eps_mode, self.data_range)
        reported = (self.content_mean, self.content_std, self.style_mean, self.style_std)
        return _write_line(*numbers, self.flags, *options, *(vector.tolist() for vector in reported))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that :meth:`to_json` wrote.

        Args:
            text: The line; anything else is refused.

        Returns:
            The plan, with the same bits.

        Raises:
            StatisticsError: The text is not a plan.

        Example:
            >>> from recolorist import Moments, plan
            >>> p = plan(Moments(1, [1.0], [[1.0]]), Moments(1, [2.0], [[4.0]]))
            >>> Plan.from_json(p.to_json()) == p
            True
        """
        try:
            read = cls(**_read_entries(text))
            _refuse_odd_numbers(read)
        except (TypeError, ValueError, KeyError, RecursionError, OverflowError) as error:
            raise StatisticsError(f"this is not a plan: {error}. Expected is what Plan.to_json wrote.") from error
        return read

    def __eq__(self, other: object) -> bool:
        """Return whether all numbers and options are equal."""
        return self.to_json() == other.to_json() if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        """Return the same hash for equal plans."""
        return hash(self.to_json())

    def __str__(self) -> str:
        """Return the equation with its numbers, one line per output channel."""
        names: tuple[str, ...] = tuple(f"c{i}" for i in range(self.channels))
        if self.channels == 3:
            names = SPACES["rgb" if self.is_linear_space else self.space].channels
        lines = []
        for name, row, shift in zip(names, self.matrix, self.offset, strict=True):
            terms = [f"{factor:.4f}·{other}" for factor, other in zip(row, names, strict=True) if factor or other == name]
            lines.append(f"{name}' = {' + '.join(terms)} {'-' if shift < 0 else '+'} {abs(shift):.4f}")
        return "\n".join(lines)


class ChannelMap(NamedTuple):
    """The numbers of a plan that maps each channel by itself. Arrays of them cost as much as the pixels of a small image.

    >>> from recolorist.core.plan import plan_channels
    >>> half = plan_channels([(10.0, 4.0)], [(20.0, 1.0)], MatchOptions(), 255.0)
    >>> half.gain, half.offset, half.to_json() == half.plan().to_json()
    ([0.5], [15.0], True)
    """

    gain: list[float]
    offset: list[float]
    flags: Flags
    options: MatchOptions
    data_range: float
    content: Pairs
    style: Pairs

    @property
    def matrix(self) -> list[float]:
        """The gains as a matrix, row by row."""
        channels = len(self.gain)
        matrix = [0.0] * (channels * channels)
        matrix[:: channels + 1] = self.gain
        return matrix

    def plan(self) -> Plan:
        """Return the plan itself."""
        return _make_plan(self)

    def to_json(self) -> str:
        """Return the line of the plan."""
        channels, matrix = len(self.gain), self.matrix
        rows = [matrix[k : k + channels] for k in range(0, len(matrix), channels)]
        return _write_line(
            rows, self.offset, self.gain, self.flags, *_list_options(self.options), self.data_range, *_list_reported(self)
        )


class MatrixMap(NamedTuple):
    """The numbers of a plan that mixes the channels, for the same reason."""

    matrix: list[float]  #: row by row
    offset: list[float]
    gain: list[float]
    flags: Flags
    options: MatchOptions
    data_range: float
    content: Pairs
    style: Pairs

    def plan(self) -> Plan:
        """Return the plan itself."""
        return _make_plan(self)


_FIELDS: Final = tuple(entry.name for entry in fields(Plan))
_ARRAYS: Final = ("matrix", *_VECTORS)


def _make_plan(plain: ChannelMap | MatrixMap) -> Plan:
    """Return a plan that makes its arrays when somebody asks for them."""
    made, options, store = object.__new__(Plan), plain.options, object.__setattr__
    store(made, "_plain", plain)
    store(made, "flags", plain.flags)
    store(made, "method", options.method)
    store(made, "space", options.space)
    store(made, "strength", options.strength)
    store(made, "max_gain", options.max_gain)
    store(made, "eps_mode", options.eps_mode)
    store(made, "data_range", plain.data_range)
    return made


def _make_arrays(plain: ChannelMap | MatrixMap) -> tuple[Array, ...]:
    """Return the arrays of a plan, in the order of ``_ARRAYS``."""
    channels = len(plain.gain)
    numbers = np.array(
        [*plain.matrix, *plain.offset, *plain.gain, *chain(*_list_reported(plain))]
    )  # one array is quicker than seven
    rows = numbers.reshape(channels + 6, channels)
    return rows[:channels], *rows[channels:]


def _list_reported(plain: ChannelMap | MatrixMap) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return the means and deviations that a plan reports: those of the content, then those of the style."""
    return *mean_and_deviation(plain.content), *mean_and_deviation(plain.style)


def _list_options(options: MatchOptions) -> list[Any]:
    """Return the options that a plan records, in the order of its fields."""
    return [options.method, options.space, options.strength, options.max_gain, options.eps_mode]


def _write_line(*values: Any) -> str:
    """Write the fields of a plan, in order, as one line of JSON."""
    # JSON has no infinity; of a plan only limits can be infinite
    finite = ["inf" if isinstance(value, float) and value == math.inf else value for value in values]
    return _JSON.encode({"format": _FORMAT} | dict(zip(_FIELDS, finite, strict=True)))


def _read_entries(text: str) -> dict[str, Any]:
    """Return the fields of a plan from one line of JSON."""
    entries = json.loads(text)
    if not isinstance(entries, dict) or entries.pop("format", None) != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT!r}")
    return {name: _read_value(name, value) for name, value in entries.items()}


def _refuse_odd_numbers(plan: Plan) -> None:
    """Refuse a plan whose numbers are missing, not finite or of different sizes, or whose options are unknown."""
    vectors = [getattr(plan, name) for name in _VECTORS]
    if not all(isinstance(a, np.ndarray) and np.isfinite(a).all() for a in (plan.matrix, *vectors)):
        raise ValueError("its numbers are missing or not finite")
    n = len(plan.offset)
    if not n or plan.matrix.shape != (n, n) or any(a.shape != (n,) for a in vectors) or len(plan.flags) != n:
        raise ValueError("its numbers do not fit together")
    check.option(plan.method, AFFINE_METHODS, "method")
    MatchOptions(plan.method, plan.space, plan.strength, plan.max_gain, cast("EpsMode", plan.eps_mode))
    if check.number(plan.data_range, 0, math.inf, "data_range") == 0:
        raise ValueError("its data_range is not positive")
    if n != 3 and plan.space != "rgb":
        raise ValueError(f"space {plan.space!r} needs three channels")


def _read_value(name: str, value: Any) -> Any:
    """Return a field of a plan from its form in JSON."""
    if name == "flags":
        if not all(isinstance(channel, list) and set(channel) <= FLAG_NAMES for channel in value):
            raise ValueError(f"its flags are not lists of {', '.join(sorted(FLAG_NAMES))}")
        return Flags(map(tuple, value))
    if isinstance(value, list):
        return np.array(value, dtype=np.float64)
    return math.inf if value == "inf" else value


def _find_kept(clipped: NDArray[np.bool_]) -> Sequence[int]:
    """Return the first and the last level that is not clipped; (0, -1) if there is none."""
    kept = np.flatnonzero(~clipped)
    return (int(kept[0]), int(kept[-1])) if kept.size else (0, -1)
