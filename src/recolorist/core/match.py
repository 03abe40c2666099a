"""Matching: measure, plan, apply in one call, and the two methods that need the style's pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist.core import histograms, kernels
from recolorist.core import image as check
from recolorist.core.apply import (
    apply_opened,
    finished,
    keep_outside,
    limits,
    make_target,
    refuse_unclipped_integers,
    unit_pixels,
    usable_pixels,
    write_affine,
    write_floats,
)
from recolorist.core.batches import Batch
from recolorist.core.gains import Pairs, diagonal_map, mean_and_variance, refuse_collapse
from recolorist.core.moments import Moments, float_pairs, integer_sums, measure_opened, refuse_levels_above, staged
from recolorist.core.options import MATCHERS, EpsMode, MatchOptions, OnNonFinite, match_options
from recolorist.core.plan import decide, refuse_channels
from recolorist.core.spaces import SPACES
from recolorist.errors import ImageError, StatisticsError

__all__ = ["MATCHERS", "diagonal_moments", "level_counts", "match"]

Mask = NDArray[np.bool_] | None


@dataclass(slots=True)
class _Style:
    """The style of one image: its moments, or an opened image with its mask."""

    moments: Moments | None
    opened: check.Opened | None
    mask: Mask


def match(
    content: Any,
    style: Any,
    method: str = "mean_std",
    space: str = "rgb",
    mask: Any = None,
    style_mask: Any = None,
    strength: float = 1.0,
    *,
    max_gain: float = 10.0,
    eps_mode: EpsMode = "exact",
    strict: bool = False,
    data_range: float | None = None,
    style_range: float | None = None,
    clip: bool = True,
    apply_to: str = "all",
    on_nonfinite: OnNonFinite = "raise",
    alpha: bool | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Give the content the colour statistics of the style: an image, or the :class:`Moments` of one.

    ``mask`` and ``style_mask`` choose the pixels that are measured; all pixels are changed unless ``apply_to="mask"``,
    which leaves the rest byte for byte. ``data_range`` and ``style_range`` declare the ranges of float images. A batch
    takes one style, or one for each image. The other options are those of :func:`plan` and :func:`apply`.

    >>> rng = np.random.default_rng(0)
    >>> content = rng.integers(60, 120, (32, 48, 3), dtype=np.uint8)
    >>> style = rng.integers(100, 180, (40, 30, 3), dtype=np.uint8)
    >>> bool(abs(match(content, style).mean() - style.mean()) < 0.1)
    True
    """
    options = match_options(method, space, strength, max_gain, eps_mode, strict, clip, apply_to, on_nonfinite)
    opened = check.open_image(content, data_range, alpha, "content")
    refuse_unclipped_integers(opened, clip=clip)
    inside = check.open_mask(mask, opened)
    styles = _styles(style, style_mask, style_range, alpha, options, len(opened.array) if opened.is_batch else None)
    result, target = make_target(opened, out)
    if opened.is_batch:
        for i, one in enumerate(styles):
            _match_one(opened[i], None if inside is None else inside[i], one, target[i], options)
    else:
        _match_one(opened, inside, next(styles), target, options)
    return finished(opened, result, out)


def _styles(
    style: Any, style_mask: Any, style_range: float | None, alpha: bool | None, options: MatchOptions, count: int | None
) -> Iterator[_Style]:
    """One style for each content image; a single style is measured once."""
    if isinstance(style, (Moments, Batch)) and style_mask is not None:
        raise StatisticsError("style_mask came with moments, which have no pixels to mask; measure(style, mask) instead")
    if isinstance(style, Moments):
        if options.needs_pixels:
            raise StatisticsError(f"method={options.method!r} needs the style's pixels, and moments came; pass the image")
        return iter([_Style(style, None, None)] * (1 if count is None else count))
    if isinstance(style, Batch):
        _refuse_count(len(style), count)
        if not all(isinstance(moments, Moments) for moments in style):
            raise StatisticsError("the style is a batch of something else than moments; pass what measure() returns")
        return iter([_Style(moments, None, None) for moments in style])
    opened = check.open_image(style, style_range, alpha, "style")
    inside = check.open_mask(style_mask, opened, "style_mask")
    if opened.is_batch:
        _refuse_count(len(opened.array), count)
        parts = [_Style(None, opened[i], None if inside is None else inside[i]) for i in range(len(opened.array))]
        return iter(parts)
    if count is not None and not options.needs_pixels:
        moments = measure_opened(opened, inside, options.space, options.on_nonfinite, "style")
        return iter([_Style(moments, None, None)] * count)
    return iter([_Style(None, opened, inside)] * (1 if count is None else count))


def _refuse_count(styles: int, count: int | None) -> None:
    if styles != count:
        contents = "one image" if count is None else f"{count} images"
        raise ImageError(f"{styles} styles for {contents}; give one style, or a batch with one for each image of a batch")


def _match_one(content: check.Opened, mask: Mask, style: _Style, target: NDArray[Any], options: MatchOptions) -> None:
    if options.needs_pixels:
        _match_pixels(content, mask, style, target, options)
    elif options.by_channel and _by_channel_alone(content, mask, options):
        _match_channels(content, mask, style, target, options)
    else:
        _match_affine(content, mask, style, target, options)


def _match_affine(content: check.Opened, mask: Mask, style: _Style, target: NDArray[Any], options: MatchOptions) -> None:
    """Measure, plan, apply: the general route."""
    space, on_nonfinite = options.space, options.on_nonfinite
    open_range = content if options.clip else _without_range(content, space)
    measured = measure_opened(open_range, mask, space, on_nonfinite, "content")
    goal = style.moments
    if goal is None and style.opened is not None:
        goal = measure_opened(style.opened, style.mask, space, on_nonfinite, "style")
    if measured.data_range != content.data_range and SPACES[space].is_linear:
        measured = Moments(measured.count, measured.mean, measured.cov, content.data_range, measured.space)
    decided = decide(measured, goal, options)  # type: ignore[arg-type]  # one of the two is always there
    keep = mask if options.apply_to == "mask" else None
    if not content.is_integer and (on_nonfinite == "mask" or (mask is not None and keep is None)):
        keep = usable_pixels(content, keep, on_nonfinite, checked_range=options.clip)  # pixels that were not measured
    apply_opened(content, decided, target, keep, clip=options.clip)


def _match_channels(content: check.Opened, mask: Mask, style: _Style, target: NDArray[Any], options: MatchOptions) -> None:
    """The same numbers as `_match_affine`, without the cross products that RGB does not need and with little overhead."""
    measured = _pairs(content, mask, "content")
    other = style.opened
    if style.moments is not None:
        goal = _checked_pairs(style.moments, content)
    elif other is not None and other.data_range == content.data_range and _by_channel_alone(other, style.mask, options):
        goal = _pairs(other, style.mask, "style")
    else:
        moments = measure_opened(other, style.mask, "rgb", options.on_nonfinite, "style")  # type: ignore[arg-type]
        goal = _checked_pairs(moments, content)
    refuse_channels(len(measured), len(goal), "rgb")
    gain, offset, flags = diagonal_map(measured, goal, options)
    if options.strict:
        refuse_collapse(flags)
    if not content.is_integer and not any(offset) and gain == [1.0] * len(gain):
        target[...] = content.array  # as it is, the sign of a zero included
        return
    write_affine(content, target, gain, offset, limits(content, clip=options.clip))
    keep_outside(content, target, mask if options.apply_to == "mask" else None)


def _by_channel_alone(opened: check.Opened, mask: Mask, options: MatchOptions) -> bool:
    """Whether the loops can measure each channel on its own: all integers; floats that lie in memory as they count."""
    array = opened.array
    if opened.is_integer:
        return True
    whole = mask is None and opened.kind in "fd" and array.shape[-1] == opened.channels
    return whole and array.flags.c_contiguous and array.dtype.isnative and options.clip and options.on_nonfinite == "raise"


def _pairs(opened: check.Opened, mask: Mask, name: str) -> Pairs:
    if opened.is_integer:
        return diagonal_moments(opened, mask, name)
    return float_pairs(opened.array, opened.data_range, name)


def diagonal_moments(opened: check.Opened, mask: Mask, name: str) -> Pairs:
    """Mean and variance per channel of an integer image: all that mean–std matching in RGB needs."""
    check.refuse_empty(mask, name)
    refuse_levels_above(opened, name)
    count, sums, squares = integer_sums(opened, mask, 1)
    square = count * count
    # Python divides integers of any size correctly rounded, so these are the float64 nearest to the exact values
    return [(s / count, (count * q - s * s) / square) for s, q in zip(sums, squares, strict=True)]


def _checked_pairs(style: Moments, content: check.Opened) -> Pairs:
    if style.space != "rgb":
        raise StatisticsError(f"the style was measured in {style.space!r}; matching in 'rgb' needs moments of RGB")
    pairs = mean_and_variance(style, content.data_range)
    if not content.is_integer and not all(math.isfinite(number) for pair in pairs for number in pair):
        style.rescaled(content.data_range)  # refuses, with the reason
    return pairs


def _without_range(content: check.Opened, space: str) -> check.Opened:
    """clip=False: the range is not enforced, unless a space must know where white is."""
    if not SPACES[space].is_linear:
        return content
    return check.Opened(content.array, content.channels, content.kind, math.inf, content.shape, content.from_pil)


def _match_pixels(content: check.Opened, mask: Mask, style: _Style, target: NDArray[Any], options: MatchOptions) -> None:
    """Histogram methods: channel by channel on the pixels themselves."""
    if style.opened is None:
        raise StatisticsError(f"method={options.method!r} needs the style's pixels, and moments came; pass the image")
    other = style.opened
    refuse_channels(content.channels, other.channels, options.space)
    if options.space != "rgb":
        check.refuse_unknown_white(content, options.space, "content")
        check.refuse_unknown_white(other, options.space, "style")
    if math.isinf(content.data_range) != math.isinf(other.data_range):
        raise StatisticsError("only one of content and style declares a range; declare data_range and style_range for both")
    measure_opened(content, mask, "rgb", options.on_nonfinite, "content")  # refuses what cannot be measured
    measure_opened(other, style.mask, "rgb", options.on_nonfinite, "style")
    inside = mask if content.is_integer else usable_pixels(content, mask, options.on_nonfinite, checked_range=options.clip)
    style_inside = style.mask if other.is_integer else usable_pixels(other, style.mask, options.on_nonfinite, checked_range=True)
    target[...] = content.array
    if options.strength > 0 and not _same_pixels(content, inside, other, style_inside):
        changed = _by_table if content.is_integer and other.is_integer and _plain_histogram(options) else _by_channel
        changed(content, inside, other, style_inside, target, options)
    finite = None if inside is mask else np.isfinite(content.colour).all(axis=-1)
    keep_outside(content, target, inside if options.apply_to == "mask" else finite)


def _plain_histogram(options: MatchOptions) -> bool:
    return options.method == "histogram" and options.space == "rgb"


def _same_pixels(content: check.Opened, mask: Mask, style: check.Opened, style_mask: Mask) -> bool:
    """An image matched to itself stays as it is, in every space."""
    same_type = content.kind == style.kind and content.data_range == style.data_range
    return same_type and mask is None and style_mask is None and np.array_equal(content.colour, style.colour)


def _by_table(
    content: check.Opened, mask: Mask, style: check.Opened, style_mask: Mask, target: NDArray[Any], options: MatchOptions
) -> None:
    counts, style_counts = level_counts(content, mask), level_counts(style, style_mask)
    levels = np.arange(counts.shape[1])
    scale = content.data_range / style.data_range
    for c in range(content.channels):
        table = histograms.level_table(counts[c], style_counts[c], scale)
        blended = levels + options.strength * (table - levels) if options.strength < 1 else table
        rounded = np.clip(np.rint(blended), 0, content.data_range).astype(content.array.dtype)
        target[..., c] = rounded[content.array[..., c]]


def level_counts(opened: check.Opened, mask: Mask) -> NDArray[np.uint64]:
    """Histogram of an integer image, shaped (channels, 256 or 65536)."""
    counts = np.zeros((opened.channels, 256 if opened.kind == "B" else 65536), np.uint64)
    direct = mask is None and opened.array.flags.c_contiguous and opened.array.dtype.isnative
    for piece in [opened.array] if direct else staged(opened.colour, mask):
        kernels.loops.histogram(piece, piece.dtype.itemsize, piece.shape[-1], counts)
    if mask is not None:
        counts[:, 0] -= np.uint64(mask.size - np.count_nonzero(mask))  # staged as zeros
    return counts


def _by_channel(
    content: check.Opened, mask: Mask, style: check.Opened, style_mask: Mask, target: NDArray[Any], options: MatchOptions
) -> None:
    """Convert to the space, match each channel, convert back."""
    pixels = _working_pixels(content, options.space)
    style_pixels = _working_pixels(style, options.space)
    if options.space == "rgb" and content.data_range != style.data_range:  # both finite, or they would be equal
        style_pixels = style_pixels * (content.data_range / style.data_range)
    chosen = style_pixels.reshape(-1, style.channels) if style_mask is None else style_pixels[style_mask]
    matched = np.empty(pixels.shape, np.float64)
    for c in range(content.channels):
        if options.method == "histogram":
            matched[..., c] = histograms.match_levels(pixels[..., c], mask, chosen[:, c])
        else:
            matched[..., c] = histograms.match_exactly(pixels[..., c], mask, chosen[:, c])
    if options.strength < 1:
        matched = pixels + options.strength * (matched - pixels)
    if options.space != "rgb":
        matched = SPACES[options.space].inverse(matched) * content.data_range
    write_floats(content, target[..., : content.channels], matched, limits(content, clip=options.clip))
    if options.method == "exact_histogram":
        keep_outside(content, target, mask)  # pixels outside have no rank


def _working_pixels(opened: check.Opened, space: str) -> NDArray[Any]:
    """Pixels as the method sees them: in their own units in RGB, converted elsewhere; unusable ones as zero."""
    if space == "rgb" and opened.is_integer:
        return opened.colour
    if space != "rgb":
        return SPACES[space].forward(unit_pixels(opened, opened.colour))
    pixels = opened.colour.astype(np.float64)
    pixels[~np.isfinite(pixels)] = 0.0
    return pixels
