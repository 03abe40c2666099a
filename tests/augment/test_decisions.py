"""Records of what was drawn and decided."""

import json

import numpy as np
import pytest

from recolorist import Colorist, StyleBank
from recolorist.augment.decisions import Decision
from recolorist.errors import StatisticsError

RNG = np.random.default_rng(0)
TILES = RNG.integers(0, 256, (4, 9, 8, 3), dtype=np.uint8)
GLASS = RNG.integers(240, 246, (9, 8, 3), dtype=np.uint8)


@pytest.mark.parametrize("options", [{}, {"max_clip": 0.01}, {"space": "lab"}, {"method": "histogram"}])
def test_a_decision_about_a_blank_image_says_so_and_comes_back(options: dict[str, object]) -> None:
    bank = StyleBank.build(TILES, split="train", with_histograms=True, space=str(options.get("space", "rgb")))
    colorist = Colorist(bank, p=1.0, seed=1, **options)  # type: ignore[arg-type]
    decision = Decision.from_json(colorist.params(GLASS, key="x").to_json())
    assert (decision.applied, decision.is_blank, decision.style) == (False, True, None)
    assert colorist.apply(GLASS, decision) is GLASS
    assert not colorist.params(TILES[0], key="x").is_blank


def test_anything_else_is_refused() -> None:
    with pytest.raises(StatisticsError, match="not a decision"):
        Decision.from_json("{}")


@pytest.mark.parametrize(
    "wrong",
    [
        {"applied": 1},
        {"style": 3},
        {"row": "0"},
        {"row": -1},
        {"row": True},
        {"strength": "1"},
        {"strength": 2.0},
        {"contrast": None},
        {"contrast": float("nan")},
        {"plan": []},
        {"more": 1},
    ],
    ids=str,
)
def test_entries_of_another_kind_are_refused(wrong: dict[str, object]) -> None:
    """They were taken, and ended in a TypeError, or in another style, when the decision was applied."""
    entries = json.loads(Decision(True, "a", 0, 1.0).to_json())
    assert Decision.from_json(json.dumps(entries)) == Decision(True, "a", 0, 1.0)
    with pytest.raises(StatisticsError, match="not a decision"):
        Decision.from_json(json.dumps(entries | wrong))


@pytest.mark.parametrize("row", [-1, 4, None])
def test_a_row_that_the_bank_does_not_have_is_refused(row: int | None) -> None:
    """Row -1 was the last style of the bank."""
    colorist = Colorist(StyleBank.build(TILES, split="train", with_histograms=True), method="histogram", seed=1)
    with pytest.raises(StatisticsError, match=f"names style row {row}, which this bank does not have"):
        colorist.apply(TILES[0], Decision(True, "a", row, 1.0))
