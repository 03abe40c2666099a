"""Samplers: each draws what its name says, never the image itself where there is another, and only valid styles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recolorist import StyleBank
from recolorist.augment.samplers import SAMPLERS, Content, Style, beyond_by, extrapolate_by
from recolorist.augment.streams import stream
from recolorist.errors import OptionError

LABELS = ["x", "y", "x", "z", "y", "x", "x"]
DOMAINS = ["a", "a", "b", "b", "c", "c", "c"]


@pytest.fixture(scope="module")
def bank() -> StyleBank:
    rng = np.random.default_rng(1)
    tiles = rng.integers(0, 200, (7, 11, 9, 3), dtype=np.uint8) + (np.arange(7) * 8)[:, None, None, None].astype(np.uint8)
    return StyleBank.build(tiles, labels=LABELS, domains=DOMAINS, split="train")


def draws(bank: StyleBank, name: str, content: Content, count: int = 600) -> list[Style]:
    return [SAMPLERS[name](bank, stream(3, 0, i), content) for i in range(count)]


@pytest.mark.parametrize("name", ["uniform", "other_domain", "same_label", "other_label", "balanced_domain"])
@pytest.mark.parametrize("row", range(7))
def test_never_the_image_itself(bank: StyleBank, name: str, row: int) -> None:
    lonely = name == "same_label" and LABELS.count(LABELS[row]) == 1
    drawn = {style.row for style in draws(bank, name, Content(row=row), 200)}
    assert (row in drawn) == lonely


@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        ("uniform", 2, {0, 1, 3, 4, 5, 6}),
        ("other_domain", 2, {0, 1, 4, 5, 6}),
        ("same_label", 2, {0, 5, 6}),
        ("other_label", 2, {1, 3, 4}),
        ("other_label", 3, {0, 1, 2, 4, 5, 6}),
    ],
)
def test_draws_from_the_right_rows_equally(bank: StyleBank, name: str, row: int, expected: set[int]) -> None:
    counts = Counter(style.row for style in draws(bank, name, Content(row=row), 3000))
    assert set(counts) == expected
    share = 3000 / len(expected)
    assert max(abs(count - share) for count in counts.values()) < 5 * share**0.5  # five standard deviations


def test_balanced_domain_gives_each_domain_its_share(bank: StyleBank) -> None:
    counts = Counter(DOMAINS[style.row] for style in draws(bank, "balanced_domain", Content(), 3000) if style.row is not None)
    assert set(counts) == {"a", "b", "c"}
    assert max(abs(count - 1000) for count in counts.values()) < 5 * 1000**0.5


def test_balanced_domain_draws_no_image_without_a_domain() -> None:
    images = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    bank = StyleBank.build(images, domains=["a", None, "b", None, "a", None], split="train")
    assert {style.row for style in draws(bank, "balanced_domain", Content(row=1), 300)} == {0, 2, 4}
    with pytest.raises(OptionError, match="the bank has none"):
        SAMPLERS["balanced_domain"](StyleBank.build(images, split="train"), stream(0), Content())


def test_an_image_alone_in_its_domain_is_not_matched_to_itself() -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)
    bank = StyleBank.build(images, domains=["a", "b", "b", "c"], split="train")
    counts = Counter(style.row for style in draws(bank, "balanced_domain", Content(row=0), 3000))
    assert set(counts) == {1, 2, 3}
    assert abs(counts[3] - 1500) < 5 * 1500**0.5  # each of the two other domains half of the time
    alone = bank.subset(rows=[0])
    assert {style.row for style in draws(alone, "balanced_domain", Content(row=0), 9)} == {0}


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


def test_label_and_domain_may_be_given(bank: StyleBank) -> None:
    assert {style.row for style in draws(bank, "same_label", Content(label="y"))} == {1, 4}
    assert {style.row for style in draws(bank, "other_domain", Content(domain="c"))} == {0, 1, 2, 3}
    assert {style.row for style in draws(bank, "other_domain", Content(domain="unseen"))} == set(range(7))


@pytest.mark.parametrize("name", ["other_domain", "same_label", "other_label"])
def test_unknown_content_is_refused_with_advice(bank: StyleBank, name: str) -> None:
    with pytest.raises(OptionError, match="pass key="):
        SAMPLERS[name](bank, stream(0), Content())


def test_one_domain_falls_back_to_any_other_image(bank: StyleBank) -> None:
    single = bank.subset(domain="c")
    assert {style.row for style in draws(single, "other_domain", Content(row=0))} == {1, 2}


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_every_style_is_valid(bank: StyleBank, name: str) -> None:
    for style in draws(bank, name, Content(row=1), 300):
        moments = style.moments
        assert np.linalg.eigvalsh(moments.cov).min() > 0
        assert (moments.mean >= 0).all()
        assert (moments.mean <= 1).all()
        assert (moments.std <= 0.5 + 1e-12).all()  # nothing in [0, 1] varies more
        np.testing.assert_array_equal(moments.cov, moments.cov.T)


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


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 1e300, "2", None, True])
@pytest.mark.parametrize("make", [extrapolate_by, beyond_by])
def test_a_factor_or_spread_that_is_no_usual_number_is_refused_at_once(make: Callable[[Any], Any], value: object) -> None:
    """It was taken, and ended in warnings and errors of NumPy at the first image."""
    with pytest.raises(OptionError, match="accepted are numbers from 0 to 100"):
        make(value)
