"""Cards as TOML: read whole, and refused with a sentence."""

from __future__ import annotations

from importlib.resources import files

import pytest

from recolorist.errors import OptionError
from recolorist_lab.data.registry import CARDS, parse_card

FOLDER = files("recolorist_lab.data.cards")
TEXT = FOLDER.joinpath("ddi.toml").read_text("utf-8")


def test_every_file_is_a_card() -> None:
    assert {path.name.removesuffix(".toml") for path in FOLDER.iterdir() if path.name.endswith(".toml")} == set(CARDS)


def test_a_card_is_what_its_file_says() -> None:
    assert parse_card("ddi", TEXT) == CARDS["ddi"]
    assert parse_card("ddi", TEXT.replace('"DDI"', '"Other"', 1)).title == "Other"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title = ", "titel = ", "the card of ddi: 'titel' is unknown; did you mean 'title'"),
        ('task = "binary"', 'task = "binaries"', "task: 'binaries' is unknown; did you mean 'binary'"),
        ('task = "binary"\n', "", "'task' must be given"),
        ("train = ", 'train = "many" #', "train is 'many'; accepted is int"),
        ('classes = ["benign", "malignant"]', 'classes = "benign"', "classes is 'benign'; accepted is a list"),
        ("[expected]", "[expected", "is not valid TOML"),
        ("train = ", f"train = {'9' * 5_000} #", "is not valid TOML"),  # Python refuses to read such a number
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(OptionError, match=message):
        parse_card("ddi", TEXT.replace(old, new, 1))
