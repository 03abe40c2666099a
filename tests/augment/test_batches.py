"""Matching within a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist import match_within_batch
from recolorist.errors import OptionError

Images = NDArray[np.uint8]


@pytest.fixture(scope="module")
def tiles() -> Images:
    rng = np.random.default_rng(9)
    low, high = rng.integers(0, 100, (12, 1, 1, 3)), rng.integers(120, 256, (12, 1, 1, 3))
    return rng.integers(low, high, (12, 19, 23, 3)).astype(np.uint8)


class TestWithinBatch:
    def test_styles_come_from_the_batch(self, tiles: Images) -> None:
        out = match_within_batch(tiles, p=1.0, seed=3)
        means = tiles.reshape(12, -1, 3).mean(axis=1)
        for i in range(12):
            others = np.delete(means, i, axis=0)
            nearest = np.abs(others - out[i].reshape(-1, 3).mean(axis=0)).max(axis=1).min()
            assert nearest < 4.0  # rounding, and a little clipping at the ends

    def test_fraction_is_exact_and_order_is_kept(self, tiles: Images) -> None:
        out = match_within_batch(tiles, p=0.25, mode="batch_fraction", seed=1)
        changed = [not np.array_equal(a, b) for a, b in zip(tiles, out, strict=True)]
        assert sum(changed) == 3

    def test_one_image_stays(self, tiles: Images) -> None:
        np.testing.assert_array_equal(match_within_batch(tiles[:1], p=1.0), tiles[:1])

    def test_a_single_image_is_refused(self, tiles: Images) -> None:
        with pytest.raises(OptionError, match="one image"):
            match_within_batch(tiles[0])

    @pytest.mark.parametrize("name", ["strenght", "out", "style"])
    @pytest.mark.parametrize("p", [0.0, 1.0])
    def test_an_unknown_option_is_refused_even_if_no_image_is_drawn(self, tiles: Images, name: str, p: float) -> None:
        unknown: dict[str, Any] = {name: 1}
        with pytest.raises(OptionError, match=f"option '{name}' .*accepted are method, space, mask"):
            match_within_batch(tiles, p=p, **unknown)
