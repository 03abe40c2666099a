"""Cards and the table of datasets as text."""

from __future__ import annotations

import pytest

from recolorist_lab.data.describe import describe_card, stats_rows
from recolorist_lab.data.registry import CARDS, card_of
from recolorist_lab.data.statistics import Summary


@pytest.mark.parametrize("name", [*CARDS, "breastmnist_28"])
def test_a_card_says_what_and_where(name: str) -> None:
    card = card_of(name)
    text = describe_card(card)
    for word in (card.title, f"{card.expected.train:,}", *card.classes, *(source.licence for source in card.sources)):
        assert word in text
    assert all(file.name in text for file in card.files)


def test_verdicts() -> None:
    paper = ((3, 2, 1), 2.0, 0.9)
    lines = [
        Summary("a", 2, (3, 2, 1), 2.0, 0.9, True, paper),
        Summary("b", 2, (3, 2, 2), 2.0, 0.9, True, paper),
        Summary("c", 2, (3, 2, 1), 2.0, 0.9, False, paper),
        Summary("d", 2, (3, 2, 1), 2.0, 0.9, True, None),
    ]
    assert [row[-1] for row in stats_rows(lines)[1:]] == ["agrees", "differs", "differs", "not in the paper"]
    assert stats_rows(lines)[1][2:4] == ["3 / 2 / 1", "3 / 2 / 1"]
