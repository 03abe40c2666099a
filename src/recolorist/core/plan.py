"""Planning: from the moments of two images to one small, printable affine map."""

from __future__ import annotations

import math
from typing import Literal, cast

from recolorist.core import image as check
from recolorist.core.gains import (
    MapNumbers,
    Pairs,
    by_covariance,
    by_mixed_deviation,
    diagonal_map,
    mean_and_variance,
    refuse_collapse,
)
from recolorist.core.maps import AFFINE_METHODS, ChannelMap, MatrixMap, Plan
from recolorist.core.moments import Moments
from recolorist.core.options import EpsMode, MatchOptions, match_options
from recolorist.core.spaces import SPACES, Mixing
from recolorist.errors import OptionError, StatisticsError

__all__ = ["AffineMethod", "ChannelMap", "Plan", "decide", "plan", "plan_channels", "plan_map", "refuse_channels"]

AffineMethod = Literal["mean_std", "covariance"]


def plan_channels(content: Pairs, style: Pairs, options: MatchOptions, data_range: float) -> ChannelMap:
    """Plan from mean and variance of each channel, both in the content's units."""
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

    Raises:
        OptionError: An option is unknown, or a number lies outside its limits.
        StatisticsError: The moments fit neither each other nor the space.

    Example:
        >>> import numpy as np
        >>> from recolorist import measure
        >>> same = measure(np.eye(4, dtype=np.uint8))
        >>> plan(same, same).is_identity
        True
    """
    check.option(method, AFFINE_METHODS, "method")
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
        if options.mixes_channels and isinstance(style, Moments):
            _refuse_other_space(style, "style", options)
            refuse_channels(content.channels, style.channels, options.space)
            return _plan_matrix(content, style.rescaled(data_range), options)
        content = content.pairs
    if isinstance(style, Moments):
        _refuse_other_space(style, "style", options)
        style = mean_and_variance(style, data_range)
    refuse_channels(len(content), len(style), options.space)
    return plan_channels(content, style, options, data_range)


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
        channels = content.channels
        identity = [float(k % (channels + 1) == 0) for k in range(channels * channels)]
        numbers = MapNumbers(identity, [0.0] * channels, [1.0] * channels, numbers.flags)
    if not math.isfinite(sum(numbers.matrix) + sum(numbers.offset)):
        _refuse_overflow([*numbers.matrix, *numbers.offset])
    return MatrixMap(*numbers, options, content.data_range, content.pairs, style.pairs).plan()


def _refuse_overflow(numbers: list[float]) -> None:
    if not all(map(math.isfinite, numbers)):
        raise StatisticsError("the moments are too large for a plan, whose numbers would not be finite; use a smaller data_range")


def refuse_channels(content: int, style: int, space: str) -> None:
    """Refuse images with different numbers of channels, and a colour space for other than three."""
    if content != style:
        raise StatisticsError(
            f"the content has {content} channel(s) and the style {style}; they must agree. Turn grey into colour with "
            "numpy.repeat(grey[..., None], 3, axis=-1), or colour into grey, as you mean it."
        )
    if space != "rgb" and content != 3:
        raise StatisticsError(f"space={space!r} needs three channels, and the images have {content}")


def _refuse_other_space(measured: Moments, name: str, options: MatchOptions) -> None:
    wanted = options.measured_space
    if measured.space != wanted:
        raise StatisticsError(
            f"the {name} was measured in {measured.space!r}, but a plan in {options.space!r} needs moments of {wanted!r}: "
            f"measure(image, space={wanted!r})"
        )
