"""Promise 1: where float64 and exact arithmetic could differ, and that they do not on pieces of photographs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import recolorist as rc
from tests.full import full
from tests.hostile.halfway import Count, compare, is_exact, pieces


@pytest.mark.parametrize(
    ("gain", "level", "result", "expected"),
    [
        (Fraction(1, 2), 3, 2, (True, True)),  # 1.5 to the even neighbour
        (Fraction(1, 2), 3, 1, (False, True)),
        (Fraction(1, 2), 1, 0, (True, True)),
        (Fraction(1, 2), 1, 1, (False, True)),
        (Fraction(1, 2), -3, -2, (True, True)),
        (Fraction(1, 3), 4, 1, (True, False)),
        (Fraction(1, 3), 4, 2, (False, False)),
        (Fraction(1, 3), -4, -1, (True, False)),
        (Fraction(1, 3), -4, 0, (False, False)),
    ],
)
def test_decisions_by_hand(gain: Fraction, level: int, result: int, expected: tuple[bool, bool]) -> None:
    assert is_exact((Fraction(0), Fraction(1)), (Fraction(0), gain * gain), level, result) == expected


def test_irrational_gains() -> None:
    """The root of 2 times 5 is 7.07."""
    assert is_exact((Fraction(0), Fraction(1)), (Fraction(0), Fraction(2)), 5, 7) == (True, False)
    assert is_exact((Fraction(0), Fraction(1)), (Fraction(0), Fraction(2)), 5, 8) == (False, False)


def test_a_difference_is_found() -> None:
    """A gain of 97 / 122: on all 256 levels, float64 decides some half-way cases by its last bit."""
    content = np.array([[[95, 130, 194], [217, 207, 235]]], np.uint8)
    style = np.array([[[33, 215, 217], [130, 248, 189]]], np.uint8)
    count = Count()
    compare(content, style, rc.plan(rc.measure(content), rc.measure(style)), count, every_level=True)
    assert count.differing
    assert count.half_way >= count.differing


def test_pieces_of_photographs() -> None:
    data = pytest.importorskip("skimage.data")
    rng, images, counts = np.random.default_rng(0), [data.astronaut(), data.coffee(), data.chelsea()], [Count(), Count()]
    for _ in range(full(100, 5_000)):
        content, style = pieces(rng, images), pieces(rng, images)
        compare(content, style, rc.plan(rc.measure(content), rc.measure(style)), counts[0])
        bank = rc.StyleBank.build([style], split="train", with_blank=True)
        compare(content, style, rc.plan(rc.measure(content), bank.moments(0)), counts[1])
    assert [count.differing for count in counts] == [0, 0]
    assert min(count.levels for count in counts) > 10_000
