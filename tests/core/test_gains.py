"""The gain rule for one channel and for many at once."""

from __future__ import annotations

import math

import numpy as np

from recolorist.core.gains import gain_of, gains_of

VARIANCES = [0.0, 1e-300, 1e-12, 0.5, 1.0, 3.0, 99.999, 100.0, 100.001, 1e12]


def test_many_gains_are_those_of_the_rule() -> None:
    for limit in (0.0, 0.5, 10.0, math.inf):
        content, style = (np.array(side) for side in zip(*((c, s) for c in VARIANCES for s in VARIANCES), strict=True))
        gains, capped = gains_of(np.sqrt(content), np.sqrt(style), limit)
        for i, (c, s) in enumerate(zip(content.tolist(), style.tolist(), strict=True)):
            gain, flags = gain_of(c, s, limit, "exact")
            assert (gains[i], bool(capped[i])) == (gain, "gain_capped" in flags), (c, s, limit)
