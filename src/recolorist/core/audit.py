"""Auditing: what a match did to an image, in numbers that fit one JSON line."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core import kernels
from recolorist.core.apply import apply_opened, make_target, refuse_other_channels, usable_pixels
from recolorist.core.blank import is_blank
from recolorist.core.clipping import clipped_values, colour_values, level_counts, unclipped_values
from recolorist.core.detail import DetailLoss, compare_patches, lay_patches, sample_mask, sample_pixels
from recolorist.core.gains import Flags
from recolorist.core.limits import channel_loss, channel_numbers, measure_loss
from recolorist.core.plan import Plan
from recolorist.core.sums import Pairs, exact_pairs
from recolorist.errors import ImageError, StatisticsError

__all__ = ["DETAIL_LOST", "Array", "Audit", "Mask", "add_loss", "audit", "audit_written"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_] | None
Numbers = tuple[list[float], list[float]]  # gain and offset of each channel

_MOST_DEPTH: Final = 16  # channels that the compiled loop sums
DETAIL_LOST: Final = 0.02  #: share of patches that lost more than half of their detail, from which a channel is flagged


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """What happened to one image. Undefined numbers are NaN, in JSON null.

    A value is one channel of one pixel: the clipped shares are shares of values. Lost detail is that of
    :mod:`recolorist.core.detail`, patch by patch, because a share of the whole image hides the loss of a small part.

    >>> from recolorist import match
    >>> ramp = np.arange(250, dtype=np.uint8).reshape(10, 25)
    >>> result = audit(ramp, match(ramp, ramp // 2))
    >>> result.clipped_overall, result.inversions, round(result.pearson_pooled, 3)
    (0.0, 0, 1.0)
    """

    clipped: Array  #: share of values, per channel, that clipping changed: counted on the output
    clipped_overall: float
    predicted_clipped: Array  #: the same from the plan before a pixel is written; NaN where no plan was given
    predicted_clipped_overall: float
    pearson: Array  #: correlation of input and output per channel; NaN where either is flat
    pearson_pooled: float  #: all channels as one vector
    inversions: int  #: neighbouring input levels whose outputs overlap the wrong way round; 0 for any diagonal plan
    gain: Array  #: from the plan, else the ratio of the deviations
    flags: Flags  #: those of the plan, and ``detail_lost`` where a channel lost detail in more than 2 % of the patches
    loss: Array  #: (rows, columns) share of the detail of each patch that is gone; NaN where there was none
    loss_share: float  #: share of the patches with detail that lost more than half of it
    loss_worst: float  #: the largest share that a patch lost
    loss_worst_box: tuple[int, int, int, int] | None  #: left, top, right and bottom of that patch in pixels

    def to_json(self) -> str:
        """Return one line of JSON.

        Example:
            >>> image = np.arange(16, dtype=np.uint8).reshape(4, 4)
            >>> json.loads(audit(image, image).to_json())["inversions"]
            0
        """
        return json.dumps({entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}, allow_nan=False)


def audit(
    content: Any,
    out_or_plan: Any,
    *,
    plan: Plan | None = None,
    mask: Any = None,
    data_range: float | None = None,
    alpha: bool | None = None,
    on_nonfinite: check.OnNonFinite = "raise",
) -> Audit:
    """Say what a plan would do to an image, or what was done to it.

    With a plan every figure is exact. With an output alone the clipped share is estimated from the line through the
    values that were not driven to an end of the range.

    Args:
        content: The image before, or a batch (N, H, W, C).
        out_or_plan: The image after, or the plan to be judged; for a batch also a plan for each image.
        plan: The plan that made the output, so that clipping is counted and not estimated.
        mask: The pixels that count, by default all.
        data_range: Largest value that a float image may hold; 1.0 unless declared.
        alpha: Whether the last channel is alpha; None: if there are four.
        on_nonfinite: ``"raise"`` for NaN and infinite pixels, or ``"mask"`` to leave them out.

    Returns:
        The figures; for a batch a tuple of them.

    Raises:
        ImageError: An image cannot be used, or the two are not of one shape and dtype.
        StatisticsError: The plan does not fit the image.

    Example:
        >>> from recolorist import measure, plan
        >>> ramp = np.arange(256, dtype=np.uint8)[None]
        >>> wide = plan(measure(ramp), measure((ramp > 127) * np.uint8(255)))
        >>> result = audit(ramp, wide)
        >>> result.clipped_overall == result.predicted_clipped_overall == 108 / 256
        True
    """
    planned = isinstance(out_or_plan, Plan) or _are_plans(out_or_plan)
    opened = check.open_image(content, data_range, alpha, "content")
    inside = check.open_mask(mask, opened)
    check.option(on_nonfinite, ("raise", "mask"), "on_nonfinite")
    other = None if planned else _open_output(out_or_plan, opened, alpha)
    plans = _plans_for(opened, out_or_plan if planned else plan)
    if not opened.is_batch:
        return _audit_one(opened, other, plans[0], inside, on_nonfinite)
    count = len(opened.array)
    masks = [None] * count if inside is None else inside
    each = [_audit_one(opened[i], other and other[i], plans[i], masks[i], on_nonfinite) for i in range(count)]
    return cast("Audit", tuple(each))  # type checkers cannot see whether an array is a batch


def audit_written(content: check.Opened, target: NDArray[Any], plan: Plan | None, mask: Mask) -> Audit:
    """Audit an image that was matched, from what was opened and written for that.

    Args:
        content: The image before.
        target: What was written, shaped like ``content.array``.
        plan: The plan that wrote it; None for the methods that have none.
        mask: The pixels that were open to change; None: all.

    Returns:
        The same figures as :func:`audit` of the two images. Nothing is opened or applied a second time.

    Example:
        >>> ramp = check.open_image(np.arange(256, dtype=np.uint8)[None])
        >>> audit_written(ramp, ramp.array, None, None).inversions
        0
    """
    by_levels = plan is not None and _level_numbers(content, plan) is not None
    return _audit_one(content, None if by_levels else _as_opened(content, target), plan, mask, "raise")


def _as_opened(content: check.Opened, target: NDArray[Any]) -> check.Opened:
    return check.Opened(target, content.channels, content.kind, content.data_range, target.shape, from_pil=False)


def _are_plans(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(entry, Plan) for entry in value)


def _plans_for(opened: check.Opened, plans: Any) -> Sequence[Plan | None]:
    count = len(opened.array) if opened.is_batch else 1
    if plans is None or isinstance(plans, Plan):
        return [plans] * count
    if not _are_plans(plans) or len(plans) != count:
        came = f"{len(plans)} plans" if _are_plans(plans) else f"a {type(plans).__name__}"
        raise StatisticsError(f"{came} for {count} image(s); give one plan, or one for each")
    return cast("Sequence[Plan]", plans)


def _open_output(output: Any, content: check.Opened, alpha: bool | None) -> check.Opened:
    opened = check.open_image(output, content.data_range, alpha, "output")
    if (opened.array.shape, opened.kind) != (content.array.shape, content.kind):
        raise ImageError(
            f"content has shape {content.shape} and dtype {content.array.dtype}, output {opened.shape} and "
            f"{opened.array.dtype}; an audit compares an image with its own matched version"
        )
    return opened


def _audit_one(content: check.Opened, output: check.Opened | None, plan: Plan | None, mask: Mask, on_nonfinite: str) -> Audit:
    if not content.is_integer:
        mask = usable_pixels(content, mask, on_nonfinite, checked_range=True)
        _refuse_nonfinite_output(output, mask)
    else:
        check.refuse_levels_above(content, "content")
    check.refuse_empty(mask, "content")
    if plan is not None:
        refuse_other_channels(content, plan)
    numbers = _level_numbers(content, plan) if output is None and plan is not None else None
    if numbers is not None and plan is not None:
        figures, measured = _audit_levels(content, plan, numbers, mask)
    else:
        figures, measured = _audit_written(content, output, plan, mask), None
    if not is_blank(content, mask, measured) or "blank" in figures.flags:
        return figures
    return replace(figures, flags=Flags((*channel, "blank") for channel in figures.flags))


def _audit_written(content: check.Opened, output: check.Opened | None, plan: Plan | None, mask: Mask) -> Audit:
    """Work out the figures of one image from its pixels, which are written first if there is only a plan."""
    if output is None:
        _, target = make_target(content, None)
        apply_opened(content, cast("Plan", plan), target, mask, clip=True)
        output = _as_opened(content, target)
    with np.errstate(all="ignore"):  # undeclared ranges may hold numbers whose squares overflow; those figures become NaN
        return _audit_pixels(content, output, plan, mask)


def _loss(content: check.Opened, output: check.Opened, plan: Plan | None, mask: Mask) -> DetailLoss:
    """Measure the lost detail: against the plan where there is one, else by correlation."""
    if plan is not None:
        return measure_loss(content, plan, mask)
    patches = lay_patches(*content.array.shape[:2])
    after = sample_pixels(output, patches).array
    return compare_patches(sample_pixels(content, patches), after, sample_mask(mask, patches), patches)


def _refuse_nonfinite_output(output: check.Opened | None, mask: Mask) -> None:
    if output is not None and not np.isfinite(output.colour if mask is None else output.colour[mask]).all():
        check.refuse_nonfinite("output")


def _level_numbers(content: check.Opened, plan: Plan) -> Numbers | None:
    """Return gain and offset of each channel if each level of an integer image becomes one other; else None."""
    if not content.is_integer or content.data_range != check.NATURAL_RANGE[content.kind]:
        return None
    return channel_numbers(plan, content.data_range)


def _audit_levels(content: check.Opened, plan: Plan, numbers: Numbers, mask: Mask) -> tuple[Audit, Pairs]:
    """Audit an integer image and a diagonal plan by the levels that occur: no output is needed.

    Returns:
        The figures, and mean and variance of each channel.
    """
    sums = _sum_levels(content, *numbers, mask)
    pixels = sums[0][0]
    _, clipped, inversions, x, y, xx, yy, xy = zip(*sums, strict=True)
    counted = np.array([count / pixels for count in clipped])
    pearson = [_correlation(pixels, *channel[3:]) for channel in sums]
    pooled = _correlation(pixels * len(sums), sum(x), sum(y), sum(xx), sum(yy), sum(xy))
    order = (pearson, pooled, sum(inversions))
    figures = _assembled(counted, counted, order, plan.gain, plan.flags, channel_loss(content, *numbers, mask))
    return figures, exact_pairs(pixels, x, xx)


def _sum_levels(content: check.Opened, gain: list[float], offset: list[float], mask: Mask) -> tuple[tuple[int, ...], ...]:
    """Sum levels and what a diagonal map makes of them, for each channel; see ``map_counts`` among the loops."""
    array, channels = content.array, content.channels
    depth = array.shape[-1]
    if mask is None and content.kind == "B" and depth <= _MOST_DEPTH and array.flags.c_contiguous and min(gain) >= 0:
        beside = depth - channels  # alpha is left as it is
        every = kernels.loops.map_moments(array, depth, gain + [1.0] * beside, offset + [0.0] * beside)
        return cast("tuple[tuple[int, ...], ...]", every[:channels])
    return cast("tuple[tuple[int, ...], ...]", kernels.loops.map_counts(level_counts(content, mask), channels, gain, offset))


def _correlation(count: int, x: int, y: int, xx: int, yy: int, xy: int) -> float:
    """Correlation from exact sums; whole numbers of any size, so nothing is lost before the last step."""
    return _ratio(count * xx - x * x, count * yy - y * y, count * xy - x * y)


def _ratio(xx: float, yy: float, xy: float) -> float:
    """Pearson's ratio from sums of products of deviations; NaN where one of the two is flat."""
    spread = math.sqrt(xx) * math.sqrt(yy)
    if not 0 < spread < math.inf:
        return math.nan
    ratio = xy / spread
    return ratio if -1.0 <= ratio <= 1.0 else 1.0 if ratio > 1.0 else -1.0


def _audit_pixels(content: check.Opened, output: check.Opened, plan: Plan | None, mask: Mask) -> Audit:
    channels = range(content.channels)
    before, after = (colour_values(opened, mask) for opened in (content, output))
    if plan is None:
        counted = np.array([_estimated_clipping(before[:, c], after[:, c], content.data_range) for c in channels])
        predicted = np.full(len(channels), math.nan)
    else:
        predicted, counted = _clipping(before, after, content, plan)
    pearson = [_pearson(before[:, c], after[:, c]) for c in channels]
    inversions = sum(_inversions(before[:, c], after[:, c]) for c in channels)
    gain = plan.gain if plan else np.array([_observed_gain(before[:, c], after[:, c]) for c in channels])
    flags = plan.flags if plan else _observed_flags(before, after)
    order = (pearson, _pearson(before.ravel(), after.ravel()), inversions)
    return _assembled(counted, predicted, order, gain, flags, _loss(content, output, plan, mask))


def _clipping(before: Array, after: Array, content: check.Opened, plan: Plan) -> tuple[Array, Array]:
    """Return the shares that a plan would clip and those counted on the output, per channel."""
    clipped = clipped_values(before, content, plan)
    if not plan.is_linear_space:
        return np.asarray(clipped.mean(axis=0)), np.asarray(clipped_values(before, content, plan, after).mean(axis=0))
    values = unclipped_values(before, content, plan)
    counted = (after != values) & ((after == 0) | (after == content.data_range)) & clipped
    return np.asarray(clipped.mean(axis=0)), np.asarray(counted.mean(axis=0))


def _assembled(
    counted: Array, predicted: Array, order: tuple[list[float], float, int], gain: Array, flags: Flags, loss: DetailLoss
) -> Audit:
    clipped = _mean(counted)
    overall = clipped, clipped if predicted is counted else _mean(predicted)
    pearson, pooled, inversions = order
    flags = add_loss(flags, loss)
    figures = (loss.patches, loss.share, loss.worst, loss.worst_box)
    return Audit(counted, overall[0], predicted, overall[1], np.array(pearson), pooled, inversions, gain, flags, *figures)


def _mean(values: Array) -> float:
    """The bits of ``values.mean()`` at a third of its cost."""
    return float(np.add.reduce(values)) / len(values)


def add_loss(flags: Flags, loss: DetailLoss) -> Flags:
    """Add ``detail_lost`` to the flags of the channels that lost detail in too many patches."""
    shares = loss.by_channel.tolist()
    if max(shares) <= DETAIL_LOST:
        return flags
    pairs = zip(flags, shares, strict=True)
    return Flags((*names, "detail_lost") if lost > DETAIL_LOST and "collapsed" not in names else names for names, lost in pairs)


def _estimated_clipping(before: Array, after: Array, high: float) -> float:
    """Share driven beyond an end of the range, judged by the line through the values that were not."""
    at_end = (after <= 0) | (after >= high)
    if not at_end.any():
        return 0.0
    free_before, free_after = before[~at_end], after[~at_end]
    if np.ptp(free_before) == 0 if free_before.size else True:
        return float((at_end & (before != after)).mean())  # no line to judge by: count what arrived there
    deviations = free_before - free_before.mean()
    slope = (deviations @ (free_after - free_after.mean())) / (deviations @ deviations)
    expected = slope * (before - free_before.mean()) + free_after.mean()
    half_a_level = 0.5 if high > 1 else 0.0
    beyond = (expected < -half_a_level) | (expected > high + half_a_level)
    return float((at_end & beyond).mean())


def _pearson(x: Array, y: Array) -> float:
    """Correlation of two vectors; NaN where one of them is flat."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    dx, dy = x - x.mean(), y - y.mean()
    return _ratio(float((dx * dx).sum()), float((dy * dy).sum()), float((dx * dy).sum()))


def _inversions(before: Array, after: Array) -> int:
    """How often the largest output of one input level exceeds the smallest output of the next level."""
    order = np.lexsort((after, before))
    levels, outputs = before[order], after[order]
    starts = np.flatnonzero(levels[1:] != levels[:-1]) + 1
    return int((outputs[starts - 1] > outputs[starts]).sum())


def _observed_gain(before: Array, after: Array) -> float:
    """Ratio of the deviations; 0 where either is flat, for rounding noise has no gain."""
    if np.ptp(before) == 0 or np.ptp(after) == 0:
        return 0.0
    ratio = float(after.std() / before.std())
    return ratio if math.isfinite(ratio) else math.nan


def _observed_flags(before: Array, after: Array) -> Flags:
    flat, flat_after = np.ptp(before, axis=0) == 0, np.ptp(after, axis=0) == 0
    return Flags(("flat",) if f else ("collapsed",) if a else () for f, a in zip(flat, flat_after, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(number) for number in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
