"""Foreground masks of calls: the one that came with the image, else what a rule finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.errors import OptionError

__all__ = ["MaskRule", "find_mask", "open_rule"]

MaskRule = Callable[[Any], Any]


def open_rule(mask: Any) -> Callable[..., Any] | None:
    """Return the rule that an option names.

    Args:
        mask: ``"tissue"``, ``"fundus"``, a callable from an image to its mask, or None.

    Returns:
        The rule; None for none.

    Raises:
        OptionError: It is something else.

    Example:
        >>> open_rule("tissue") is foreground.tissue
        True
    """
    rule = foreground.RULES[check.option(mask, foreground.RULES, "mask")] if isinstance(mask, str) else mask
    if rule is not None and not callable(rule):
        rules = ", ".join(map(repr, foreground.RULES))
        raise OptionError(f"mask={mask!r}; accepted are {rules}, and a callable from an image to its mask")
    return rule


def find_mask(rule: Callable[..., Any] | None, image: Any, data_range: float | None = None, *, or_all: bool = True) -> Any:
    """Return what a rule finds in an image; None, for all pixels, without a rule.

    Args:
        rule: What :func:`open_rule` returned.
        image: An array or PIL image.
        data_range: Largest value of a float image.
        or_all: Where a named rule finds nothing, take all pixels; False takes none, so that the image counts as blank.

    Returns:
        The mask; None for all pixels.

    Example:
        >>> import numpy as np
        >>> find_mask(foreground.tissue, np.array([[[90, 40, 80], [245, 245, 245]]], np.uint8)).tolist()
        [[True, False]]
    """
    if rule is None:
        return None
    if rule in foreground.RULES.values():
        opened = check.open_image(image, data_range)
        return foreground.find_foreground(rule, opened.colour, opened.data_range, or_all=or_all)
    return rule(image)
