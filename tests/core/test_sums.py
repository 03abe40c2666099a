"""Sums of pixels: a channel has the same sums, however its pixels lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.core import image, kernels
from recolorist.core.sums import float_sums, integer_sums
from recolorist.errors import ImageError


@pytest.mark.parametrize("name", ["c", "numpy"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 7, 3), (80, 97, 3), (64, 130, 4)])
def test_planes_give_the_bits_of_pixels(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    if name == "c" and kernels._compiled is None:
        pytest.skip("the compiled loops were not built here")
    pixels = np.random.default_rng(1).random(shape).astype(dtype)
    planar = np.moveaxis(np.ascontiguousarray(np.moveaxis(pixels, -1, 0)), 0, -1)
    with kernels.using(name):  # type: ignore[arg-type]  # one of the two names
        assert float_sums(planar, "image", diagonal=True) == float_sums(pixels, "image", diagonal=True)


def test_planes_that_are_not_finite_are_refused() -> None:
    planar = np.moveaxis(np.ones((3, 4, 5), np.float32), 0, -1)
    planar[1, 2, 2] = np.nan
    with pytest.raises(ImageError, match="NaN"):
        float_sums(planar, "image", diagonal=True)


def test_integer_sums_are_exact() -> None:
    pixels = np.random.default_rng(2).integers(0, 65536, (9, 11, 3), dtype=np.uint16)
    count, sums, products = integer_sums(image.open_image(pixels), None, 3)
    wide = pixels.reshape(-1, 3).astype(object)
    assert (count, list(sums)) == (99, wide.sum(axis=0).tolist())
    assert products[3] == int((wide[:, 0] * wide[:, 1]).sum())
