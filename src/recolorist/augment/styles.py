"""What a sampler is given and returns: what is known of the image, and the style that was chosen for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from recolorist.bank.style_bank import StyleBank
from recolorist.core.moments import Moments
from recolorist.core.style_change import StyleChange
from recolorist.errors import StatisticsError

__all__ = ["Content", "Sampler", "Style", "name_of_sampler"]


class Content(NamedTuple):
    """What is known of the image to be changed; None where nothing is."""

    row: int | None = None  #: its row in the bank, so that it is not matched to itself
    label: str | None = None
    domain: str | None = None


class Style(NamedTuple):
    """A chosen style: how to name it in a log, its row if it is one image's, and what an image is matched to.

    The goal is the moments of a style in unit range, or a change of the image's own style. Whether a change is capped depends on
    the image, so ``is_capped`` is False for it.

    Example:
        >>> Style("red", None, Moments(1, [0.9, 0.1, 0.1], np.zeros((3, 3)), 1.0)).moments.mean.tolist()
        [0.9, 0.1, 0.1]
    """

    name: str
    row: int | None
    goal: Moments | StyleChange
    is_capped: bool = False  #: whether a mean or variance was drawn that no image can have, and was reduced to one that it can

    @property
    def moments(self) -> Moments:
        """The moments of the style in unit range.

        Raises:
            StatisticsError: The style is a change of the image's own, and has moments only together with an image.
        """
        if isinstance(self.goal, StyleChange):
            raise StatisticsError(
                f"{self.name} changes the style of each image and has no moments of its own; style.goal.change(moments of an "
                "image, their data_range, method) gives those for one image"
            )
        return self.goal


#: A function of (bank, generator, what is known of the image) that returns a style.
Sampler = Callable[[StyleBank, np.random.Generator, Content], Style]


def name_of_sampler(sampler: Sampler) -> str:
    """Return a name for logs, and for hashes that name a cache: the same in every process.

    Args:
        sampler: A function, a function with fixed options, or an object that can be called.

    Returns:
        The name of the function with its options; of an object what it prints, or the name of its class.

    Example:
        >>> name_of_sampler(partial(print, sep="-"))
        "print(sep='-')"
    """
    if isinstance(sampler, partial):
        options = [*map(repr, sampler.args), *(f"{name}={value!r}" for name, value in sampler.keywords.items())]
        return f"{name_of_sampler(sampler.func)}({', '.join(options)})"
    text = type(sampler).__name__ if repr(sampler) == object.__repr__(sampler) else repr(sampler)  # not an address in memory
    return str(getattr(sampler, "__name__", text))
