"""Every flag of an audit: what it means, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

__all__ = ["FLAGS", "Flag", "describe_flags", "flags_of_summary"]


class Flag(NamedTuple):
    """What a flag means, and what to do."""

    meaning: str
    remedy: str
    needs_bank: bool = False  #: an audit of a collection finds it only where a bank was given


#: Flags of a collection in the order of reports; ``docs/collections.md`` has how often each occurs on real images.
FLAGS: Final = MappingProxyType(
    {
        "flat": Flag(
            "a channel has one value only; matching moves it to the style's mean",
            "look at the scan, or read it as grey; a flat channel cannot be matched",
        ),
        "blank": Flag(
            "nothing in it: glass, a failed scan, a black frame",
            "leave it out; augment and harmonise keep it as it is, unless --blank match",
        ),
        "saturated": Flag(
            "many pixels are white in every channel",
            "expose less, or measure the foreground only (--mask); white has no detail to match",
        ),
        "clips": Flag(
            "a typical style of the bank would clip many of its values (those already at an end of the range do not count)",
            "set max_clip (--max-clip), or use a bank of more similar images",
            needs_bank=True,
        ),
        "detail_lost": Flag(
            "a match takes more than half of the detail from some patches",
            "look at the marked patches; set max_loss (--max-loss), or choose another style",
            needs_bank=True,
        ),
        "gain_capped": Flag(
            "so little contrast that it would need more than the allowed gain",
            "leave it out, or lower max_gain (--max-gain): its noise is amplified",
            needs_bank=True,
        ),
        "outlier": Flag(
            "far from the rest of its domain, or of the collection, in brightness or contrast",
            "look at it; it may have another stain or scanner, a wrong label or a damaged file",
        ),
    }
)
_OF_ONE_MATCH: Final = {
    "collapsed": Flag(
        "the style has one value in a channel, so the output has too",
        "choose another style; strict (--strict) refuses such styles",
    ),
}


def describe_flags(names: Iterable[str]) -> list[str]:
    """Return one sentence for each flag of a match: its name, what it means and what to do.

    Args:
        names: Names of flags; repeated ones count once.

    Returns:
        A sentence for each flag, sorted.

    Example:
        >>> describe_flags(["collapsed"])[0].partition(":")[0]
        'collapsed'
    """
    flags = {**FLAGS, **_OF_ONE_MATCH}
    return [f"{name}: {flags[name].meaning}. What to do: {flags[name].remedy}." for name in sorted(set(names))]


def flags_of_summary(summary: Mapping[str, Any]) -> dict[str, Flag]:
    """Return the flags that a summary can hold; some need a bank.

    Args:
        summary: The summary of an audit.

    Returns:
        The flags by name.
    """
    return {name: flag for name, flag in FLAGS.items() if not flag.needs_bank or "clip_median" in summary}
