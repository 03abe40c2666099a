"""Sums of pixels, which means and covariances are made of."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.core import image
from recolorist.core.sums import MOST_PAIRED, exact_pairs, float_sums, integer_pairs, integer_sums
from recolorist.errors import ImageError


def test_floats_that_are_not_finite_are_refused() -> None:
    pixels = np.ones((4, 5, 3), np.float32)
    pixels[1, 2, 2] = np.nan
    with pytest.raises(ImageError, match="NaN"):
        float_sums(pixels, "image")


def test_products_are_the_upper_triangle() -> None:
    mean, products, lows, highs = float_sums(np.array([[[0.0, 1.0], [1.0, 0.0]]]), "image")
    assert (mean, products) == ([0.5, 0.5], [0.5, -0.5, 0.5])
    assert (lows, highs) == ([0.0, 0.0], [1.0, 1.0])


def test_integer_sums_are_exact() -> None:
    pixels = np.random.default_rng(2).integers(0, 65536, (9, 11, 3), dtype=np.uint16)
    count, sums, products = integer_sums(image.open_image(pixels), None, 3)
    wide = pixels.reshape(-1, 3).astype(object)
    assert (count, list(sums)) == (99, wide.sum(axis=0).tolist())
    assert products[3] == int((wide[:, 0] * wide[:, 1]).sum())


@pytest.mark.parametrize("depth", [1, 3, 4, 5])
@pytest.mark.parametrize("rows", [MOST_PAIRED // 128 - 1, MOST_PAIRED // 128, MOST_PAIRED // 128 + 1])
@pytest.mark.parametrize("planar", [False, True])
def test_means_and_variances_are_the_nearest_numbers_on_both_sides_of_the_limit(depth: int, rows: int, *, planar: bool) -> None:
    """Up to 2**18 pixels are divided by compiled code, larger images by Python; half of the values are 0 and half 255."""
    pixels = np.random.default_rng(3).choice(np.array([0, 1, 254, 255], np.uint8), (rows, 128, depth))
    opened = image.open_image(np.moveaxis(np.moveaxis(pixels, -1, 0).copy(), 0, -1) if planar else pixels)
    assert integer_pairs(opened, None, "image") == exact_pairs(*integer_sums(opened, None, 1))
    wide = pixels[..., 0].astype(np.int64)
    count = wide.size
    mean, variance = integer_pairs(opened, None, "image")[0]
    total, squares = int(wide.sum()), int((wide * wide).sum())
    assert (mean, variance) == (total / count, (count * squares - total * total) / (count * count))
