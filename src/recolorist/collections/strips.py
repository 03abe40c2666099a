"""Match a huge image in two passes of strips: moments in the first, the map in the second.

For integer images the result equals that of the whole image bit for bit, whatever the strips: sums of integers do not depend on
the order, and the map looks at one pixel at a time. The output appears whole or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist.collections.target import Target
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.apply import apply
from recolorist.core.clipping import level_counts
from recolorist.core.moments import Moments, measure_opened
from recolorist.core.plan import Plan
from recolorist.core.spaces import SPACES
from recolorist.errors import ImageError
from recolorist.io.strips import Strips
from recolorist.io.write import refuse_suffix_of_bands, write_bands

__all__ = ["apply_strips", "count_strips", "measure_strips", "rule_in_use", "write_strips"]


def write_strips(
    target: Target,
    name: str,
    source: Strips,
    plan: Plan | None,
    mask: str | Strips | None,
    *,
    pyramid: bool = False,
) -> None:
    """Write an image through a plan (None: as it is) as tiled TIFF, NPY or Zarr, by the name's suffix."""
    if isinstance(mask, Strips):
        refuse_other_size(source, mask)
    if source.orientation != 1:
        raise ImageError("it is stored lying on its side, which is not turned in strips; turn it upright first")
    suffix = Path(name).suffix.lower()
    refuse_suffix_of_bands(suffix)

    def make(path: Path) -> None:
        bands = (pixels for _, pixels in source.bands()) if plan is None else apply_strips(source, plan, mask)
        write_bands(path, suffix, bands, source, pyramid=pyramid)

    target.place_made(name, make)


def rule_in_use(source: Strips, rule: str | None, measured: Moments) -> str | None:
    """Return the foreground rule that an image was measured with; None if it chose all pixels or too few to be used.

    A rule that finds next to nothing counts as no mask, as it does for whole images; then all pixels were measured.
    """
    return None if measured.count == source.shape[0] * source.shape[1] else rule


def measure_strips(source: Strips, mask: str | Strips | None = None, space: str = "rgb") -> Moments:
    """Moments of the whole image; ``mask`` is the name of a foreground rule, or an image of the same size (0 is outside).

    >>> image = np.random.default_rng(0).integers(0, 256, (700, 40, 3), dtype=np.uint8)
    >>> from recolorist import measure
    >>> from recolorist.io.strips import ArrayStrips
    >>> measure_strips(ArrayStrips(image, step=100)) == measure(image)
    True
    """
    check.option(space, SPACES, "space")
    inside: list[Moments] = []
    everything: list[Moments] = []
    for _, opened, chosen in _masked_bands(source, mask):
        if chosen is None or chosen.any():
            inside.append(measure_opened(opened, chosen, space))
        if isinstance(mask, str):
            everything.append(measure_opened(opened, None, space))
    return _added(inside, everything, source)


def count_strips(source: Strips) -> NDArray[np.uint64]:
    """Histogram of the whole integer image, (channels, levels)."""
    total: NDArray[np.uint64] | None = None
    for _, pixels in source.bands():
        counts = level_counts(check.open_image(pixels, source.data_range), None)
        total = counts if total is None else total + counts
    if total is None:
        raise ImageError("it has no rows")
    return total


def apply_strips(source: Strips, plan: Plan, mask: str | Strips | None = None) -> Iterator[NDArray[Any]]:
    """The image through the plan, band after band; pixels outside ``mask`` stay as they are."""
    for pixels, _, chosen in _masked_bands(source, mask):
        yield apply(pixels, plan, mask=chosen, data_range=source.data_range)


def _masked_bands(
    source: Strips, mask: str | Strips | None
) -> Iterator[tuple[NDArray[Any], check.Opened, NDArray[np.bool_] | None]]:
    """Yield each band as read, as a checked image, and the mask of the rule or the mask file."""
    rule = foreground.PIXELS[check.option(mask, foreground.RULES, "mask")] if isinstance(mask, str) else None
    for start, pixels in source.bands():
        opened = check.open_image(pixels, source.data_range)
        if rule is not None:
            yield pixels, opened, rule(opened.colour, opened.data_range)
        else:
            yield pixels, opened, mask_rows(mask, opened, start) if isinstance(mask, Strips) else None


def mask_rows(mask: Strips, opened: check.Opened, start: int) -> NDArray[np.bool_] | None:
    """The rows of a mask file that belong to a band."""
    rows = mask.rows(start, start + opened.array.shape[0])
    return check.open_mask(rows[..., 0] if rows.shape[-1] == 1 else rows, opened)


def refuse_other_size(source: Strips, mask: Strips | None) -> None:
    """A mask belongs to its image."""
    if mask is not None and mask.shape[:2] != source.shape[:2]:
        raise ImageError(f"the mask is {mask.shape[0]} x {mask.shape[1]} and the image {source.shape[0]} x {source.shape[1]}")


def _added(inside: list[Moments], everything: list[Moments], source: Strips) -> Moments:
    """The sum of all bands; a rule that found next to nothing is not used, as for whole images."""
    found = sum(moments.count for moments in inside)
    use = everything if everything and found < foreground.LEAST * math.prod(source.shape[:2]) else inside
    if not use:
        raise ImageError("the mask selects no pixel; check that True or 255 marks the inside")
    total = use[0]
    for moments in use[1:]:
        total = total + moments
    return total
