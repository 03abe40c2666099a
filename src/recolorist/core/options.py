"""The options of a match, checked once when they are made and carried whole from then on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal

from recolorist.core import image as check
from recolorist.core.image import OnNonFinite
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError

__all__ = ["MATCHERS", "ApplyTo", "Blank", "EpsMode", "MatchOptions", "Matcher", "OnNonFinite", "Ties", "match_options"]

EpsMode = Literal["exact", "paper"]
ApplyTo = Literal["all", "mask"]
Blank = Literal["keep", "match"]
Ties = Literal["neighbours", "position"]

_NAMES: Final = MappingProxyType(
    {
        "eps_mode": ("exact", "paper"),
        "apply_to": ("all", "mask"),
        "on_nonfinite": ("raise", "mask"),
        "blank": ("keep", "match"),
        "ties": ("neighbours", "position"),
    }
)


@dataclass(frozen=True, slots=True)
class Matcher:
    """One method of matching.

    >>> MATCHERS["mean_std"].needs_pixels
    False
    """

    name: str
    needs_pixels: bool  #: False: the moments of the style are enough
    summary: str


#: Every method by its name.
MATCHERS: Final = MappingProxyType(
    {
        matcher.name: matcher
        for matcher in (
            Matcher("mean_std", False, summary="mean and standard deviation per channel; the paper's Colorist"),
            Matcher("histogram", True, summary="cumulative histogram per channel"),
            Matcher("exact_histogram", True, summary="the style's histogram exactly, by strict ordering (Coltuc 2006)"),
            Matcher("covariance", False, summary="mean and full covariance (Monge-Kantorovich linear map)"),
        )
    }
)


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """How an image is matched to a style.

    Every value is checked when the object is made, so code that holds one needs no checks of its own.

    Args:
        method: A key of :data:`MATCHERS`.
        space: A key of :data:`recolorist.SPACES`.
        strength: 0 leaves the image as it is, 1 matches it fully.
        max_gain: Largest factor on a channel.
        eps_mode: ``"exact"``, or ``"paper"`` for equation (1) of the paper as printed.
        strict: Refuse a style with a flat channel.
        clip: Clip outputs to the range of the image. False is for float images only.
        apply_to: Change ``"all"`` pixels, or only those of the ``"mask"``.
        on_nonfinite: ``"raise"`` for NaN and infinite pixels, or ``"mask"`` to leave them out.
        blank: ``"keep"`` to leave blank images as they are, or ``"match"`` to match them like all others.
        max_clip: Largest share of values that may be clipped.
        max_loss: Largest share of patches that may lose more than half of their detail.
        ties: How ``exact_histogram`` orders equal pixels: by their ``"neighbours"``, or by ``"position"`` alone.

    Raises:
        OptionError: A name is unknown, a number lies outside its limits, or a limit does not go with the method.

    Example:
        >>> MatchOptions(space="lab").measured_space
        'lab'
        >>> MatchOptions(strength=7)
        Traceback (most recent call last):
        recolorist.errors.OptionError: strength=7; accepted are numbers from 0 to 1
    """

    method: str = "mean_std"
    space: str = "rgb"
    strength: float = 1.0
    max_gain: float = 10.0
    eps_mode: EpsMode = "exact"
    strict: bool = False
    clip: bool = True
    apply_to: ApplyTo = "all"
    on_nonfinite: OnNonFinite = "raise"
    blank: Blank = "match"
    max_clip: float | None = None
    max_loss: float | None = None
    ties: Ties = "neighbours"
    #: Whether there is a limit on clipping or on lost detail.
    is_limited: bool = field(init=False, repr=False, compare=False)
    #: Whether the method needs the pixels of the style; moments are enough for the others.
    needs_pixels: bool = field(init=False, repr=False, compare=False)
    #: The space moments are taken in: RGB for every linear space, else the space itself.
    measured_space: str = field(init=False, repr=False, compare=False)
    #: Whether each channel is matched on its own, from its mean and variance in RGB alone.
    by_channel: bool = field(init=False, repr=False, compare=False)
    #: Whether a channel of the output depends on several of the input, so that plans need full covariances.
    mixes_channels: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check every field, and work out what follows from them."""
        check.option(self.method, MATCHERS, "method")
        check.option(self.space, SPACES, "space")
        for name, allowed in _NAMES.items():
            check.option(getattr(self, name), allowed, name)
        for name in ("strict", "clip"):
            object.__setattr__(self, name, check.truth(getattr(self, name), name))
        object.__setattr__(self, "strength", check.number(self.strength, 0, 1, "strength"))
        object.__setattr__(self, "max_gain", check.number(self.max_gain, 0, math.inf, "max_gain"))
        for name in ("max_clip", "max_loss"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check.number(getattr(self, name), 0, 1, name))
        object.__setattr__(self, "is_limited", self.max_clip is not None or self.max_loss is not None)
        object.__setattr__(self, "needs_pixels", MATCHERS[self.method].needs_pixels)
        if self.needs_pixels and self.max_loss is not None:
            raise OptionError(
                f"max_loss={self.max_loss:g} and method={self.method!r}: a histogram method has no gain to reduce; use mean_std "
                "or covariance, or leave max_loss out"
            )
        if self.ties != "neighbours" and self.method != "exact_histogram":
            raise OptionError(
                f"ties={self.ties!r} and method={self.method!r}: only exact_histogram orders equal pixels; leave ties out"
            )
        object.__setattr__(self, "measured_space", "rgb" if SPACES[self.space].is_linear else self.space)
        object.__setattr__(self, "by_channel", self.method == "mean_std" and self.space == "rgb")
        is_mixed = self.space != "rgb" and SPACES[self.space].is_linear
        object.__setattr__(self, "mixes_channels", self.method == "covariance" or is_mixed)

    def at_strength(self, strength: float) -> MatchOptions:
        """Return the same options with another strength; the other fields are not checked again."""
        if strength == self.strength:
            return self
        other = object.__new__(MatchOptions)
        for name in _FIELDS:
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "strength", check.number(strength, 0, 1, "strength"))
        return other


_FIELDS: Final = tuple(entry.name for entry in fields(MatchOptions))


@lru_cache(maxsize=256, typed=True)
def _cached(*values: Any) -> MatchOptions:
    return MatchOptions(*values)


def match_options(*values: Any) -> MatchOptions:
    """Make options from values in the order of the fields; equal values give the same object, without checking again.

    Checking nine values takes a tenth of the time of matching a small image.

    Example:
        >>> match_options("mean_std", "rgb") is match_options("mean_std", "rgb")
        True
    """
    try:
        return _cached(*values)
    except TypeError:  # a value that cannot be hashed; the constructor says which one is wrong
        return MatchOptions(*values)
