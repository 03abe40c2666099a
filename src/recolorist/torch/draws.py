"""What was drawn for one image, and how it is done: the seam between Colorist and the routes of this package.

Torch hosts bring their own memory layout (channels first), and torchvision its own random numbers; everything else is
:class:`recolorist.Colorist`'s. This is the only file here that looks behind its door.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist import check, kernels
from recolorist.augment import Colorist
from recolorist.gains import diagonal_map
from recolorist.samplers import Content, Style

Pairs = list[tuple[float, float]]

_MOST_PIXELS = 2**31  # beyond this 64-bit sums of 16-bit squares may overflow, and the core measures piece by piece


class Drawn(NamedTuple):
    """The style and strength that fell to one image, and the stream they came from, for further tries."""

    style: Style
    strength: float
    rng: np.random.Generator
    content: Content


class Affine(NamedTuple):
    """A map of pixels: one gain per channel, or a matrix row by row, and offsets in units of 0 to ``data_range``."""

    gain: list[float]
    offset: list[float]
    data_range: float


def toss(
    colorist: Colorist,
    *,
    key: str | None = None,
    index: int | None = None,
    epoch: int = 0,
    label: Any = None,
    domain: Any = None,
) -> Drawn | None:
    """Draw as a call of ``colorist`` with the same arguments would; None if the coin says no."""
    rng = colorist._stream(key, index, epoch)  # noqa: SLF001
    if rng.random() >= colorist.p:
        return None
    return draw(colorist, rng, colorist._content(key, index, label, domain))  # noqa: SLF001


def draw(colorist: Colorist, rng: np.random.Generator, content: Content) -> Drawn:
    """Draw a style and a strength from a generator the caller brings; there is no coin."""
    return Drawn(*colorist.draw(rng, content), rng, content)


def warn_of_size(colorist: Colorist, height: int, width: int) -> None:
    """Compare the size of an image with the bank's, once."""
    colorist._warn_once_of_size(np.broadcast_to(np.uint8(0), (height, width, 1)))  # noqa: SLF001


def recolour(colorist: Colorist, image: Any, drawn: Drawn, mask: Any = None) -> Any:
    """Do what was drawn to a PIL image or an array with channels last: what the rest of a call would do."""
    colorist._warn_once_of_size(image)  # noqa: SLF001
    inside = colorist.mask_of(image, mask)
    if colorist.max_clip is None:
        return colorist._matched(image, drawn.style, drawn.strength, inside)  # noqa: SLF001
    return colorist.apply(image, colorist.decide(image, *drawn, inside), mask=inside)


def affine(colorist: Colorist, pixels: NDArray[Any], drawn: Drawn, mask: Any = None) -> Affine | None:
    """What was drawn as one map of RGB for an array with channels last; None where it is not one map of all pixels."""
    if mask is None and is_plain(colorist, pixels):
        return plain_affine(colorist, pixels, drawn)
    inside = colorist.mask_of(pixels, mask)
    if inside is not None and colorist.apply_to == "mask":
        return None
    plan = colorist.decide(pixels, *drawn, inside).plan
    if plan is None or not plan.is_linear_space:
        return None
    gain = plan.matrix.diagonal() if plan.is_diagonal else plan.matrix.ravel()
    return Affine(gain.tolist(), plan.offset.tolist(), plan.data_range)


def is_plain(colorist: Colorist, pixels: NDArray[Any]) -> bool:
    """Whether mean and deviation per channel of integer pixels are all that is needed: nearly always in training."""
    usual = colorist.method == "mean_std" and colorist.space == "rgb" and colorist.max_clip is None and colorist.mask is None
    # four channels mean alpha to the core, which knows what to do with it
    fits = pixels.ndim == 3 and pixels.shape[-1] != 4 and 0 < pixels[..., 0].size < _MOST_PIXELS
    integer = pixels.dtype in (np.uint8, np.uint16) and pixels.dtype.isnative
    return usual and fits and integer and colorist.data_range is None and pixels.shape[-1] == colorist.bank.channels


def plain_affine(colorist: Colorist, pixels: NDArray[Any], drawn: Drawn) -> Affine:
    """The usual case with as little ado as possible; the same numbers as `match`."""
    colorist._warn_once_of_size(pixels)  # noqa: SLF001
    data_range = check.NATURAL_RANGE[pixels.dtype.char]
    goal = style_pairs(drawn.style.moments.mean, drawn.style.moments.cov.diagonal(), data_range)
    gain, offset, _ = diagonal_map(level_pairs(pixels), goal, drawn.strength, colorist.max_gain, "exact")
    return Affine(gain, offset, data_range)


def style_pairs(mean: NDArray[np.float64], variance: NDArray[np.float64], data_range: float) -> Pairs:
    """Mean and variance of a style in unit range, in the units of an image: as ``Moments.rescaled`` computes them."""
    return list(zip((mean * data_range).tolist(), (variance * (data_range * data_range)).tolist(), strict=True))


def level_pairs(pixels: NDArray[Any]) -> Pairs:
    """Exact mean and variance of each channel of integer pixels (H, W, C), whose memory may be channel first.

    >>> level_pairs(np.array([[[0], [10], [20], [30]]], np.uint8))
    [(15.0, 125.0)]
    """
    itemsize, channels = pixels.dtype.itemsize, pixels.shape[-1]
    if pixels.flags.c_contiguous:
        sums, squares = kernels.loops.moments_integer(pixels, itemsize, channels, 1)
    else:
        planes = [np.ascontiguousarray(pixels[..., c]) for c in range(channels)]  # no copy if channels come first in memory
        each = [kernels.loops.moments_integer(plane, itemsize, 1, 1) for plane in planes]
        sums, squares = [s[0] for s, _ in each], [q[0] for _, q in each]
    count = pixels.size // channels
    square = count * count
    # Python divides integers of any size correctly rounded, so these are the float64 nearest to the exact values
    return [(s / count, (count * q - s * s) / square) for s, q in zip(sums, squares, strict=True)]
