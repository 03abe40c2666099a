"""Audit a collection before anything is done to it: images that would clip or lose detail, are flat, blank or unlike the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.style_bank import StyleBank
from recolorist.collections.flags import FLAGS
from recolorist.collections.items import Item
from recolorist.collections.load import load, rule_mask
from recolorist.collections.options import AuditOptions, Limits
from recolorist.collections.strips import count_strips
from recolorist.core import image as check
from recolorist.core.blank import are_blank_levels
from recolorist.core.clipping import level_counts
from recolorist.core.detail import DetailLoss
from recolorist.core.gains import gains_of
from recolorist.core.limits import measure_loss
from recolorist.core.options import MatchOptions
from recolorist.core.plan import plan_channels
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import Reading

__all__ = [
    "AuditWork",
    "Levels",
    "Panel",
    "flags_of",
    "mark_outliers",
    "mean_and_variance",
    "panel_of",
    "summary_of",
]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_] | None

_PANEL: Final = 32  # styles that every image is tried against
_END: Final = 1.0 / 64.0  # of the range: values so close to an end have no detail left to clip, such as a black frame
_FLOAT_LEVELS: Final = 65535  # float images are counted in as many steps
_DTYPES: Final = {"B": "uint8", "H": "uint16", "e": "float16", "f": "float32", "d": "float64"}


class Levels(NamedTuple):
    """The histogram of one image."""

    item: Item
    counts: NDArray[Any]  # (channels, levels)
    size: tuple[int, int]
    dtype: str
    loss: dict[str, Any] | None = None  # the detail that the median style of the panel takes
    has_foreground: bool = True  # False: the rule found nothing, and all pixels were counted


class Panel(NamedTuple):
    """A few styles of a bank that every image is tried against: the same for all, so that images can be compared."""

    mean: Array
    variance: Array
    keys: tuple[str, ...]


def panel_of(bank: StyleBank, size: int = _PANEL) -> Panel:
    """Choose the styles of a panel: evenly spread over the bank, sorted by contrast, which decides most of the clipping.

    Args:
        bank: The bank.
        size: How many styles.

    Returns:
        The panel.

    Raises:
        OptionError: The bank does not hold moments of RGB.
    """
    if bank.space != "rgb":
        raise OptionError(f"the bank holds moments of {bank.space!r}; an audit needs those of RGB; build one with space='rgb'")
    order = np.argsort(bank.std.mean(axis=1), kind="stable")
    places = np.arange(min(size, len(bank))) + 0.5
    rows = order[(places * len(bank) / len(places)).astype(np.int64)]
    variance = np.diagonal(bank.cov, axis1=1, axis2=2)[rows]
    return Panel(bank.mean[rows], variance, tuple(bank.keys[row] for row in rows))


@dataclass(frozen=True, slots=True)
class AuditWork:
    """Count the levels of every image; figures are taken from the counts, a few images at a time."""

    reading: Reading
    options: AuditOptions = field(default_factory=AuditOptions)
    panel: Panel | None = None

    def __call__(self, item: Item) -> Levels:
        """Decode and count."""
        loaded = load(item, self.reading)
        if loaded.strips is not None:
            with loaded.strips as source:
                if source.dtype.kind != "u" or self.options.mask:
                    raise ImageError("images that go through in strips are audited as integers and without a mask")
                return Levels(item, count_strips(source), source.shape[:2], source.dtype.name)
        opened = loaded.opened
        if self.panel is not None and self.panel.mean.shape[1] != opened.channels:
            raise ImageError(
                f"it has {opened.channels} channel(s), and the bank's styles have {self.panel.mean.shape[1]}; they must agree"
            )
        inside = rule_mask(opened, self.options.mask)
        mask = check.open_mask(inside, opened)
        counts = _counts(opened, mask)
        height, width = opened.array.shape[:2]
        loss = None
        if self.panel is not None:
            style, loss_found = _loss_of(opened, counts, mask, self.panel, self.options.limits.max_gain)
            loss = loss_found.figures() | {"loss_style": style}
        has_foreground = self.options.mask is None or inside is not None
        return Levels(item, counts, (height, width), _DTYPES[opened.kind], loss, has_foreground)

    def finish(self, values: list[Any]) -> list[Any]:
        """Describe every image in one line; those whose histograms have one shape are worked on together.

        Args:
            values: The results of the work.

        Returns:
            A line for each image.
        """
        lines: list[Any] = [None] * len(values)
        for shape in {value.counts.shape for value in values}:
            places = [i for i, value in enumerate(values) if value.counts.shape == shape]
            group = self._lines([values[i] for i in places])
            for i, line in zip(places, group, strict=True):
                lines[i] = line
        return lines

    def _lines(self, group: list[Levels]) -> list[dict[str, Any]]:
        counts = np.stack([levels.counts for levels in group], dtype=np.int64, casting="unsafe")  # (images, channels, levels)
        total = counts.shape[-1] - 1.0
        pixels = counts.sum(axis=-1)
        mean, variance = mean_and_variance(counts, pixels)
        std = np.sqrt(variance)
        ends = counts[..., 0] / pixels, counts[..., -1] / pixels
        tried = None if self.panel is None else _try_panel(counts, mean, std, self.panel, self.options.limits.max_gain)
        columns = [(mean / total).tolist(), (std / total).tolist(), *(end.tolist() for end in ends)]
        lines = [_describe(levels, *figures) for levels, *figures in zip(group, *columns, strict=True)]
        figures_of = [{}] * len(group) if tried is None else tried.figures()
        for line, figures, levels, is_blank in zip(lines, figures_of, group, are_blank_levels(counts).tolist(), strict=True):
            line.update(figures, **(levels.loss or {}), blank=is_blank or not levels.has_foreground)
            line["flags"] = flags_of(line, self.options.limits)
        return lines


def _describe(levels: Levels, mean: list[float], std: list[float], at_zero: list[float], at_white: list[float]) -> dict[str, Any]:
    return {
        "source": levels.item.key,
        "label": levels.item.label,
        "domain": levels.item.domain,
        "size": list(levels.size),
        "dtype": levels.dtype,
        "mean": mean,
        "std": std,
        "at_zero": at_zero,
        "at_white": at_white,
    }


class _PanelResult(NamedTuple):
    """What the styles of a panel would do."""

    clipped: Array  #: (images, styles) share of values
    newly_clipped: Array  #: the same without values that lay at an end of the range before
    capped: Array  #: (images,) share of styles that cap the gain
    keys: tuple[str, ...]

    def figures(self) -> list[dict[str, Any]]:
        """Return the figures of each image."""
        middle, worst = _median(self.clipped.T).tolist(), self.clipped.argmax(axis=1).tolist()
        most, capped = self.clipped.max(axis=1).tolist(), self.capped.tolist()
        newly = _median(self.newly_clipped.T).tolist()
        return [
            {
                "clip_median": half,
                "clip_new_median": new,
                "clip_worst": high,
                "worst_style": self.keys[row],
                "capped_share": share,
            }
            for half, new, high, row, share in zip(middle, newly, most, worst, capped, strict=True)
        ]


def mean_and_variance(counts: Counts, pixels: Counts) -> tuple[Array, Array]:
    """Measure histograms. Whole numbers below 2**53 and their sums are exact, and so is what Python makes of them.

    Args:
        counts: Histograms (..., levels).
        pixels: The sum of each.

    Returns:
        The mean and the variance of each, in levels.

    Example:
        >>> [part.tolist() for part in mean_and_variance(np.array([[1, 0, 3]]), np.array([4]))]
        [[1.5], [0.75]]
    """
    levels = np.arange(counts.shape[-1], dtype=np.float64)
    sums, squares = np.moveaxis(counts.astype(np.float64) @ np.stack([levels, levels * levels], axis=-1), -1, 0)
    sums_of = (counted.ravel().tolist() for counted in (pixels, sums.astype(np.int64), squares.astype(np.int64)))
    exact = [(n * q - s * s) / (n * n) for n, s, q in zip(*sums_of, strict=True)]
    return sums / pixels, np.array(exact).reshape(sums.shape)


def _try_panel(counts: Counts, mean: Array, std: Array, panel: Panel, max_gain: float) -> _PanelResult:
    """The exact share of values each style would clip, from cumulative histograms; all in levels.

    The plan is the public one, ``gain · x + offset`` with a capped gain, so the shares are those that an audit of the plan gives.
    """
    total = counts.shape[-1] - 1.0
    goal, spread = panel.mean * total, np.sqrt(panel.variance * (total * total))
    gain, beyond = gains_of(std[:, None, :], spread, max_gain)
    capped = beyond.any(axis=-1).mean(axis=-1)
    offset = goal - gain * mean[:, None, :]
    first = _first_level(gain, offset, total, -0.5, inclusive=True)
    last = _first_level(gain, offset, total, total + 0.5, inclusive=int(total) % 2 == 1)
    inner, end = counts.copy(), int(_END * total) + 1
    inner[..., :end] = inner[..., -end:] = 0
    shares = [_share_beyond(counted, first, last, counts.sum(axis=-1)) for counted in (counts, inner)]
    return _PanelResult(shares[0], shares[1], capped, panel.keys)


def _share_beyond(counts: Counts, first: NDArray[np.int64], last: NDArray[np.int64], pixels: Counts) -> Array:
    """Return the share of values below the first and from the last level on, for each image and style."""
    below = np.zeros((*counts.shape[:2], counts.shape[2] + 1), np.int64)
    np.cumsum(counts, axis=-1, out=below[..., 1:])
    rows = (np.arange(below[..., 0].size) * below.shape[2]).reshape(len(counts), 1, -1)  # where each histogram begins
    lost = below.take(rows + first) + below[..., -1][:, None, :] - below.take(rows + last)
    return np.asarray((lost / pixels[:, None, :]).mean(axis=-1))


def _loss_of(opened: check.Opened, counts: Counts, mask: Mask, panel: Panel, max_gain: float) -> tuple[str, DetailLoss]:
    """Measure the detail that the median style of a panel takes from an image.

    Returns:
        The key of the style that newly clips more than half of the others do, and the loss.
    """
    total = counts.shape[-1] - 1.0
    every = counts[None].astype(np.int64)
    mean, variance = mean_and_variance(every, every.sum(axis=-1))
    tried = _try_panel(every, mean, np.sqrt(variance), panel, max_gain)
    row = int(np.argsort(tried.newly_clipped[0], kind="stable")[len(panel.keys) // 2])
    scale = opened.data_range / total
    content = list(zip((mean[0] * scale).tolist(), (variance[0] * (scale * scale)).tolist(), strict=True))
    high = opened.data_range
    style = list(zip((panel.mean[row] * high).tolist(), (panel.variance[row] * (high * high)).tolist(), strict=True))
    numbers = plan_channels(content, style, MatchOptions(max_gain=max_gain), high)
    return panel.keys[row], measure_loss(opened, numbers, mask)


def _first_level(gain: Array, offset: Array, total: float, limit: float, *, inclusive: bool) -> NDArray[np.int64]:
    """The first level whose mapped value reaches the limit (or, not ``inclusive``, exceeds it); total + 1 if none does.

    Rounding half to even makes −0.5 a zero, which is kept, and 255.5 a 256, which is clipped. The quotient can be wrong by one
    level, because of rounding. So the map itself is evaluated on both sides.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        guess = np.ceil((limit - offset) / gain)
    guess = np.where(np.isfinite(guess), guess, 0.0)
    level = np.clip(guess, 0, total + 1)
    level -= (level > 0) & _reaches(gain, offset, level - 1, limit, inclusive)
    level += (level <= total) & ~_reaches(gain, offset, level, limit, inclusive)
    constant = gain == 0
    if constant.any():
        level = np.where(constant, np.where(_reaches(gain, offset, level, limit, inclusive), 0.0, total + 1), level)
    return level.astype(np.int64)


def _reaches(gain: Array, offset: Array, level: Array, limit: float, inclusive: bool) -> NDArray[np.bool_]:
    value = gain * level + offset
    return np.asarray(value >= limit if inclusive else value > limit)


def _median(rows: Array) -> Array:
    """Of each column. NumPy's own gives the same, and first loads all there is for masked arrays, in every process.

    >>> _median(np.array([[1.0, 5.0], [9.0, 7.0], [2.0, 6.0], [4.0, 0.0]])).tolist()
    [3.0, 5.5]
    """
    ordered = np.sort(rows, axis=0)
    return np.asarray((ordered[(len(rows) - 1) // 2] + ordered[len(rows) // 2]) / 2)


def flags_of(line: Mapping[str, Any], limits: Limits) -> list[str]:
    """Return the flags of one line.

    Args:
        line: The line of one image.
        limits: Where a figure becomes a flag.

    Returns:
        The names of the flags.

    Example:
        >>> line = {"std": [0.0, 0.01], "blank": True, "at_white": [0.3, 0.0], "clip_new_median": 0.2, "capped_share": 0.0}
        >>> flags_of(line, Limits()), flags_of(line | {"blank": False}, Limits())
        (['flat', 'blank'], ['flat', 'clips'])
    """
    flags = ["flat"] if min(line["std"]) == 0 else []
    if line["blank"]:
        return [*flags, "blank"]  # it is not matched, so it cannot lose anything
    if min(line["at_white"]) > limits.saturated:  # one channel at its end is a colour, such as peach
        flags.append("saturated")
    if line.get("clip_new_median", 0.0) > limits.clip:
        flags.append("clips")
    if line.get("loss_share", 0.0) > limits.loss:
        flags.append("detail_lost")
    if line.get("capped_share", 0.0) > 0.5:
        flags.append("gain_capped")
    return flags


def mark_outliers(lines: list[dict[str, Any]], limits: Limits) -> None:
    """Flag images far from the rest of their domain, by medians, which a few unusual images hardly change.

    Args:
        lines: The lines of all images.
        limits: Where a figure becomes a flag.
    """
    for kind in {(len(line["mean"]), line["domain"]) for line in lines}:
        group = [line for line in lines if (len(line["mean"]), line["domain"]) == kind]
        features = np.array([[*line["mean"], *line["std"]] for line in group])
        distance = np.abs(features - _median(features))
        spread = np.maximum(1.4826 * _median(distance), 1.0 / 255.0)
        for line, far in zip(group, (distance / spread).max(axis=1), strict=True):
            line["outlier_distance"] = float(far)
            if far > limits.outlier:
                line["flags"].append("outlier")


def summary_of(lines: list[dict[str, Any]], failures: int) -> dict[str, Any]:
    """Count flags and failures, and describe the clipped share where a bank was given.

    Args:
        lines: The lines of all images.
        failures: Files that could not be read.

    Returns:
        Plain values.
    """
    clipped = [line["clip_median"] for line in lines if "clip_median" in line]
    summary: dict[str, Any] = {
        "images": len(lines),
        "failed": failures,
        "flags": {name: sum(name in line["flags"] for line in lines) for name in FLAGS},
        "unflagged": sum(not line["flags"] for line in lines),
    }
    if clipped:
        quantiles = np.quantile(clipped, [0.5, 0.9, 0.99, 1.0]).tolist()
        summary["clip_median"] = dict(zip(("median", "90 %", "99 %", "worst"), quantiles, strict=True))
    return summary


def _counts(opened: check.Opened, mask: Mask) -> NDArray[Any]:
    """Count the levels of an image; floats in as many steps as 16 bits have."""
    if opened.is_integer:
        counts = level_counts(opened, mask)
        high = int(opened.data_range)
        if counts.shape[1] == high + 1:
            return counts
        if counts[:, high + 1 :].any():
            raise ImageError(f"it holds levels above its declared range of {high}; declare the right one with bits=12, say")
        return counts[:, : high + 1]
    if math.isinf(opened.data_range):
        raise ImageError("float images without a declared range cannot be audited; declare it with data_range=1.0, say")
    pixels = opened.colour if mask is None else opened.colour[mask]
    values = pixels.reshape(-1, opened.channels).astype(np.float64) / opened.data_range
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1:
        raise ImageError(f"it holds values outside its declared range 0 to {opened.data_range:g}; declare data_range")
    levels = np.rint(values * _FLOAT_LEVELS).astype(np.int64)
    return np.stack([np.bincount(levels[:, c], minlength=_FLOAT_LEVELS + 1) for c in range(opened.channels)])
