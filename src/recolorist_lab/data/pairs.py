"""Draw the pairs of the transfer protocol: 800 contents and 800 styles from a training split of any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.streams import stream
from recolorist.errors import OptionError

__all__ = ["COUNT", "Pairs", "draw_pairs"]

COUNT: Final = 800
_CONTENT, _STYLE = 101, 102  # purposes of the random streams


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pair i is ``(content[i], style[i])``; ``repeats`` says whether the set was too small to do without repetition."""

    content: NDArray[np.int64]
    style: NDArray[np.int64]
    repeats: bool

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.content)


def draw_pairs(images: int, seed: int, count: int = COUNT) -> Pairs:
    """Draw contents and styles independently, each without repetition as long as there are images left.

    A set that is too small is used in several shuffled passes, of which the last may be incomplete. No image is paired with
    itself unless it is the only one.

    Args:
        images: How many images there are.
        seed: Of the random stream.
        count: How many pairs to draw.

    Returns:
        The numbers of contents and styles.

    Raises:
        OptionError: There is no image, or no pair was asked for.

    Example:
        >>> pairs = draw_pairs(208, seed=1)
        >>> len(pairs), pairs.repeats, bool((pairs.content != pairs.style).all())
        (800, True, True)
    """
    if images < 1 or count < 1:
        raise OptionError(f"{count} pairs of {images} images were requested; both must be at least 1")
    content = _passes(images, count, seed, _CONTENT)
    style = _apart(content, _passes(images, count, seed, _STYLE), images) if images > 1 else content.copy()
    return Pairs(content, style, repeats=count > images)


def _passes(images: int, count: int, seed: int, purpose: int) -> NDArray[np.int64]:
    """Draw shuffled passes over all images, one stream each, cut at ``count``."""
    rounds = -(-count // images)
    return np.concatenate([stream(seed, index=turn, purpose=purpose).permutation(images) for turn in range(rounds)])[:count]


def _apart(content: NDArray[np.int64], style: NDArray[np.int64], images: int) -> NDArray[np.int64]:
    """Where a pair is one image twice, exchange its style with that of another pair."""
    style = style.copy()
    for pair in np.flatnonzero(content == style):
        fits = np.flatnonzero((style != content[pair]) & (content != style[pair]))
        if len(fits):
            other = fits[np.argmin((fits - pair) % len(style))]
            style[pair], style[other] = style[other], style[pair]
        else:  # too few pairs to change with
            style[pair] = (style[pair] + 1) % images
    return style
