"""Photographs of scikit-image: reduced, repeatable, and named when they are missing."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from recolorist.demo.photos import other_camera, photo
from recolorist.errors import RecoloristError


@pytest.mark.parametrize("name", ["ihc.png", "retina.jpg"])
def test_a_photo_is_a_square_of_the_given_side(name: str) -> None:
    picture = photo(name, 48)
    assert picture.shape == (48, 48, 3)
    assert picture.dtype == np.uint8
    assert picture.std() > 10
    assert np.array_equal(picture, photo(name, 48))


def test_a_missing_photo_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(RecoloristError, match=r"ihc\.png, which comes with scikit-image.*reinstall scikit-image"):
        photo("ihc.png", 48)


def test_the_other_camera_keeps_the_order_of_levels_and_changes_the_balance() -> None:
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 3, axis=2)
    seen = other_camera(ramp).astype(int)
    assert (np.diff(seen, axis=0) >= 0).all()
    assert seen[255, 0].tolist() == [204, 219, 230]
    assert seen[0, 0].tolist() == [0, 0, 0]
