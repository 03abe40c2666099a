"""Options of a network as they are typed."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.baselines.options import pairs, parsed


class TestOptions:
    def test_types_are_those_of_the_defaults(self) -> None:
        assert parsed("adain", ["alpha=1", "preserve_colour=ON"]) == {"alpha": 1.0, "preserve_colour": True}
        assert parsed("efdm", ["transform=mean"]) == {"transform": "mean"}

    @pytest.mark.parametrize("text", ["alpha", "alpha=x", "alpha=nan", "preserve_colour=2", "gamma=1", "=1"])
    def test_what_cannot_be_read_is_refused(self, text: str) -> None:
        with pytest.raises(OptionError):
            parsed("adain", [text])

    def test_each_once(self) -> None:
        assert pairs(["a=1", "b="], "--x") == {"a": "1", "b": ""}
        with pytest.raises(OptionError, match="each option once"):
            pairs(["a=1", "a=2"], "--x")
