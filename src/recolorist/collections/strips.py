"""Match a huge image in two passes of strips: moments in the first, the map in the second.

For 8-bit images, and for 16-bit images in linear spaces, the result equals that of the whole image bit for bit, whatever the
strips. Their sums are those of whole numbers, which do not depend on the order, and the map changes each pixel by itself. Other
sums may differ in the last bits. The output appears whole or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist.collections.target import Target
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.apply import apply
from recolorist.core.blank import BAND, SHARE, are_blank_levels, is_low
from recolorist.core.clipping import level_counts, predicted_share
from recolorist.core.detail import DetailLoss, Patches, lay_patches
from recolorist.core.disc import Disc, Outline, find_disc, find_outline
from recolorist.core.limits import Fit, fit_to_limits, sampled_loss
from recolorist.core.moments import Moments, measure_opened
from recolorist.core.options import MatchOptions
from recolorist.core.plan import ChannelMap, Plan, plan_map
from recolorist.core.spaces import SPACES
from recolorist.core.style_change import StyleChange, resolve_style
from recolorist.errors import ImageError
from recolorist.io.strips import Strips
from recolorist.io.write import refuse_suffix_of_bands, write_bands

__all__ = [
    "MeasuredStrips",
    "StripLimits",
    "apply_strips",
    "are_strips_blank",
    "count_strips",
    "measure_strips",
    "rule_in_use",
    "write_strips",
]


def write_strips(
    target: Target,
    name: str,
    source: Strips,
    plan: Plan | None,
    mask: str | Strips | None,
    *,
    pyramid: bool = False,
) -> None:
    """Write an image through a plan (None: as it is) as tiled TIFF, NPY or Zarr, by the name's suffix.

    Args:
        target: The folder that is written into.
        name: Its path below the target.
        source: The image, read by rows.
        plan: The map.
        mask: The pixels that count; None: all.
        pyramid: Whether smaller levels are added.

    Raises:
        ImageError: The mask has another size, or the image lies on its side.
    """
    if isinstance(mask, Strips) and mask.shape[:2] != source.shape[:2]:
        sizes = " and the image ".join(f"{part.shape[0]} x {part.shape[1]}" for part in (mask, source))
        raise ImageError(f"the mask is {sizes}; they must agree")
    if source.orientation != 1:
        raise ImageError("its orientation tag rotates or mirrors it, which is not done in strips; save it upright first")
    suffix = Path(name).suffix.lower()
    refuse_suffix_of_bands(suffix)

    def make(path: Path) -> None:
        bands = (pixels for _, pixels in source.bands()) if plan is None else apply_strips(source, plan, mask)
        write_bands(path, suffix, bands, source, pyramid=pyramid)

    target.place_made(name, make)


def rule_in_use(source: Strips, rule: str | None, measured: Moments) -> str | None:
    """Return the foreground rule that an image was measured with; None if it chose all pixels or too few to be used.

    A rule that finds next to nothing counts as no mask, as it does for whole images; then all pixels were measured.

    Args:
        source: The image.
        rule: The rule that was asked for.
        measured: Its moments.

    Returns:
        The name of the rule, or None.
    """
    return None if measured.count == source.shape[0] * source.shape[1] else rule


def measure_strips(source: Strips, mask: str | Strips | None = None, space: str = "rgb") -> Moments:
    """Measure the whole image; ``mask`` is the name of a foreground rule, or an image of the same size (0 is outside).

    Args:
        source: The image, read by rows.
        mask: The pixels that count; None: all.
        space: The space of the moments.

    Returns:
        The moments.

    Example:
        >>> image = np.random.default_rng(0).integers(0, 256, (700, 40, 3), dtype=np.uint8)
        >>> from recolorist import measure
        >>> from recolorist.io.strips import ArrayStrips
        >>> measure_strips(ArrayStrips(image, step=100)) == measure(image)
        True
    """
    check.option(space, SPACES, "space")
    inside: list[Moments] = []
    everything: list[Moments] = []
    for _, opened, inside_band in _read_bands(source, mask):
        if inside_band is None or inside_band.any():
            inside.append(measure_opened(opened, inside_band, space))
        if isinstance(mask, str):
            everything.append(measure_opened(opened, None, space))
    return _add_moments(inside, everything, source)


def are_strips_blank(source: Strips, rule: str | None, moments: Moments) -> bool:
    """Say whether an image is blank that is read in strips, as :func:`recolorist.core.blank.is_blank` does for others.

    Args:
        source: The image.
        rule: The foreground rule that chose the measured pixels; an image without foreground is blank.
        moments: What :func:`measure_strips` returned.

    Returns:
        True for a blank image.
    """
    if rule is not None and moments.count == source.shape[0] * source.shape[1] and _finds_nothing(source, rule):
        return True
    if moments.space == "rgb" and not is_low(moments):
        return False
    if source.dtype.kind != "u":
        return _are_floats_blank(source, rule, moments if moments.space == "rgb" else measure_strips(source, rule))
    counts = count_strips(source, rule)[None]
    return bool(are_blank_levels(counts if source.data_range is None else counts[..., : int(source.data_range) + 1])[0])


def _are_floats_blank(source: Strips, rule: str | None, moments: Moments) -> bool:
    """Say whether a float image is blank, from its moments in RGB and, where they are low, from its values."""
    if math.isinf(moments.data_range):
        return not moments.cov.diagonal().any()
    if not is_low(moments):
        return False
    count, near = 0, np.zeros(moments.channels)
    for _, opened, inside_band in _read_bands(source, rule):
        pixels = opened.colour if inside_band is None else opened.colour[inside_band]
        values = pixels.reshape(-1, opened.channels).astype(np.float64)
        near += (np.abs(values - moments.mean) <= BAND * moments.data_range).sum(axis=0)
        count += len(values)
    return bool((near >= SHARE * count).all())


def _finds_nothing(source: Strips, rule: str) -> bool:
    """Whether a rule finds so little that all pixels are measured instead."""
    inside = 0
    for _, _, inside_band in _read_bands(source, rule):
        inside += 0 if inside_band is None else int(np.count_nonzero(inside_band))
    return inside < foreground.LEAST * source.shape[0] * source.shape[1]


def count_strips(source: Strips, mask: str | Strips | None = None) -> NDArray[np.uint64]:
    """Count the levels of a whole integer image, (channels, levels); only pixels inside the mask count.

    Args:
        source: The image, read by rows.
        mask: The pixels that count; None: all.

    Returns:
        Counts, (channels, levels).

    Raises:
        ImageError: The image has no rows.
    """
    total: NDArray[np.uint64] | None = None
    for _, opened, inside_band in _read_bands(source, mask):
        counts = level_counts(opened, inside_band)
        total = counts if total is None else total + counts
    if total is None:
        raise ImageError("it has no rows; remove it, or write it again")
    return total


def apply_strips(source: Strips, plan: Plan, mask: str | Strips | None = None) -> Iterator[NDArray[Any]]:
    """The image through the plan, band after band; pixels outside ``mask`` stay as they are.

    Args:
        source: The image, read by rows.
        plan: The map.
        mask: The pixels that count; None: all.

    Yields:
        Bands of the output.
    """
    for pixels, _, inside_band in _read_bands(source, mask):
        yield apply(pixels, plan, mask=inside_band, data_range=source.data_range)


class StripLimits:
    """The limits of an image that is read in strips; calling it says whether a map keeps them.

    Args:
        source: The image.
        mask: The rule or mask file outside of which pixels stay as they are; None: all are changed.
        options: The options that hold the limits.
    """

    def __init__(self, source: Strips, mask: str | Strips | None, options: MatchOptions) -> None:
        self.source, self.mask, self.options = source, mask, options

    def __call__(self, numbers: ChannelMap | Plan) -> bool:
        """Say whether a map keeps the limits."""
        plan = numbers if isinstance(numbers, Plan) else numbers.plan()
        if self.options.max_clip is not None and self.count_clipped(plan) > self.options.max_clip:
            return False
        return self.options.max_loss is None or self.loss(plan).share <= self.options.max_loss

    def count_clipped(self, plan: Plan) -> float:
        """Count the share of values that a plan clips: from the levels where they are enough, else by another pass.

        Args:
            plan: The map.

        Returns:
            The share of values.
        """
        if self.source.dtype.kind == "u" and plan.is_diagonal and plan.is_linear_space:
            return float(plan.predicted_clipping(self._counts).mean())
        values = clipped = 0.0
        for _, opened, inside_band in _read_bands(self.source, self.mask):
            count = opened.array[..., 0].size if inside_band is None else int(inside_band.sum())
            if count:
                values, clipped = values + count, clipped + count * predicted_share(opened, plan, inside_band)
        return clipped / max(values, 1.0)

    def loss(self, plan: Plan) -> DetailLoss:
        """Measure the detail that a plan takes from the image.

        Args:
            plan: The map.

        Returns:
            The loss of every patch.
        """
        patches, sample, inside = self._sample
        return sampled_loss(sample, plan, inside, patches)

    @cached_property
    def _counts(self) -> NDArray[np.uint64]:
        return count_strips(self.source, self.mask)[:, : int(self.source.data_range or np.iinfo(self.source.dtype).max) + 1]

    @cached_property
    def _sample(self) -> tuple[Patches, check.Opened, NDArray[np.bool_] | None]:
        """Read the pixels that stand for the patches, in one pass."""
        patches = lay_patches(*self.source.shape[:2])
        inside = None if self.mask is None else np.ones(patches.lines.shape, np.bool_)
        start, sample = 0, None
        for _, opened, inside_band in _read_bands(self.source, self.mask):
            stop = start + opened.array.shape[0]
            in_band = (patches.lines >= start) & (patches.lines < stop)
            where = patches.lines[in_band] - start, patches.places[in_band]
            if sample is None:
                pixels = np.zeros((*patches.lines.shape, opened.channels), opened.array.dtype)
                sample = check.Opened(pixels, opened.channels, opened.kind, opened.data_range, pixels.shape, from_pil=False)
            sample.array[in_band] = opened.colour[where]
            if inside is not None and inside_band is not None:
                inside[in_band] = inside_band[where]
            start = stop
        if sample is None:
            raise ImageError("it has no rows; remove it, or write it again")
        return patches, sample, inside


class MeasuredStrips:
    """An image that is read in strips, measured when it is asked for.

    Args:
        source: The image.
        mask: A foreground rule or a mask file; only its pixels are measured.
        options: How the image is matched.
    """

    def __init__(self, source: Strips, mask: str | Strips | None, options: MatchOptions) -> None:
        self.source, self.mask, self.options = source, mask, options

    @cached_property
    def moments(self) -> Moments:
        """The moments of the pixels inside the mask."""
        return measure_strips(self.source, self.mask, self.options.measured_space)

    @cached_property
    def changed(self) -> str | Strips | None:
        """The rule or mask file outside of which pixels stay as they are; None: all are changed."""
        if self.options.apply_to == "all" or not isinstance(self.mask, str):
            return None if self.options.apply_to == "all" else self.mask
        return rule_in_use(self.source, self.mask, self.moments)

    @cached_property
    def limits(self) -> StripLimits:
        """What says whether a map keeps the limits of the options."""
        return StripLimits(self.source, self.changed, self.options)

    def is_changed_part_blank(self) -> bool:
        """Say whether the pixels that are changed hold nothing; this measures them again."""
        rule = self.changed if isinstance(self.changed, str) else None
        return are_strips_blank(self.source, rule, measure_strips(self.source, rule))

    def fit(self, styles: Sequence[Moments | StyleChange], options: MatchOptions) -> Fit:
        """Plan the map to the first of the styles that keeps the limits, else to the last one as closely as they allow.

        Args:
            styles: The style, and others to try if a limit is exceeded.
            options: How to match.

        Returns:
            The map, and what was given up for the limits.
        """
        data_range = self.moments.data_range
        goals = [resolve_style(style, self.moments, data_range, options) for style in styles]
        if options.is_limited:
            return fit_to_limits(self.moments, goals, options, data_range, self.limits)
        return Fit(plan_map(self.moments, goals[0], options, data_range), options.strength)


def _read_bands(
    source: Strips, mask: str | Strips | None
) -> Iterator[tuple[NDArray[Any], check.Opened, NDArray[np.bool_] | None]]:
    """Yield each band as read, as a checked image, and the mask of the rule or the mask file."""
    rule = foreground.PIXELS[check.option(mask, foreground.RULES, "mask")] if isinstance(mask, str) else None
    disc = _find_disc(source) if mask in foreground.DISCS else None
    for start, pixels in source.bands():
        opened = check.open_image(pixels, source.data_range)
        if disc is not None:
            yield pixels, opened, disc.rows(start, start + opened.array.shape[0], opened.array.shape[1])
        elif rule is not None:
            yield pixels, opened, rule(opened.colour, opened.data_range)
        else:
            yield pixels, opened, _mask_rows(mask, opened, start) if isinstance(mask, Strips) else None


def _find_disc(source: Strips) -> Disc | None:
    """Find the disc of a fundus photograph by a pass of its own; None where there is none, as for whole images."""
    outline: Outline | None = None
    bright = 0
    for _, pixels in source.bands():
        opened = check.open_image(pixels, source.data_range)
        below = find_outline(opened.colour, opened.data_range)
        outline = below if outline is None else outline.join(below)
        bright += int(np.count_nonzero(foreground.PIXELS["fundus"](opened.colour, opened.data_range)))
    if outline is None or bright < foreground.LEAST * math.prod(source.shape[:2]):
        return None
    return find_disc(outline)


def _mask_rows(mask: Strips, opened: check.Opened, start: int) -> NDArray[np.bool_] | None:
    """The rows of a mask file that belong to a band."""
    rows = mask.rows(start, start + opened.array.shape[0])
    return check.open_mask(rows[..., 0] if rows.shape[-1] == 1 else rows, opened)


def _add_moments(inside: list[Moments], everything: list[Moments], source: Strips) -> Moments:
    """The sum of all bands; a rule that found next to nothing is not used, as for whole images."""
    count = sum(moments.count for moments in inside)
    use = everything if everything and count < foreground.LEAST * math.prod(source.shape[:2]) else inside
    if not use:
        raise ImageError("the mask selects no pixel; check that True or 255 marks the inside")
    total = use[0]
    for moments in use[1:]:
        total = total + moments
    return total
