"""Matching within a batch: styles without a bank."""

from __future__ import annotations

import inspect
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist.augment import streams
from recolorist.core import image as check
from recolorist.core.apply import make_target
from recolorist.core.blank import is_blank
from recolorist.core.match import MATCHERS, match
from recolorist.core.options import Blank
from recolorist.errors import OptionError

__all__ = ["match_within_batch"]

#: The images, their styles and the output belong to the batch; everything else of `match` may be chosen.
_OPTIONS: Final = tuple(name for name in inspect.signature(match).parameters if name not in ("content", "style", "out"))


def match_within_batch(
    images: NDArray[Any],
    p: float = 0.3,
    mode: Literal["per_sample", "batch_fraction"] = "per_sample",
    *,
    seed: int = 0,
    epoch: int = 0,
    index: int = 0,
    blank: Blank = "keep",
    **options: Any,
) -> NDArray[Any]:
    """Give each chosen image of a batch (N, H, W, C) the style of another one of the same batch; no bank is needed.

    The batch is rolled by a random shift.

    Args:
        images: The batch.
        p: Probability of changing an image, or the share that is changed.
        mode: ``"per_sample"`` decides for each image; ``"batch_fraction"`` changes exactly the share ``p`` of them, rounded.
        seed: The seed of the draws.
        epoch: The epoch; each gives other draws.
        index: The number of the batch.
        blank: ``"keep"`` leaves a blank image as it is, and one whose style would come from a blank image.
        **options: Options of :func:`recolorist.match`.

    Returns:
        A new batch.

    Raises:
        OptionError: An option is unknown or outside its limits, or one image came.
        ImageError: The images cannot be used.

    Example:
        >>> batch = np.random.default_rng(0).integers(0, 256, (4, 8, 9, 3), dtype=np.uint8)
        >>> changed = match_within_batch(batch, 0.5, "batch_fraction")
        >>> sum(not np.array_equal(a, b) for a, b in zip(batch, changed, strict=True))
        2
    """
    for name in options:
        if name not in _OPTIONS:
            raise OptionError(f"the option {name!r} is unknown here; accepted are {', '.join(_OPTIONS)}")
    check.number(p, 0, 1, "p")
    check.option(mode, ("per_sample", "batch_fraction"), "mode")
    check.option(blank, ("keep", "match"), "blank")
    check.option(options.get("method", "mean_std"), MATCHERS, "method")
    opened = check.open_image(images, options.get("data_range"), options.get("alpha"), "images")
    if not opened.is_batch:
        raise OptionError(f"a batch (N, H, W, C) is needed, and one image of shape {opened.shape} was given")
    count = len(images)
    result, _ = make_target(opened, None)  # in the same memory order
    result[...] = images
    if count < 2:
        return result
    rng = streams.stream(seed, epoch, index)
    shift = 1 + int(rng.integers(count - 1))
    share = rng.random(count) < p if mode == "per_sample" else rng.permutation(count) < round(p * count)
    options.setdefault("style_range", options.get("data_range"))
    for i in np.flatnonzero(share).tolist():
        other = (i + shift) % count
        if blank == "match" or not (is_blank(opened[i]) or is_blank(opened[other])):
            result[i] = match(images[i], images[other], **options)
    return result
