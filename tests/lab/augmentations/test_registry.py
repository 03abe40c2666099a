"""Building augmentations by name."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.augmentations import build
from tests.lab.augmentations.parts import images


def test_settings_beside_a_chain_are_refused() -> None:
    for name in ("colorist+random_flip", "colorist(space='lab')"):
        with pytest.raises(OptionError, match="p came beside the augmentation"):
            build(name, images(), seed=0, p=0.5)
    assert build("colorist", images(), seed=0, p=0.5).p == 0.5  # type: ignore[attr-defined]
