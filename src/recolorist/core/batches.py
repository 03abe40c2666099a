"""Results for a batch of images: a tuple that also answers the attributes of its members, stacked."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Batch(tuple[T, ...]):
    """One result per image, in order; ``batch.mean`` stacks the ``mean`` of every member.

    >>> from recolorist import measure
    >>> two = measure(np.zeros((2, 4, 5, 3), np.uint8))
    >>> len(two), two[0].count, two.mean.shape
    (2, 20, (2, 3))
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """Stack one attribute of all members."""
        if name.startswith("_"):  # copy, pickle and friends probe for these
            raise AttributeError(name)
        return np.array([getattr(member, name) for member in self])
