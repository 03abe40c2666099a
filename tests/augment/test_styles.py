"""What samplers are given and return."""

from __future__ import annotations

import pickle  # noqa: TID251 - what loaders do with samples

import pytest

from recolorist import Colorist, StyleBank
from recolorist.augment.samplers import SAMPLERS, Content, own_style_by
from recolorist.augment.streams import stream
from recolorist.augment.styles import Sampler, Style, name_of_sampler
from recolorist.errors import StatisticsError
from tests.augment.sampling import make_bank


def test_a_function_of_the_user_is_a_sampler() -> None:
    """It is given what is known of the image, and its style is used as it is."""
    bank, seen = make_bank(), []

    def first(styles: object, rng: object, content: Content) -> Style:  # noqa: ARG001 - the common signature
        seen.append(content)
        return Style("first", 0, bank.moments(0))

    draw = Colorist(bank, p=1.0, sampler=first, seed=1).draw("2", label="x", domain="d")
    assert draw is not None
    assert draw.style.name == "first"
    assert seen == [Content(2, "x", "d")]


def test_every_style_travels_between_processes() -> None:
    bank = make_bank()
    for name, sampler in SAMPLERS.items():
        style = sampler(bank, stream(1), Content(row=1))
        again = pickle.loads(pickle.dumps(style))  # noqa: S301 - our own bytes
        assert (again.name, again.row, again.is_capped) == (style.name, style.row, style.is_capped), name


def test_a_change_of_the_image_s_own_style_has_no_moments() -> None:
    style = SAMPLERS["own_style"](make_bank(), stream(1), Content())
    with pytest.raises(StatisticsError, match=r"own_style.*has no moments of its own"):
        style.moments  # noqa: B018 - a property that raises


class First:
    """A sampler that is an object, which prints itself as an address."""

    def __call__(self, bank: StyleBank, rng: object, content: Content) -> Style:  # noqa: ARG002 - the common signature
        return Style("first", 0, bank.moments(0))


@pytest.mark.parametrize(
    ("sampler", "name"),
    [
        (SAMPLERS["own_style"], "own_style"),
        (own_style_by(2.0), "own_style(scale=2.0, least=0.1, mix=0.1)"),
        (First(), "First"),
    ],
    ids=["function", "with options", "object"],
)
def test_names_hold_no_address(sampler: Sampler, name: str) -> None:
    """They are part of what names a cache, and a line of a log is to be enough to repeat a run."""
    assert name_of_sampler(sampler) == name
    assert f"sampler={name!r}" in repr(Colorist(make_bank(), sampler=sampler, seed=1))
