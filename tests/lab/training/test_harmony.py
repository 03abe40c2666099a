"""Harmonising test images, and the pooled statistics of a bank."""

from __future__ import annotations

import numpy as np

import recolorist as rc
from recolorist_lab.data.synthetic import Recipe, make
from recolorist_lab.training.harmony import Harmony, harmonies, pool

TILES = make(Recipe(hospitals=3, tiles=16, size=8))


def bank(count: int = 16) -> rc.StyleBank:
    return rc.StyleBank.build(TILES.images[:count], split="train")


def test_a_pool_is_all_images_as_one() -> None:
    pixels = TILES.images[:16].reshape(-1, 3) / 255
    together = pool(bank())
    np.testing.assert_allclose(together.mean, pixels.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(together.cov, np.cov(pixels.T, bias=True), atol=1e-9)


def test_an_image_is_harmonised_as_the_library_does() -> None:
    sample = TILES.samples("test")[0]
    assert np.array_equal(Harmony(bank())(sample), rc.Harmoniser(bank(), "off")(sample.image))


def test_a_border_stays_black() -> None:
    boxed = TILES.samples("test", size=12, resize="letterbox")[0]._replace(box=(0, 2, 12, 10))
    image = Harmony(bank())(boxed)
    assert np.array_equal(image[:2], boxed.image[:2])
    assert np.array_equal(image[10:], boxed.image[10:])


def test_a_small_bank_has_no_gate() -> None:
    assert list(harmonies(bank(4))) == ["test_harmonised"]
    assert list(harmonies(bank(16))) == ["test_harmonised", "test_gated"]
