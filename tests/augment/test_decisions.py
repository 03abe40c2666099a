"""Records of what was drawn and decided."""

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
