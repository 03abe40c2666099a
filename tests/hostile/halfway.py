"""Count how often the formula in float64 differs from exact arithmetic: `python -m tests.hostile.halfway --pairs 20000 --seed 0`.

Content and style are pieces of the photographs that come with scikit-image, 4 to 64 pixels on a side. The exact result of a
level x is ``sqrt(Vs / Vc) * (x - mc) + ms`` with rational numbers under the root and beside it, rounded half to even. Whether
the level that float64 gives is that one is decided in fractions, by comparing squares, wherever the result lies within 1e-6 of
half-way between two levels; elsewhere float64 cannot be wrong.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import recolorist as rc

__all__ = ["Count", "compare", "is_exact", "pieces"]

_NAMES: Final = ("astronaut", "coffee", "chelsea", "rocket", "hubble_deep_field", "retina", "immunohistochemistry")
_NEAR: Final = 1e-6


@dataclass
class Count:
    """What was compared, and what differed."""

    plans: int = 0
    levels: int = 0
    half_way: int = 0
    differing: int = 0
    plans_differing: int = 0


def _exact_moments(channel: NDArray[np.uint8]) -> tuple[Fraction, Fraction]:
    count, total, squares = channel.size, int(channel.sum(dtype=np.int64)), int((channel.astype(np.int64) ** 2).sum())
    return Fraction(total, count), Fraction(count * squares - total * total, count * count)


def _side(ratio: Fraction, distance: Fraction, target: Fraction) -> int:
    """Return the sign of ``sqrt(ratio) * distance - target``."""
    left, right = ratio * distance * distance, target * target
    if distance >= 0 and target >= 0:
        return (left > right) - (left < right)
    if distance < 0 and target < 0:
        return (right > left) - (right < left)
    return 1 if distance >= 0 else -1


def is_exact(content: tuple[Fraction, Fraction], style: tuple[Fraction, Fraction], level: int, result: int) -> tuple[bool, bool]:
    """Return whether a result is the exact one, and whether that lies half-way between two levels.

    Args:
        content: Mean and variance of the content.
        style: Mean and variance of the style.
        level: The level of the content.
        result: What float64 made of it, before it is clipped.
    """
    ratio, distance = style[1] / content[1], level - content[0]
    low, high = (_side(ratio, distance, Fraction(2 * result + step, 2) - style[0]) for step in (-1, 1))
    is_half_way = 0 in (low, high)
    return (low >= 0 and high <= 0 and (not is_half_way or result % 2 == 0)), is_half_way


def compare(content: NDArray[np.uint8], style: NDArray[np.uint8], plan: Any, count: Count, *, every_level: bool = False) -> None:
    """Compare a plan with exact arithmetic on the levels of its content, or on all 256, and add to the count."""
    count.plans += 1
    before = count.differing
    for channel in range(3):
        exact = _exact_moments(content[..., channel]), _exact_moments(style[..., channel])
        gain, offset = float(plan.gain[channel]), float(plan.offset[channel])
        if not exact[0][1] or not exact[1][1] or gain >= 10:  # flat, or limited by max_gain: another formula
            continue
        levels = np.arange(256) if every_level else np.unique(content[..., channel])
        values = gain * levels.astype(np.float64) + offset
        count.levels += len(levels)
        for place in np.flatnonzero(np.abs(values - np.floor(values) - 0.5) < _NEAR):
            is_right, is_half_way = is_exact(*exact, int(levels[place]), int(np.rint(values[place])))
            count.half_way += is_half_way
            count.differing += not is_right
    count.plans_differing += count.differing > before


def pieces(rng: np.random.Generator, images: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return a random piece of a random photograph."""
    image = images[rng.integers(len(images))]
    height, width = rng.integers(4, 65, 2)
    top, left = rng.integers(image.shape[0] - height + 1), rng.integers(image.shape[1] - width + 1)
    return np.ascontiguousarray(image[top : top + height, left : left + width])


def main() -> None:
    """Print the counts of both routes."""
    from skimage import data

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    images = [getattr(data, name)() for name in _NAMES]
    rng = np.random.default_rng(given.seed)
    counts = {name: Count() for name in ("two images", "a bank", "two images, all 256 levels")}
    for _ in range(given.pairs):
        content, style = pieces(rng, images), pieces(rng, images)
        plan = rc.plan(rc.measure(content), rc.measure(style))
        compare(content, style, plan, counts["two images"])
        compare(content, style, plan, counts["two images, all 256 levels"], every_level=True)
        bank = rc.StyleBank.build([style], split="train", with_blank=True)
        compare(content, style, rc.plan(rc.measure(content), bank.moments(0)), counts["a bank"])
    for name, count in counts.items():
        sys.stdout.write(f"{name}: {count}\n")


if __name__ == "__main__":
    main()
