"""Foreground masks of calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from recolorist.augment.masks import find_mask, open_rule
from recolorist.core import foreground
from recolorist.errors import OptionError

EYE = np.zeros((6, 9, 3), np.uint8)
EYE[2:4, 3:6] = 120


@pytest.mark.parametrize("image", [EYE, Image.fromarray(EYE), EYE / 255.0], ids=["array", "PIL", "float"])
def test_a_named_rule_looks_at_any_image(image: Any) -> None:
    assert np.array_equal(find_mask(open_rule("fundus"), image), EYE[..., 0] > 0)


def test_a_rule_of_the_caller_gets_the_image_as_it_came() -> None:
    image = Image.fromarray(EYE)
    assert find_mask(open_rule(lambda given: given is image), image) is True


def test_no_rule_is_no_mask() -> None:
    assert open_rule(None) is None
    assert find_mask(None, EYE) is None


@pytest.mark.parametrize("mask", ["skin", 3, EYE])
def test_anything_else_is_refused(mask: Any) -> None:
    with pytest.raises(OptionError, match="mask="):
        open_rule(mask)


def test_the_table_is_that_of_the_core() -> None:
    assert {name: open_rule(name) for name in foreground.RULES} == dict(foreground.RULES)
