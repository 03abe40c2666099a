"""Pictures of transfers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.studies.transfer.figure import examples, one_per_modality, qualitative, triplets


def kept(pairs: int, level: int) -> Any:
    return np.full((pairs, 3, 4, 4, 3), level, np.uint8)


def test_with_few_kinds_of_images_several_pairs_are_shown() -> None:
    rows = examples({"synthetic:tiles=4": {"Colorist": kept(9, 1), "AdaIN": kept(3, 2)}})
    assert len(rows) == 3
    assert {row.title for row in rows} == {"synthetic hospitals"}
    assert rows[0].outputs["AdaIN"].max() == 2


def test_a_modality_is_shown_once() -> None:
    assert one_per_modality(["organamnist", "mine", "organcmnist"]) == ["organamnist", "mine"]
    with pytest.raises(OptionError, match="nothing to show"):
        examples({})


def test_figures_have_a_picture_for_each_part() -> None:
    rows = examples({"mine": {"Colorist": kept(4, 1), "AdaIN": kept(4, 2)}})
    assert sum(len(axes.images) for axes in triplets(rows, "Colorist").axes) == 4 * 3
    drawn = qualitative(rows, {"Colorist": "Colorist", "AdaIN": "AdaIN", "absent": "absent"})
    assert sum(len(axes.images) for axes in drawn.axes) == 4 * 4
