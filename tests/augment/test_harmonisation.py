"""Records of harmonising: what they say, and to JSON and back."""

from __future__ import annotations

import pytest

from recolorist.augment.harmonisation import Harmonisation, Judgement
from recolorist.errors import StatisticsError


@pytest.mark.parametrize(("reason", "keeps"), [("blank", True), ("inside", True), ("outside", False), ("ungated", False)])
def test_a_judgement_keeps_blank_images_and_those_inside(reason: str, keeps: bool) -> None:
    assert Judgement(reason, 0.0).keeps is keeps  # type: ignore[arg-type]


def test_a_record_is_read_as_it_was_written() -> None:
    record = Harmonisation("inside", 1.5, 4.0)
    assert Harmonisation.from_json(record.to_json()) == record
    with pytest.raises(StatisticsError, match="no record of harmonising"):
        Harmonisation.from_json('{"reason": "else"}')
