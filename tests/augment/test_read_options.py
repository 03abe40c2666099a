"""The options of a match as attributes."""

from __future__ import annotations

import pytest

from recolorist.augment.read_options import ReadOptions
from recolorist.core.options import MatchOptions


def test_every_attribute_reads_its_option_and_cannot_be_set() -> None:
    class Matching(ReadOptions):
        options = MatchOptions("covariance", "yiq", max_gain=3.0, max_clip=0.1, max_loss=0.2, apply_to="mask", blank="keep")

    matching = Matching()
    for name in ("method", "space", "max_gain", "max_clip", "max_loss", "apply_to", "blank"):
        assert getattr(matching, name) == getattr(Matching.options, name)
        with pytest.raises(AttributeError):
            setattr(matching, name, None)
