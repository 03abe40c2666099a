"""Samplers that draw the style of one image of the bank."""

from __future__ import annotations

from typing import Final

import numpy as np

from recolorist.augment.styles import Content, Style
from recolorist.bank.style_bank import StyleBank
from recolorist.core.moments import trusted_moments
from recolorist.errors import OptionError

__all__ = ["any_row", "balanced_domain", "other_domain", "other_label", "refuse_no_domains", "same_label", "uniform"]

_UNSEEN: Final = -2  # the code of a label or domain that the bank does not have: every style is another's


def uniform(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw any other image of the bank, all equally likely: the paper's choice.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), labels=list("xxyy"), domains=list("aabb"))
        >>> uniform(bank, np.random.default_rng(1), Content(row=0)).row in (1, 2, 3)
        True
    """
    return _style(bank, any_row(bank, rng, content.row))


def other_domain(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw an image of another hospital, scanner or camera; any other image if the bank has one domain only.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Raises:
        OptionError: The domain of the image is not known.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), labels=list("xxyy"), domains=list("aabb"))
        >>> bank.domain(other_domain(bank, np.random.default_rng(1), Content(row=0)).row)
        'b'
    """
    return _style(bank, _outside_group(bank, rng, content, "domain"))


def same_label(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw another image of the same class; the image itself only if it is the only one.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Raises:
        OptionError: The label of the image is not known, or not in the bank.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), labels=list("xxyy"), domains=list("aabb"))
        >>> same_label(bank, np.random.default_rng(1), Content(row=0)).row
        1
    """
    code = _code(bank, content, "label")
    if code == _UNSEEN:
        raise OptionError(
            f"label={content.label!r} is not in the bank, which has {', '.join(map(repr, bank.labels))}; "
            "build the bank with it, or use another sampler"
        )
    return _style(bank, _inside_group(bank, rng, code, content.row, "label"))


def other_label(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw an image of another class; any other image if the bank has one class only.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Raises:
        OptionError: The label of the image is not known.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), labels=list("xxyy"), domains=list("aabb"))
        >>> bank.label(other_label(bank, np.random.default_rng(1), Content(row=0)).row)
        'y'
    """
    return _style(bank, _outside_group(bank, rng, content, "label"))


def balanced_domain(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:
    """Draw a domain, all equally likely, then another image of it: small hospitals count as much as large ones.

    Images without a domain are not drawn. The domain of an image that is alone in it is not drawn for that image.

    Args:
        bank: The bank to draw from.
        rng: The generator of this draw.
        content: What is known of the image to be changed.

    Returns:
        The style.

    Raises:
        OptionError: The bank has no domains.

    Example:
        >>> bank = StyleBank.build(np.arange(1440, dtype="u1").reshape(4, 8, 15, 3), labels=list("xxyy"), domains=list("aabb"))
        >>> balanced_domain(bank, np.random.default_rng(1), Content(row=0)).row in (1, 2, 3)
        True
    """
    codes = bank.groups("domain").codes
    codes = codes[codes >= 0]
    if not len(codes):
        refuse_no_domains(bank)
    if len(codes) > 1 and content.row is not None:
        own = int(bank.domain_codes[content.row])
        start, stop = bank.groups("domain").bounds(own)
        codes = codes[codes != own] if stop - start == 1 else codes
    code = int(codes[rng.integers(len(codes))])
    return _style(bank, _inside_group(bank, rng, code, content.row, "domain"))


def refuse_no_domains(bank: StyleBank) -> None:
    """Refuse a bank none of whose images has a domain.

    Args:
        bank: The bank.

    Raises:
        OptionError: It has no domains.
    """
    if not (bank.groups("domain").codes >= 0).any():
        raise OptionError("this sampler needs domains, and the bank has none: build it with domains, or use another sampler")


def _style(bank: StyleBank, row: int) -> Style:
    moments = trusted_moments(int(bank.pixels[row]), bank.mean[row], bank.cov[row], 1.0, bank.space)
    return Style(bank.keys[row], row, moments)


def any_row(bank: StyleBank, rng: np.random.Generator, own: int | None) -> int:
    """Draw a row of the bank other than the image's own, all equally likely; its own only if there is no other.

    Args:
        bank: The bank.
        rng: The generator of this draw.
        own: The image's own row; None if it has none.

    Returns:
        The row.

    Example:
        >>> bank = StyleBank.build(np.arange(720, dtype="u1").reshape(2, 8, 15, 3))
        >>> any_row(bank, np.random.default_rng(1), 0)
        1
    """
    if own is None or len(bank) == 1:
        return int(rng.integers(len(bank)))
    row = int(rng.integers(len(bank) - 1))
    return row + (row >= own)


def _inside_group(bank: StyleBank, rng: np.random.Generator, code: int, own: int | None, by: str) -> int:
    groups = bank.groups(by)
    start, stop = groups.bounds(code)
    members = groups.order[start:stop]
    place = None if own is None else int(np.searchsorted(members, own))  # rows of one group are in order
    if place is None or place >= len(members) or members[place] != own or len(members) == 1:
        return int(members[rng.integers(len(members))])
    drawn = int(rng.integers(len(members) - 1))
    return int(members[drawn + (drawn >= place)])


def _outside_group(bank: StyleBank, rng: np.random.Generator, content: Content, by: str) -> int:
    groups = bank.groups(by)
    start, stop = groups.bounds(_code(bank, content, by))
    others = len(bank) - (stop - start)
    if others == 0:
        return any_row(bank, rng, content.row)
    drawn = int(rng.integers(others))
    return int(groups.order[drawn if drawn < start else drawn + (stop - start)])


def _code(bank: StyleBank, content: Content, by: str) -> int:
    """The content's own label or domain: as given, else as the bank knows it."""
    table, codes = (bank.domains, bank.domain_codes) if by == "domain" else (bank.labels, bank.label_codes)
    given = content.domain if by == "domain" else content.label
    if given is None and content.row is not None:
        return int(codes[content.row])
    if not table or given is None:
        raise OptionError(
            f"this sampler needs the {by} of each image, and it is not known: build the bank with {by}s and pass key=, or "
            f"pass {by}= in the call"
        )
    return table.index(given) if given in table else _UNSEEN
