"""Apply a plan to an image. Every decision was made in the plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core import kernels
from recolorist.core.converted import map_pixels
from recolorist.core.kernels import fallback as kernels_numpy
from recolorist.core.kernels.fallback_math import clip
from recolorist.core.plan import Plan
from recolorist.errors import ImageError, OptionError, StatisticsError

__all__ = [
    "apply",
    "apply_opened",
    "finished",
    "keep_outside",
    "limits",
    "make_target",
    "refuse_other_channels",
    "refuse_overflow",
    "refuse_unclipped_integers",
    "unit_pixels",
    "usable_pixels",
    "write_affine",
    "write_floats",
]

_STAGE: Final = 32_768  # values worked on at a time where pixels cannot go straight through the loops


def apply(
    image: Any,
    plan: Plan | Sequence[Plan],
    out: NDArray[Any] | None = None,
    mask: Any = None,
    *,
    data_range: float | None = None,
    clip: bool = True,
    alpha: bool | None = None,
    on_nonfinite: check.OnNonFinite = "raise",
) -> Any:
    """Apply a plan to an image; the input is never written to.

    Integers are rounded half to even and clipped to their range; in RGB they equal the formula in float64, half-way cases
    included.

    Args:
        image: An image, or a batch (N, H, W, C).
        plan: What :func:`plan` decided; for a batch one plan, or one for each image.
        out: An array to write to; it must overlap no input.
        mask: The pixels to change, by default all. The others stay byte for byte.
        data_range: Largest value that a float image may hold; 1.0 unless declared.
        clip: Clip outputs to the range. False is for float images only, and lifts the check of the range too.
        alpha: Whether the last channel is alpha; None: if there are four.
        on_nonfinite: ``"raise"`` for NaN and infinite pixels, or ``"mask"`` to leave them as they are.

    Returns:
        An image of the same type, shape, dtype and memory layout.

    Raises:
        ImageError: The image or ``out`` cannot be used.
        StatisticsError: The plan is for another number of channels or another range.

    Example:
        >>> from recolorist import measure, plan
        >>> content, style = np.array([[0, 2]], np.uint8), np.array([[10, 31]], np.uint8)
        >>> apply(content, plan(measure(content), measure(style), max_gain=20))
        array([[10, 31]], dtype=uint8)
    """
    opened = check.open_image(image, data_range, alpha)
    inside = check.open_mask(mask, opened)
    check.option(on_nonfinite, ("raise", "mask"), "on_nonfinite")
    refuse_unclipped_integers(opened, clip=check.truth(clip, "clip"))
    result, target = make_target(opened, out, mask)
    for single, output, single_plan, changed in _iterate_images(opened, target, plan, inside):
        if single.is_integer:
            check.refuse_levels_above(single)
        else:
            changed = usable_pixels(single, changed, on_nonfinite, checked_range=clip)  # noqa: PLW2901 - without what is not finite
        apply_opened(single, single_plan, output, changed, clip=clip)
    return finished(opened, result, out)


def apply_opened(opened: check.Opened, plan: Plan, target: NDArray[Any], mask: NDArray[np.bool_] | None, *, clip: bool) -> None:
    """Write one image through a plan; ``target`` is shaped (H, W, C) like ``opened.array``."""
    refuse_other_channels(opened, plan)
    bounds = limits(opened, clip=clip)
    gain, offset = plan.numbers
    if gain.count(1.0) == plan.channels == len(gain) and not any(offset):
        target[...] = opened.array
        return
    if not plan.is_linear_space:
        _write_through_space(opened, plan, target, bounds)
    elif opened.data_range == plan.data_range:
        write_affine(opened, target, gain, offset, bounds)
    else:
        write_affine(opened, target, gain, plan.offset_for(opened.data_range).tolist(), bounds)
    keep_outside(opened, target, mask)
    if math.isinf(bounds[1]):
        refuse_overflow(opened, target)


def refuse_other_channels(opened: check.Opened, plan: Plan) -> None:
    """Refuse a plan for another number of channels than the image has."""
    if plan.channels != opened.channels:
        raise StatisticsError(
            f"the plan is for {plan.channels} channel(s) and the image has {opened.channels}; measure the image you apply it to"
        )


def refuse_overflow(opened: check.Opened, target: NDArray[Any]) -> None:
    """Refuse results that a float type without a range cannot hold."""
    if opened.kind == "e" and (np.isinf(target) & np.isfinite(opened.array)).any():
        raise ImageError("results exceed 65504, the largest number of float16; convert the image to float32")


def limits(opened: check.Opened, *, clip: bool) -> tuple[float, float]:
    """Return the interval that outputs are clipped to; an undeclared range clips nothing."""
    return (0.0, opened.data_range) if clip and not math.isinf(opened.data_range) else (-math.inf, math.inf)


def write_affine(
    opened: check.Opened,
    target: NDArray[Any],
    gain: list[float],
    offset: list[float],
    bounds: tuple[float, float],
) -> None:
    """Write ``gain · pixel + offset``: straight through the loops where memory allows, else by small copies."""
    source, kind, channels = opened.array, opened.kind, opened.channels
    depth, diagonal = source.shape[-1], len(gain) == channels
    straight = kind != "e" and source.dtype.isnative
    loops = kernels.loops if diagonal or channels == 3 else kernels_numpy
    if straight and source.flags.c_contiguous and target.flags.c_contiguous:
        if depth == channels:
            loops.affine(source, target, kind, depth, gain, offset, *bounds)
            return
        if diagonal and bounds[1] == check.NATURAL_RANGE.get(kind):  # alpha goes along with gain 1: exact for integers
            loops.affine(source, target, kind, depth, [*gain, 1.0], [*offset, 0.0], *bounds)
            return
    if straight and diagonal and source[..., 0].flags.c_contiguous and target[..., 0].flags.c_contiguous:
        for c in range(channels):  # channel-first memory seen channel-last: one plane after another
            loops.affine(source[..., c], target[..., c], kind, 1, gain[c : c + 1], offset[c : c + 1], *bounds)
    else:
        work = np.float64 if kind == "e" else source.dtype.newbyteorder("=")
        for piece, output in _iterate_strips(opened.colour, target[..., :channels]):
            native = np.ascontiguousarray(piece, dtype=work)
            mapped = np.empty_like(native)
            loops.affine(native, mapped, "d" if kind == "e" else kind, channels, gain, offset, *bounds)
            with np.errstate(over="ignore"):
                output[...] = mapped
    _keep_alpha(opened, target)


def _write_through_space(opened: check.Opened, plan: Plan, target: NDArray[Any], bounds: tuple[float, float]) -> None:
    """Convert, map and convert back."""
    check.refuse_unknown_white(opened, plan.space)
    if not map_pixels(opened, target, plan.space, plan.numbers, bounds):
        raise StatisticsError(f"the plan drives colours of {plan.space!r} beyond what numbers hold; measure and plan again")
    _keep_alpha(opened, target)


def unit_pixels(opened: check.Opened, pixels: NDArray[Any]) -> NDArray[np.float64]:
    """Return pixels in [0, 1] for a conversion; those that are not finite, which the caller puts back, as zero."""
    unit = pixels.astype(np.float64) / opened.data_range
    if not opened.is_integer:
        unit[~np.isfinite(unit)] = 0.0
    return unit


def write_floats(opened: check.Opened, target: NDArray[Any], values: NDArray[np.float64], bounds: tuple[float, float]) -> None:
    """Clip, round if the image has integers, and store."""
    values = clip(values.copy(), *bounds)
    with np.errstate(over="ignore"):
        target[...] = np.rint(values) if opened.is_integer else values


def keep_outside(opened: check.Opened, target: NDArray[Any], mask: NDArray[np.bool_] | None) -> None:
    """Put back, byte for byte, what lies outside the mask."""
    if mask is not None:
        step = max(1, _STAGE // max(1, mask[0].size))  # by strips: the inverted mask is a copy
        for i in range(0, len(mask), step):
            np.copyto(target[i : i + step], opened.array[i : i + step], where=~mask[i : i + step, :, None])


def make_target(opened: check.Opened, out: NDArray[Any] | None, *inputs: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the array to write and the same memory shaped like ``opened.array``; ``out`` may overlap no input."""
    if out is None:
        # 'K' keeps the memory order of what came, byte order included
        target = np.empty_like(opened.array, subok=False)
        return target if target.ndim == len(opened.shape) else target[..., 0], target
    if not isinstance(out, np.ndarray) or opened.from_pil:
        raise ImageError("out must be a NumPy array, and the image one too; leave it out for PIL images")
    if out.shape != opened.shape or out.dtype != opened.array.dtype or not (out.flags.writeable and out.flags.aligned):
        raise ImageError(
            f"out has shape {out.shape} and dtype {out.dtype}; it must be writable, aligned in memory, of shape {opened.shape} "
            f"and dtype {opened.array.dtype}"
        )
    for other in (opened.array, *inputs):
        if isinstance(other, np.ndarray) and np.may_share_memory(out, other):
            raise ImageError(
                "out overlaps an image or mask that was given, and these are never written to; pass another array, or none"
            )
    if _overlaps_itself(out):
        raise ImageError(
            f"out has strides {out.strides} for shape {out.shape}, so pixels share memory; pass an array with memory for each"
        )
    return out, out if out.ndim == opened.array.ndim else out[..., None]


def _overlaps_itself(array: NDArray[Any]) -> bool:
    """Return whether elements may share memory: a step along one axis must pass over all that the finer axes span."""
    span = array.itemsize
    for step, size in sorted((abs(step), size) for step, size in zip(array.strides, array.shape, strict=True) if size > 1):
        if step < span:
            return True
        span += step * (size - 1)
    return False


def finished(opened: check.Opened, result: NDArray[Any], out: NDArray[Any] | None) -> Any:
    """Return the result as the caller gave the image: a PIL image for one, else the array."""
    if not opened.from_pil:
        return result if out is None else out
    from PIL import Image  # a PIL image came, so it is loaded already

    if opened.is_padded:
        height, width = opened.shape[:2]
        return Image.frombytes("RGB", (width, height), result, "raw", "RGBX", 0, 1)
    return Image.fromarray(result)


def usable_pixels(
    opened: check.Opened, mask: NDArray[np.bool_] | None, on_nonfinite: str, *, checked_range: bool
) -> NDArray[np.bool_] | None:
    """Check floats for finiteness and range, and return the pixels to change."""
    if (
        opened.kind in "fd"
        and opened.array.shape[-1] == opened.channels
        and opened.array.flags.c_contiguous
        and opened.array.dtype.isnative
    ):
        sums, lows, highs = kernels.loops.sums_float(opened.array, opened.array.dtype.itemsize, opened.channels)
        if all(map(math.isfinite, sums)):  # the common case in one pass; a NaN or infinity would have reached its sum
            if checked_range:
                check.refuse_outside(min(lows), max(highs), opened.data_range)
            return mask
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(opened.colour)
        if not finite.all():
            if on_nonfinite == "raise":
                check.refuse_nonfinite()
            mask = check.finite_pixels(opened, mask, "image")
        if checked_range:
            low, high = opened.colour.min(where=finite, initial=math.inf), opened.colour.max(where=finite, initial=-math.inf)
            check.refuse_outside(float(low), float(high), opened.data_range)
    return mask


def refuse_unclipped_integers(opened: check.Opened, *, clip: bool) -> None:
    """Refuse integers without clipping: they cannot hold values beyond their range."""
    if opened.is_integer and not clip:
        raise OptionError(
            "clip=False is for float images; integers cannot hold values beyond their range. Convert to float first."
        )


def _keep_alpha(opened: check.Opened, target: NDArray[Any]) -> None:
    """Copy the alpha channel, if there is one."""
    if opened.array.shape[-1] > opened.channels:
        target[..., opened.channels :] = opened.array[..., opened.channels :]


def _iterate_strips(source: NDArray[Any], target: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield rows of the source with those of the target, a few at a time."""
    step = max(1, _STAGE // max(1, source[0].size))
    return ((source[i : i + step], target[i : i + step]) for i in range(0, len(source), step))


def _iterate_images(
    opened: check.Opened, target: NDArray[Any], plan: Plan | Sequence[Plan], mask: NDArray[np.bool_] | None
) -> Iterator[tuple[check.Opened, NDArray[Any], Plan, NDArray[np.bool_] | None]]:
    """Yield each image with its part of the output, its plan and its mask."""
    if isinstance(plan, Plan) and not opened.is_batch:
        yield opened, target, plan, mask
        return
    count = len(opened.array) if opened.is_batch else 1
    plans = [plan] * count if isinstance(plan, Plan) else plan
    if not isinstance(plans, Sequence) or not all(isinstance(p, Plan) for p in plans):
        raise StatisticsError(f"plan is a {type(plan).__name__}; apply() takes what plan() returns")
    if len(plans) != count:
        raise StatisticsError(f"{len(plans)} plans for {count} image(s); give one, or one for each")
    if not opened.is_batch:
        yield opened, target, plans[0], mask
        return
    for i, single_plan in enumerate(plans):
        yield opened[i], target[i], single_plan, None if mask is None else mask[i]
