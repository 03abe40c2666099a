"""Sums of pixels, which means and covariances are made of."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.core import image
from recolorist.core.sums import float_sums, integer_sums
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
