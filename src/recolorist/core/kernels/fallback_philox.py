"""The first number of one of NumPy's random streams: ``_kernels_philox.h`` once more, in Python."""

from __future__ import annotations

from typing import Final

__all__ = ["first_random"]

_WORD: Final = 2**64 - 1
_FACTORS: Final = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS: Final = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def first_random(seed: int, purpose: int, index: int, epoch: int) -> float:
    """Return what a generator of :func:`recolorist.augment.streams.stream` draws first, without making one.

    Args:
        seed: The first word of the key.
        purpose: The second word of the key.
        index: The second word of the counter.
        epoch: The third word of the counter.

    Returns:
        A number from 0 to below 1.

    Example:
        >>> import numpy as np
        >>> counter = np.array([0, 42, 1, 0], np.uint64)
        >>> np.random.Generator(np.random.Philox(key=7, counter=counter)).random() == first_random(7, 0, 42, 1)
        True
    """
    a, b, c, d, first, second = 1, index, epoch, 0, seed, purpose
    for _ in range(10):
        left, right = _FACTORS[0] * a, _FACTORS[1] * c
        a, b, c, d = (right >> 64) ^ b ^ first, right & _WORD, (left >> 64) ^ d ^ second, left & _WORD
        first, second = (first + _STEPS[0]) & _WORD, (second + _STEPS[1]) & _WORD
    return (a >> 11) / 2**53
