"""How a bank was made: which pixels of its images were measured, and what was done with blank ones."""

from __future__ import annotations

import warnings
from typing import Any, Final, Literal, NamedTuple

from recolorist.bank.names import format_name
from recolorist.core.foreground import RULES

__all__ = [
    "ALL_PIXELS",
    "OWN_MASKS",
    "BlankStyles",
    "LeftOut",
    "MaskCheck",
    "PreprocessingWarning",
    "describe_mask",
    "warn_of_other_mask",
]

#: What a bank says of blank images: none is in it, or they were asked for. None where a bank does not say.
BlankStyles = Literal["left out", "kept"]

ALL_PIXELS: Final = "none"  #: the mask rule of a bank of which all pixels were measured
OWN_MASKS: Final = "own"  #: the mask rule of a bank whose caller gave a mask for each image


class PreprocessingWarning(UserWarning):
    """The bank was measured on images prepared otherwise than those that come now; their deviations are not comparable."""


class LeftOut(NamedTuple):
    """A blank image that is not in the bank; samplers that need its label or domain find them here."""

    key: str
    label: str | None = None
    domain: str | None = None

    @classmethod
    def of(cls, key: Any, label: Any = None, domain: Any = None) -> LeftOut:
        """Make one of the entries of a file.

        Args:
            key: The key of the image.
            label: Its label.
            domain: Its domain.

        Returns:
            The entry.
        """
        return cls(str(key), format_name(label), format_name(domain))


def describe_mask(rule: str | None) -> str:
    """Return which pixels were measured, in words.

    Args:
        rule: What a bank says of its mask.

    Returns:
        Words for a message.

    Example:
        >>> describe_mask("tissue"), describe_mask(None)
        ("the pixels of mask 'tissue'", 'pixels that it does not name')
    """
    descriptions = {None: "pixels that it does not name", ALL_PIXELS: "all pixels", OWN_MASKS: "the pixels of given masks"}
    return descriptions.get(rule, f"the pixels of mask {rule!r}")


def warn_of_other_mask(bank: str | None, mask: Any, subject: str) -> None:
    """Warn if a bank was measured by another mask rule than images that come now.

    There is no warning where either is unknown: banks of earlier versions, masks that the caller gives or computes.

    Args:
        bank: The rule of the bank.
        mask: The name of the rule for the images, None for all pixels, or a function.
        subject: What the images are called in the message.
    """
    comparable = (ALL_PIXELS, *RULES)
    now = ALL_PIXELS if mask is None else mask
    if bank not in comparable or now not in comparable or now == bank:
        return
    rule = "" if now == ALL_PIXELS else f" --mask {now}"
    warnings.warn(
        f"the bank was measured on {describe_mask(bank)}, and {subject} on {describe_mask(now)}. Their means and deviations "
        f"are not comparable: build the bank in the same way (bank build{rule}, masks={mask!r}), or measure both with "
        f"mask={None if bank == ALL_PIXELS else bank!r}.",
        PreprocessingWarning,
        stacklevel=3,
    )


class MaskCheck:
    """Warns once where images are measured by another mask rule than the bank.

    A rule that is an option is compared at once. Otherwise a call may come with a mask, so the first call without one decides.

    Args:
        bank: The rule of the bank.
        mask: The option: the name of a rule, a function, or None.

    Example:
        >>> check = MaskCheck("none", None)
        >>> check.see(None)  # all pixels, as in the bank
    """

    __slots__ = ("_bank", "_is_open", "_was_open")

    def __init__(self, bank: str | None, mask: Any) -> None:
        """Compare the option, if there is one."""
        self._bank = bank
        self._is_open = self._was_open = mask is None and bank in RULES
        if mask is not None:
            warn_of_other_mask(bank, mask, "these images")

    def see(self, mask: Any) -> None:
        """Compare the mask of a call, None for all pixels.

        Args:
            mask: The mask of the call; None: none.
        """
        if self._is_open and mask is None:
            self._is_open = False
            warn_of_other_mask(self._bank, None, "these images")

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy what was known at first, so that a hash does not change with use."""
        return _renew_check, (self._bank, self._was_open)


def _renew_check(bank: str | None, is_open: bool) -> MaskCheck:
    check = MaskCheck(None, None)
    check._bank, check._is_open, check._was_open = bank, is_open, is_open  # noqa: SLF001 - the same module
    return check
