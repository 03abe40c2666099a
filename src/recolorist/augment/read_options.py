"""The options of a match as attributes of the class that was made with them."""

from __future__ import annotations

from recolorist.core.options import Blank, MatchOptions

__all__ = ["ReadOptions"]


class ReadOptions:
    """Attributes that read the options; they cannot be set, since options are checked once.

    Example:
        >>> class Matching(ReadOptions):
        ...     options = MatchOptions(space="lab")
        >>> Matching().space
        'lab'
    """

    options: MatchOptions

    @property
    def method(self) -> str:
        """The method of matching."""
        return self.options.method

    @property
    def space(self) -> str:
        """The colour space of matching."""
        return self.options.space

    @property
    def max_gain(self) -> float:
        """The largest factor on a channel."""
        return self.options.max_gain

    @property
    def max_clip(self) -> float | None:
        """The largest share of values that may be clipped."""
        return self.options.max_clip

    @property
    def max_loss(self) -> float | None:
        """The largest share of patches that may lose more than half of their detail."""
        return self.options.max_loss

    @property
    def apply_to(self) -> str:
        """Which pixels are changed: all, or those of the mask."""
        return self.options.apply_to

    @property
    def blank(self) -> Blank:
        """What happens to blank images: they are kept as they are, or matched like all others."""
        return self.options.blank
