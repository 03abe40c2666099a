"""The gain rule for one channel and for many at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recolorist.core.gains import gain_of, gains_of

VARIANCES = [0.0, 5e-324, 1e-300, 1e-12, 0.5, 1.0, 3.0, 99.999, 100.0, 100.001, 1e12, 1e300]
LIMITS = [0.0, 0.5, 1.0, 10.0, math.inf]


def expected(content: float, style: float, limit: float) -> tuple[float, bool]:
    """The scalar rule, as the rule for arrays reports it."""
    gain, flags = gain_of(content, style, limit, "exact")
    return gain, "gain_capped" in flags


@pytest.mark.parametrize("limit", LIMITS)
def test_many_gains_are_those_of_the_rule(limit: float) -> None:
    content, style = (np.array(side) for side in zip(*((c, s) for c in VARIANCES for s in VARIANCES), strict=True))
    gains, capped = gains_of(np.sqrt(content), np.sqrt(style), limit)
    for i, (c, s) in enumerate(zip(content.tolist(), style.tolist(), strict=True)):
        assert (gains[i], bool(capped[i])) == expected(c, s, limit), (c, s)


@pytest.mark.parametrize("limit", LIMITS)
def test_they_agree_exactly_on_random_variances(limit: float) -> None:
    rng = np.random.default_rng(5)
    content, style = 10.0 ** rng.uniform(-9, 9, (2, 4000))
    style[:1000] = content[:1000] * min(limit, 1e3) ** 2 * (1 + rng.integers(-2, 3, 1000) * 2.0**-52)  # at the limit itself
    gains, capped = gains_of(np.sqrt(content), np.sqrt(style), limit)
    pairs = [expected(c, s, limit) for c, s in zip(content.tolist(), style.tolist(), strict=True)]
    assert gains.tolist() == [gain for gain, _ in pairs]
    assert capped.tolist() == [is_capped for _, is_capped in pairs]
    if limit == 10:
        assert 0 < capped[:1000].sum() < 1000  # both sides of the limit were tried


def test_images_are_tried_against_styles_by_broadcasting() -> None:
    content, style = np.array([[[2.0, 0.0]], [[0.1, 4.0]]]), np.array([[1.0, 1.0], [5.0, 0.0], [2.0, 8.0]])
    gains, capped = gains_of(content, style, 10.0)
    assert gains.tolist() == [[[0.5, 0.0], [2.5, 0.0], [1.0, 0.0]], [[10.0, 0.25], [10.0, 0.0], [10.0, 2.0]]]
    assert capped.tolist() == [[[False, False]] * 3, [[False, False], [True, False], [True, False]]]
