"""Samplers that make new styles: where these lie, and that an image can have them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recolorist import Colorist, StyleBank
from recolorist.augment.new_styles import change_sizes
from recolorist.augment.samplers import SAMPLERS, Content, beyond_by, extrapolate_by, own_style_by
from recolorist.augment.streams import stream
from recolorist.core import kernels
from recolorist.core.style_change import StyleChange
from recolorist.errors import OptionError
from tests.augment.sampling import draws, make_bank


@pytest.fixture(scope="module")
def bank() -> StyleBank:
    return make_bank()


@pytest.mark.parametrize("name", ["gaussian", "extrapolate", "beyond"])
def test_no_style_is_drawn_that_no_image_can_have(name: str) -> None:
    """Values of mean m in the range 0 to 1 have a variance of m (1 - m) at most."""
    rng = np.random.default_rng(5)
    images = [(rng.random((8, 8, 3)) < level) * np.uint8(white) for level in (0.03, 0.2, 0.5) for white in range(60, 256, 15)]
    bank = StyleBank.build(images, split="train")
    styles = draws(bank, name, Content(), 500)
    for style in styles:
        mean, variance = style.moments.mean, style.moments.cov.diagonal()
        assert ((mean >= 0) & (mean <= 1)).all()
        assert (variance <= mean * (1 - mean) + 1e-12).all()
        assert np.linalg.eigvalsh(style.moments.cov)[0] > -1e-12
    capped = [style.is_capped for style in styles]
    assert 0 < sum(capped) < len(capped)


@pytest.mark.parametrize("name", ["gaussian", "extrapolate", "beyond"])
def test_no_style_is_drawn_that_would_leave_a_channel_one_value(name: str) -> None:
    """Of bright images 40 % of the draws of `beyond` moved a mean to the end of the range, where no variance is possible."""
    rng = np.random.default_rng(7)
    bank = StyleBank.build([rng.normal(level, 12, (8, 8, 3)).clip(0, 255).astype(np.uint8) for level in range(190, 240)])
    for style in draws(bank, name, Content(), 500):
        assert (style.moments.mean <= 0.98).all()
        assert (style.moments.cov.diagonal() > 1e-6).all()


def test_means_that_the_bank_has_are_possible() -> None:
    """Fundus photographs have a blue channel with a mean near 0."""
    rng = np.random.default_rng(7)
    bank = StyleBank.build([rng.integers(0, (120, 60, level), (8, 8, 3)).astype(np.uint8) for level in range(2, 9)])
    means = np.array([style.moments.mean for style in draws(bank, "beyond", Content(), 300)])
    assert bank.mean.min() < 0.004
    assert means.min() == bank.mean[:, 2].min()
    assert means[:, :2].min() == 0.02


def test_interpolated_means_lie_between(bank: StyleBank) -> None:
    for style in draws(bank, "interpolate", Content(row=0), 200):
        assert (style.moments.mean >= bank.mean.min(axis=0) - 1e-15).all()
        assert (style.moments.mean <= bank.mean.max(axis=0) + 1e-15).all()


def test_gaussian_follows_the_bank() -> None:
    rng = np.random.default_rng(2)
    tiles = [rng.normal(rng.uniform(0.3, 0.6), rng.uniform(0.05, 0.15), (40, 30, 3)).clip(0, 1) for _ in range(300)]
    bank = StyleBank.build(tiles)
    drawn = np.array([SAMPLERS["gaussian"](bank, stream(4, 0, i), Content()).moments.mean for i in range(4000)])
    spread = bank.mean.std(axis=0)
    # the mean of 4000 draws has a deviation of spread / 63; five of those
    np.testing.assert_allclose(drawn.mean(axis=0), bank.mean.mean(axis=0), atol=5 * spread.max() / 4000**0.5)
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.1)


def test_extrapolation_leaves_the_hull(bank: StyleBank) -> None:
    far = [extrapolate_by(3.0)(bank, stream(5, 0, i), Content()).moments.mean for i in range(100)]
    assert np.max(far) > bank.mean.max()
    unmoved = extrapolate_by(1.0)(bank, stream(5), Content())
    row = int(unmoved.name.split("(")[1].split(",")[0])
    np.testing.assert_allclose(unmoved.moments.mean, bank.mean[row], rtol=1e-12)


def test_flat_styles_do_no_harm() -> None:
    bank = StyleBank.build([np.full((4, 5, 3), grey, np.uint8) for grey in (10, 90, 250)], with_blank=True)
    for name in ("gaussian", "extrapolate", "interpolate", "beyond"):
        style = SAMPLERS[name](bank, stream(1), Content())
        assert np.isfinite(style.moments.cov).all()


class TestBeyond:
    """The style of another image, as a camera M, o near the identity would give it: M m + o and M C Mᵀ."""

    def test_without_a_spread_it_is_another_image_of_the_bank(self, bank: StyleBank) -> None:
        for number in range(50):
            style = beyond_by(0.0)(bank, stream(5, 0, number), Content(row=2))
            row = int(style.name.split("(")[1].split(",")[0])
            assert row != 2
            assert not style.is_capped
            np.testing.assert_array_equal(style.moments.mean, bank.mean[row])
            np.testing.assert_allclose(style.moments.cov, bank.cov[row], rtol=1e-15)

    def test_it_is_what_the_camera_makes_of_an_image(self) -> None:
        """A camera of small spread, repeated by hand on the pixels of the image whose style was drawn."""
        tiles = np.random.default_rng(3).uniform(0.4, 0.6, (4, 20, 20, 3))
        bank = StyleBank.build(list(tiles), split="train")
        style = beyond_by(0.05)(bank, stream(8), Content(row=0))
        rng = stream(8)
        row = 1 + int(rng.integers(3))
        matrix = np.eye(3) + 0.05 * rng.standard_normal((3, 3))
        seen = tiles[row].reshape(-1, 3) @ matrix.T + 0.05 / 3 * rng.standard_normal(3)
        np.testing.assert_allclose(style.moments.mean, seen.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(style.moments.cov, np.cov(seen, rowvar=False, bias=True), rtol=1e-9)

    def test_one_laboratory_alone_is_left_in_every_direction(self) -> None:
        """A bank of images that are all alike teaches nothing else; this sampler goes on from it by about its spread."""
        tile = np.random.default_rng(4).integers(80, 160, (16, 16, 3), dtype=np.uint8)
        bank = StyleBank.build([tile, tile, tile], split="train")
        drawn = draws(bank, "beyond", Content(), 2000)
        means = np.array([style.moments.mean for style in drawn]) - bank.mean[0]
        expected = np.sqrt((0.15**2) * (bank.mean[0] ** 2).sum() + 0.05**2)
        np.testing.assert_allclose(means.std(axis=0), expected, rtol=0.1)
        assert np.linalg.eigvalsh(np.cov(means, rowvar=False)).min() > 0.5 * expected**2

    def test_grey_images_have_a_camera_of_one_channel(self) -> None:
        bank = StyleBank.build([np.arange(64, dtype=np.uint8).reshape(8, 8) * 2] * 2, split="train")
        assert SAMPLERS["beyond"](bank, stream(1), Content()).moments.mean.shape == (1,)

    def test_another_space_is_refused(self) -> None:
        tiles = np.random.default_rng(0).integers(0, 256, (2, 8, 8, 3), dtype=np.uint8)
        with pytest.raises(OptionError, match="use space='rgb'"):
            SAMPLERS["beyond"](StyleBank.build(tiles, space="lab", split="train"), stream(0), Content())


def changes(bank: StyleBank, count: int, **sizes: float) -> list[StyleChange]:
    drawn = [own_style_by(**sizes)(bank, stream(3, 0, i), Content()).goal for i in range(count)]
    assert all(isinstance(change, StyleChange) for change in drawn)
    return drawn  # type: ignore[return-value]


class TestOwnStyle:
    """The image's own mean and covariance, changed by m + d and T C T as much as the images of the bank differ."""

    def test_steps_have_the_covariance_of_the_bank_s_means(self, bank: StyleBank) -> None:
        steps = np.array([change.step for change in changes(bank, 4000, scale=2.0, least=0.0)])
        expected = 4 * np.cov(bank.mean, rowvar=False)
        # an entry of a covariance of 4000 draws has a deviation of at most sqrt(2 / 4000) of the largest variance; five of those
        np.testing.assert_allclose(np.cov(steps, rowvar=False), expected, atol=5 * (2 / 4000) ** 0.5 * expected.max())

    def test_gains_have_the_deviations_of_the_bank_s_logarithmic_deviations(self, bank: StyleBank) -> None:
        logarithms = np.log([change.gains for change in changes(bank, 4000, scale=2.0, least=0.0)])
        # a deviation of 4000 draws is known to 1 / sqrt(8000); five of those
        np.testing.assert_allclose(logarithms.std(axis=0), 2 * np.log(bank.std).std(axis=0), rtol=5 / 8000**0.5)

    def test_without_mixing_the_matrix_is_the_gains(self, bank: StyleBank) -> None:
        for change in changes(bank, 50, mix=0.0):
            np.testing.assert_allclose(change.matrix, np.diag(change.gains), rtol=1e-12, atol=1e-14)

    def test_the_matrix_is_symmetric_with_mixing_of_the_size_asked_for(self, bank: StyleBank) -> None:
        matrices = np.array([change.matrix for change in changes(bank, 4000, scale=0.0, least=0.0, mix=0.05)])
        np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))
        np.testing.assert_allclose(matrices[:, [0, 0, 1], [1, 2, 2]].std(axis=0), 0.05, rtol=5 / 8000**0.5 + 0.01)

    def test_a_bank_of_equal_styles_still_gives_steps(self) -> None:
        tile = np.random.default_rng(4).integers(80, 160, (16, 16, 3), dtype=np.uint8)
        drawn = changes(StyleBank.build([tile], split="train"), 4000)
        np.testing.assert_allclose(np.std([change.step for change in drawn], axis=0), 0.1, rtol=5 / 8000**0.5)
        np.testing.assert_allclose(np.log([change.gains for change in drawn]).std(axis=0), 0.1, rtol=5 / 8000**0.5)

    def test_nothing_is_left_of_a_change_of_size_zero(self, bank: StyleBank) -> None:
        image = np.random.default_rng(5).integers(0, 256, (11, 9, 3), dtype=np.uint8)
        for method in ("mean_std", "covariance"):
            aug = Colorist(bank, p=1.0, sampler=own_style_by(0.0, 0.0, 0.0), method=method, seed=1)
            assert np.array_equal(aug(image, key="x"), image)

    def test_even_large_changes_give_images(self, bank: StyleBank) -> None:
        """Gains of up to 20 in every direction; each style is held to what an image can have."""
        dark = np.where(np.random.default_rng(6).integers(0, 9, (11, 9, 3)) > 7, 60, 2).astype(np.uint8)
        aug = Colorist(bank, p=1.0, sampler=own_style_by(50.0, 0.1, 5.0), method="covariance", seed=7)
        for epoch in range(20):
            plan = aug.params(dark, key="x", epoch=epoch).plan
            assert plan is not None
            assert (plan.style_mean >= 0.0).all()
            assert (plan.style_std**2 <= plan.style_mean * (255 - plan.style_mean) * (1 + 1e-12)).all()

    def test_same_bits_from_both_kernels(self, bank: StyleBank) -> None:
        expected = changes(bank, 50, scale=2.0)
        with kernels.using("numpy"):
            assert changes(bank, 50, scale=2.0) == expected

    def test_same_bits_however_the_bank_lies_in_memory(self, bank: StyleBank) -> None:
        """The size of changes is summed in the order of the rows; a sum of NumPy chooses one by the strides."""
        mean, cov = (np.asfortranarray(numbers) for numbers in (bank.mean, bank.cov))
        turned = StyleBank(mean, cov, bank.pixels, bank.keys, split="train")
        assert not turned.mean.flags.c_contiguous
        for one, other in zip(change_sizes(bank), change_sizes(turned), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_grey_images_have_a_change_of_one_channel(self) -> None:
        grey = np.arange(64, dtype=np.uint8).reshape(8, 8) * 2
        bank = StyleBank.build([grey, grey // 2], split="train")
        aug = Colorist(bank, p=1.0, sampler="own_style", method="covariance", seed=2)
        decision = aug.params(grey, key="x")
        assert decision.plan is not None
        (change,) = {draw.style.goal for draw in [aug.draw("x", epoch=0)] if draw is not None}
        assert isinstance(change, StyleChange)
        assert decision.plan.matrix[0, 0] == pytest.approx(change.gains[0], rel=1e-12)

    def test_another_space_is_refused(self) -> None:
        tiles = np.random.default_rng(0).integers(0, 256, (2, 8, 8, 3), dtype=np.uint8)
        with pytest.raises(OptionError, match=r"own_style.*use space='rgb'"):
            SAMPLERS["own_style"](StyleBank.build(tiles, space="lab", split="train"), stream(0), Content())

    @pytest.mark.parametrize("name", ["scale", "least", "mix"])
    @pytest.mark.parametrize("value", [math.nan, -1.0, 1e300, "2", None, True])
    def test_a_size_that_is_no_usual_number_is_refused_at_once(self, name: str, value: Any) -> None:
        with pytest.raises(OptionError, match=f"{name}=.*accepted are numbers from 0 to"):
            own_style_by(**{name: value})


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 1e300, "2", None, True])
@pytest.mark.parametrize("make", [extrapolate_by, beyond_by])
def test_a_factor_or_spread_that_is_no_usual_number_is_refused_at_once(make: Callable[[Any], Any], value: object) -> None:
    """It was taken, and ended in warnings and errors of NumPy at the first image."""
    with pytest.raises(OptionError, match="accepted are numbers from 0 to 100"):
        make(value)
