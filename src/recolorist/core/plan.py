"""Planning: from the moments of two images to one small, printable affine map."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core.gains import (
    Array,
    Flags,
    MapNumbers,
    Pairs,
    by_covariance,
    by_mixed_deviation,
    clipped_levels,
    diagonal_map,
    mean_and_deviation,
    mean_and_variance,
    refuse_collapse,
)
from recolorist.core.moments import Moments
from recolorist.core.options import EpsMode, MatchOptions, match_options
from recolorist.core.spaces import SPACES, Mixing
from recolorist.errors import OptionError, StatisticsError

__all__ = ["AffineMethod", "ChannelMap", "Plan", "decide", "plan", "plan_channels", "plan_map", "refuse_channels"]

AffineMethod = Literal["mean_std", "covariance"]

_AFFINE: Final = ("mean_std", "covariance")
_FORMAT: Final = "recolorist.plan/1"
_JSON: Final = json.JSONEncoder(allow_nan=False)
FLAG_NAMES: Final = frozenset({"flat", "collapsed", "gain_capped", "blank"})
_VECTORS: Final = ("offset", "gain", "content_mean", "content_std", "style_mean", "style_std")


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One affine map, decided: ``output = matrix @ pixel + offset``, in units of 0 to ``data_range``.

    In a linear space the map is one of RGB; in any other (``lab``, ``hsv``, …) it acts on converted pixels, in that
    space's own units.

    Example:
        >>> from recolorist import measure
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

    @property
    def channels(self) -> int:
        """Number of colour channels."""
        return len(self.offset)

    @property
    def is_diagonal(self) -> bool:
        """Whether each output channel depends on its own input channel alone."""
        values = self.matrix.ravel().tolist()
        del values[:: len(self.matrix) + 1]
        return not any(values)

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        return not any(self.offset.tolist()) and self.is_diagonal and all(value == 1 for value in self.matrix.diagonal().tolist())

    @property
    def is_linear_space(self) -> bool:
        """Whether the map acts on RGB itself."""
        return SPACES[self.space].is_linear

    def offset_for(self, data_range: float) -> Array:
        """Return the offset in the units of another image: a plan made for uint8 also serves floats in [0, 1].

        Args:
            data_range: The largest value of that image.
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
            >>> from recolorist import measure
            >>> ramp = np.arange(256, dtype=np.uint8)[None]
            >>> plan(measure(ramp), Moments(1, [127.5], [[4 * measure(ramp).cov[0, 0]]], 255)).kept_levels().tolist()
            [[64, 191]]
        """
        return np.array([_first_and_last(clipped) for clipped in self.clipped_levels(data_range)])

    def clipped_levels(self, data_range: int | None = None) -> NDArray[np.bool_]:
        """Return whether the output would be clipped, for each channel and input level of an integer image.

        Args:
            data_range: The largest level of that image, by default the plan's.
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
        """
        counts = np.asarray(histogram)
        if counts.ndim != 2 or len(counts) != self.channels or counts.dtype.kind not in "iuf" or (counts.sum(axis=1) <= 0).any():
            raise StatisticsError(
                f"counts have shape {counts.shape}; needed are positive counts shaped ({self.channels}, levels)"
            )
        clipped = np.where(self.clipped_levels(counts.shape[1] - 1), counts, 0).sum(axis=1)
        return np.asarray(clipped / counts.sum(axis=1))

    def to_json(self) -> str:
        """Return one line that :meth:`from_json` reads back to the same bits."""
        numbers = (self.matrix.tolist(), self.offset.tolist(), self.gain.tolist())
        options = (self.method, self.space, self.strength, self.max_gain, self.eps_mode, self.data_range)
        reported = (self.content_mean, self.content_std, self.style_mean, self.style_std)
        return _plan_line(*numbers, self.flags, *options, *(vector.tolist() for vector in reported))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that :meth:`to_json` wrote.

        Args:
            text: The line; anything else is refused.
        """
        try:
            decided = cls(**_entries(text))
            _refuse_odd_numbers(decided)
        except (TypeError, ValueError, KeyError, RecursionError, OverflowError) as error:
            raise StatisticsError(f"this is not a plan: {error}. Expected is what Plan.to_json wrote.") from error
        return decided

    def __eq__(self, other: object) -> bool:
        """Same numbers, same options."""
        return self.to_json() == other.to_json() if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        """Equal plans hash alike."""
        return hash(self.to_json())

    def __str__(self) -> str:
        """The equation with its numbers, one line per output channel."""
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

    def plan(self) -> Plan:
        """The plan itself."""
        n = len(self.gain)
        diagonal = [self.gain[k // n] if k % (n + 1) == 0 else 0.0 for k in range(n * n)]
        numbers = np.array([*diagonal, *self.offset, *self.gain, *chain(*self._reported())])  # one array is quicker than seven
        vectors = numbers[n * n :].reshape(6, n)
        options = (*_entries_of(self.options), self.data_range)
        return Plan(numbers[: n * n].reshape(n, n), vectors[0], vectors[1], self.flags, *options, *vectors[2:])

    def to_json(self) -> str:
        """The line of the plan."""
        places = range(len(self.gain))
        matrix = [[self.gain[i] if i == j else 0.0 for j in places] for i in places]
        return _plan_line(
            matrix, self.offset, self.gain, self.flags, *_entries_of(self.options), self.data_range, *self._reported()
        )

    def _reported(self) -> tuple[list[float], list[float], list[float], list[float]]:
        return *mean_and_deviation(self.content), *mean_and_deviation(self.style)


def plan_channels(content: Pairs, style: Pairs, options: MatchOptions, data_range: float) -> ChannelMap:
    """Decide from mean and variance of each channel, both in the content's units."""
    gain, offset, flags = diagonal_map(content, style, options)
    if not math.isfinite(sum(gain) + sum(offset)):
        _refuse_overflow([*gain, *offset])
    if options.strict:
        refuse_collapse(flags)
    return ChannelMap(gain, offset, flags, options, data_range, content, style)


def plan(
    content: Moments,
    style: Moments,
    space: str = "rgb",
    strength: float = 1.0,
    max_gain: float = 10.0,
    eps_mode: EpsMode = "exact",
    *,
    method: AffineMethod = "mean_std",
    strict: bool = False,
) -> Plan:
    """Decide the map that gives the content the style's mean and deviation (or, ``"covariance"``, its covariance).

    Args:
        content: What :func:`measure` returned for an image or a batch.
        style: The same for the style; one serves a whole batch.
        space: A key of :data:`recolorist.SPACES`.
        strength: 0 leaves the image as it is, 1 matches it fully.
        max_gain: Largest factor on a channel.
        eps_mode: ``"exact"``, or ``"paper"`` for equation (1) of the paper as printed, with ε = 1e-8 and no cap.
        method: ``"mean_std"`` or ``"covariance"``.
        strict: Refuse a style with a flat channel, which would leave nothing of the content there.

    Returns:
        The plan; for a batch a tuple of them.

    Example:
        >>> from recolorist import measure
        >>> same = measure(np.eye(4, dtype=np.uint8))
        >>> plan(same, same).is_identity
        True
    """
    check.option(method, _AFFINE, "method")
    options = match_options(method, space, strength, max_gain, eps_mode, strict)
    if isinstance(content, (tuple, list)):
        styles = style if isinstance(style, (tuple, list)) else [style] * len(content)
        if len(styles) != len(content):
            raise StatisticsError(f"{len(content)} contents and {len(styles)} styles; give one style, or one for each")
        return cast("Plan", tuple(decide(c, s, options) for c, s in zip(content, styles, strict=True)))
    return decide(content, style, options)


def decide(content: Moments, style: Moments, options: MatchOptions) -> Plan:
    """Plan the map for one pair of moments; the options were checked when they were made.

    Raises:
        StatisticsError: The moments fit neither each other nor the space.
        OptionError: The method needs the pixels of the style.
    """
    for moments, name in ((content, "content"), (style, "style")):
        if not isinstance(moments, Moments):
            raise StatisticsError(f"{name} is a {type(moments).__name__}; plan() takes what measure() returns")
    numbers = plan_map(content, style, options, content.data_range)
    return numbers if isinstance(numbers, Plan) else numbers.plan()


def plan_map(content: Pairs | Moments, style: Pairs | Moments, options: MatchOptions, data_range: float) -> ChannelMap | Plan:
    """Plan the map between two images that were measured by channel or in full.

    Args:
        content: Moments, or mean and variance per channel in units of ``data_range``.
        style: Moments in any range, or mean and variance per channel in units of ``data_range``.
        options: How to match.
        data_range: The range of the content, if it was measured by channel.

    Returns:
        Plain numbers where each channel is mapped on its own, else a plan.
    """
    if options.needs_pixels:
        raise OptionError(
            f"method={options.method!r} needs the style's pixels, and a plan is made from moments; "
            "use 'mean_std' or 'covariance', or match() with the image"
        )
    if isinstance(content, Moments):
        _refuse_other_space(content, "content", options)
        data_range = content.data_range
    if isinstance(style, Moments) and style.space != options.measured_space:
        _refuse_other_space(style, "style", options)
    mixes = options.space != "rgb" and SPACES[options.space].is_linear
    if isinstance(content, Moments) and isinstance(style, Moments) and (options.method == "covariance" or mixes):
        refuse_channels(content.channels, style.channels, options.space)
        return _plan_matrix(content, style.rescaled(data_range), options)
    own = mean_and_variance(content) if isinstance(content, Moments) else content
    goal = mean_and_variance(style, data_range) if isinstance(style, Moments) else style
    refuse_channels(len(own), len(goal), options.space)
    return plan_channels(own, goal, options, data_range)


def _plan_matrix(content: Moments, style: Moments, options: MatchOptions) -> Plan:
    """Plan from full covariances, both in the content's units."""
    space = SPACES[options.space]
    if options.method == "covariance":
        matrix = space.matrix if space.is_linear and options.space != "rgb" else None
        numbers = by_covariance(content, style, matrix, options.strength, options.max_gain)
    else:
        numbers = by_mixed_deviation(content, style, cast("Mixing", space.basis), options)
    if options.strict:
        refuse_collapse(numbers.flags)
    if options.eps_mode == "exact" and content.has_moments_of(style):
        # an image matched to itself stays as it is, also where a flat channel has no gain to be 1
        numbers = MapNumbers(np.eye(content.channels), np.zeros(content.channels), np.ones(content.channels), numbers.flags)
    reported = [content.mean.copy(), content.std, style.mean.copy(), style.std]
    return _new_plan(numbers, options, content.data_range, reported)


def _refuse_overflow(numbers: list[float]) -> None:
    if not all(map(math.isfinite, numbers)):
        raise StatisticsError("the moments are too large for a plan, whose numbers would not be finite; use a smaller data_range")


def _new_plan(numbers: MapNumbers, options: MatchOptions, data_range: float, reported: list[Array]) -> Plan:
    _refuse_overflow([*numbers.matrix.ravel().tolist(), *numbers.offset.tolist()])
    entries: list[Any] = [*numbers, *_entries_of(options), data_range, *reported]
    return Plan(*entries)


def _entries_of(options: MatchOptions) -> list[Any]:
    """Return the options that a plan records, in the order of its fields."""
    return [options.method, options.space, options.strength, options.max_gain, options.eps_mode]


def refuse_channels(content: int, style: int, space: str) -> None:
    """Grey does not go with colour, nor a colour space with anything but three channels."""
    if content != style:
        raise StatisticsError(
            f"the content has {content} channel(s) and the style {style}; they must agree. Turn grey into colour with "
            "numpy.repeat(grey[..., None], 3, axis=-1), or colour into grey, as you mean it."
        )
    if space != "rgb" and content != 3:
        raise StatisticsError(f"space={space!r} needs three channels, and the images have {content}")


_FIELDS: Final = tuple(entry.name for entry in fields(Plan))


def _refuse_other_space(measured: Moments, name: str, options: MatchOptions) -> None:
    wanted = options.measured_space
    if measured.space != wanted:
        raise StatisticsError(
            f"the {name} was measured in {measured.space!r}, but a plan in {options.space!r} needs moments of {wanted!r}: "
            f"measure(image, space={wanted!r})"
        )


def _plan_line(*values: Any) -> str:
    """The fields of a plan, in order, as one line of JSON."""
    # JSON has no infinity; of a plan only limits can be infinite
    finite = ["inf" if isinstance(value, float) and value == math.inf else value for value in values]
    return _JSON.encode({"format": _FORMAT} | dict(zip(_FIELDS, finite, strict=True)))


def _entries(text: str) -> dict[str, Any]:
    entries = json.loads(text)
    if not isinstance(entries, dict) or entries.pop("format", None) != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT!r}")
    return {name: _thaw(name, value) for name, value in entries.items()}


def _refuse_odd_numbers(decided: Plan) -> None:
    vectors = [getattr(decided, name) for name in _VECTORS]
    if not all(isinstance(a, np.ndarray) and np.isfinite(a).all() for a in (decided.matrix, *vectors)):
        raise ValueError("its numbers are missing or not finite")
    n = len(decided.offset)
    if not n or decided.matrix.shape != (n, n) or any(a.shape != (n,) for a in vectors) or len(decided.flags) != n:
        raise ValueError("its numbers do not fit together")
    check.option(decided.method, _AFFINE, "method")
    MatchOptions(decided.method, decided.space, decided.strength, decided.max_gain, cast("EpsMode", decided.eps_mode))
    if check.number(decided.data_range, 0, math.inf, "data_range") == 0:
        raise ValueError("its data_range is not positive")
    if n != 3 and decided.space != "rgb":
        raise ValueError(f"space {decided.space!r} needs three channels")


def _thaw(name: str, value: Any) -> Any:
    if name == "flags":
        if not all(isinstance(channel, list) and set(channel) <= FLAG_NAMES for channel in value):
            raise ValueError(f"its flags are not lists of {', '.join(sorted(FLAG_NAMES))}")
        return Flags(map(tuple, value))
    if isinstance(value, list):
        return np.array(value, dtype=np.float64)
    return math.inf if value == "inf" else value


def _first_and_last(clipped: NDArray[np.bool_]) -> Sequence[int]:
    kept = np.flatnonzero(~clipped)
    return (int(kept[0]), int(kept[-1])) if kept.size else (0, -1)
