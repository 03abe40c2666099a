"""Histogram methods in other spaces: pixels that are equal in algebra are equal, whatever the last bit of a float says."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import recolorist as rc
from recolorist.core.histograms import match_exactly, match_levels
from recolorist.core.kernels.fallback_ranks import ring_sums
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError
from tests.commands import shared_data
from tests.core.contracts import channels_of

METHODS = ("histogram", "exact_histogram")
SAME = ("ycbcr", "ypbpr", "yuv")


def noise(seed: int, dtype: str, size: int = 40) -> NDArray[Any]:
    """Pixels with many equal colours and equal lumas, channels that go together."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(3, 60, (size, size + 3, 1)) + rng.integers(0, 12, (size, size + 3, 3)) + 40 * seed
    if dtype == "uint8":
        return levels.astype(np.uint8)
    return (levels * 257).astype(np.uint16) if dtype == "uint16" else (levels / 255).astype(dtype)


def assert_same(content: NDArray[Any], style: NDArray[Any], method: str, **options: Any) -> None:
    outputs = [rc.match(content, style, method, space, **options) for space in SAME]
    assert not np.array_equal(outputs[0], content)
    for one, other in pairwise(outputs):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("method", ["mean_std", *METHODS])
class TestSharedBasis:
    """YCbCr, YPbPr and YUV differ by a scale and an offset of each channel, to which these methods are blind."""

    @pytest.mark.parametrize("dtype", ["uint8", "uint16"])
    @pytest.mark.parametrize("strength", [1.0, 0.6])
    def test_integers(self, method: str, dtype: str, strength: float) -> None:
        assert_same(noise(1, dtype), noise(2, dtype, 31), method, strength=strength)

    def test_mixed_types(self, method: str) -> None:
        assert_same(noise(1, "uint8"), noise(2, "uint16"), method)
        assert_same(noise(1, "uint8"), noise(2, "float32"), method)

    def test_masks(self, method: str) -> None:
        content = noise(1, "uint8")
        assert_same(content, noise(2, "uint8"), method, mask=content[..., 1] > 70)

    @pytest.mark.parametrize("folder", ["retina", "histology", "breast_histology", "blood"])
    def test_real_images(self, method: str, folder: str) -> None:
        files = sorted(f for f in shared_data(folder).rglob("*") if f.suffix in {".png", ".jpg", ".tif"})
        content, style = (np.asarray(Image.open(f).convert("RGB"))[::2, ::2][:150, :150] for f in (files[0], files[-1]))
        assert_same(content, style, method)


def ratios_of(pixel: Sequence[int], space: str) -> tuple[Fraction, Fraction]:
    """Hue on the hexagon, which orders as the hue of both spaces does, and saturation: exactly."""
    red, green, blue = (int(v) for v in pixel)
    high, low, total = max(red, green, blue), min(red, green, blue), red + green + blue
    if blue == high:
        hue = 4 + Fraction(red - green, high - low or 1)
    else:
        hue = 2 + Fraction(blue - red, high - low or 1) if green == high else Fraction(green - blue, high - low or 1)
    saturation = Fraction(high - low, high or 1) if space == "hsv" else 1 - Fraction(3 * low, total) if total else Fraction(0)
    return (hue % 6 if high > low else Fraction(0)), saturation


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("space", ["hsv", "hsi"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_equal_hues_and_saturations_are_equal_to_the_last_bit(space: str, dtype: str) -> None:
    levels = [0, 1, 2, 3, 6, 7, 21, 42, 85, 126, 170, 252, 255]
    image = np.array(list(product(levels, repeat=3)), dtype)[None]
    exact = [ratios_of(pixel, space) for pixel in image[0]]
    for channel in (0, 1):
        values = channels_of(image, space)[channel].values[0].tolist()
        by_ratio = dict(zip((ratio[channel] for ratio in exact), values, strict=True))
        assert values == [by_ratio[ratio[channel]] for ratio in exact]
        assert len(set(values)) == len(by_ratio)
        ordered = [by_ratio[ratio] for ratio in sorted(by_ratio)]
        assert ordered == sorted(ordered)


#: The published coefficients as whole numbers, typed here a second time.
LUMA = (299, 587, 114)
ROWS = {
    "ycbcr": (LUMA, (-299, -587, 886), (701, -587, -114)),
    "ydbdr": (LUMA, (-450, -883, 1333), (-1333, 1116, 217)),
    "yiq": (
        tuple(100_000 * v for v in LUMA),
        (59_590_059, -27_455_667, -32_134_392),
        (21_153_661, -52_273_617, 31_119_955),
    ),
}


def keys(image: NDArray[Any], row: tuple[int, ...]) -> list[int]:
    """One channel of a space in Python's whole numbers."""
    return [sum(int(v) * k for v, k in zip(pixel, row, strict=True)) for pixel in image.reshape(-1, 3)]


def specified(content: NDArray[Any], style: NDArray[Any], space: str) -> NDArray[Any]:
    """Exact specification with ties by position, ranked in Python's whole numbers, for images of one size."""
    matched = np.empty((len(content.reshape(-1, 3)), 3))
    for c, row in enumerate(ROWS[space]):
        order = sorted(range(len(matched)), key=keys(content, row).__getitem__)
        matched[order, c] = sorted(keys(style, row))
    return np.linalg.solve(np.array(ROWS[space], float), matched.T).T.reshape(content.shape)


class TestWholeNumbers:
    @pytest.mark.parametrize("space", ROWS)
    @pytest.mark.parametrize("dtype", ["uint8", "uint16"])
    def test_ranks_are_those_of_whole_numbers(self, space: str, dtype: str) -> None:
        content, style = noise(1, dtype), noise(2, dtype)
        out = rc.match(content, style, "exact_histogram", space, ties="position")
        wanted = np.clip(specified(content, style, space), 0, np.iinfo(out.dtype).max)
        assert np.abs(out - wanted).max() <= 0.5 + 1e-6  # rounding of the output, and of the solution

    @pytest.mark.parametrize("space", ROWS)
    def test_equal_keys_go_to_equal_levels(self, space: str) -> None:
        content, style = noise(1, "uint8"), noise(2, "uint8")
        channels = channels_of(content, space)
        chosen = channels_of(style, space)
        for (values, _), (goal, _), row in zip(channels, chosen, ROWS[space], strict=True):
            assert values.ravel().tolist() == keys(content, row)
            matched = match_levels(values, None, goal.ravel()).ravel()
            pairs = set(zip(keys(content, row), matched.tolist(), strict=True))
            assert len(pairs) == len(set(keys(content, row)))

    @pytest.mark.parametrize(("space", "parts"), [("hsi", 3), ("hsv", 1)])
    def test_intensity_and_value_are_whole_numbers(self, space: str, parts: int) -> None:
        content = noise(1, "uint8")
        values, unit = channels_of(content, space)[2]
        wide = content.astype(int)
        assert np.array_equal(values, wide.sum(axis=-1) if space == "hsi" else wide.max(axis=-1))
        assert (values.dtype.kind, unit) == ("i", parts * 255.0)
        np.testing.assert_allclose(values / unit, SPACES[space].forward(content / 255.0)[..., 2], rtol=1e-14)

    @pytest.mark.parametrize("space", ["ycbcr", "yiq", "ydbdr"])
    @pytest.mark.parametrize("method", METHODS)
    def test_grey_images_get_one_tint(self, space: str, method: str) -> None:
        grey = np.repeat(noise(1, "uint8")[..., :1], 3, axis=-1)
        out = rc.match(grey, noise(2, "uint8"), method, space).astype(int)
        inner = out[(out > 0).all(axis=-1) & (out < 255).all(axis=-1)]
        assert np.ptp(inner - inner[:, :1], axis=0).max() <= 1

    @pytest.mark.parametrize("wide", [False, True])
    def test_short_and_long_ranges_give_the_same_levels(self, wide: bool) -> None:
        values, style = noise(1, "uint8")[..., 0].astype(np.int64), noise(2, "uint8")[..., 1].ravel().astype(np.int64)
        inside = noise(1, "uint8")[..., 1] > 70 if wide else None
        plain = match_levels(values, inside, style)  # counted level by level
        long = match_levels(values * 10**7, inside, style)  # sorted
        np.testing.assert_allclose(plain, long, rtol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_images_without_a_range(method: str) -> None:
    content, style = noise(1, "float64"), noise(2, "float64")
    out = rc.match(content, style, method, data_range=float("inf"), style_range=float("inf"), clip=False)
    assert np.array_equal(out, rc.match(content, style, method))
    assert np.ptp(out) > 0.1


class TestTies:
    def test_position_is_plain_sorting(self) -> None:
        content = np.array([[5, 1, 9, 5], [0, 5, 0, 0]], np.uint8)
        style = np.arange(10, 90, 10, dtype=np.uint8).reshape(2, 4)
        out = rc.match(content, style, "exact_histogram", ties="position")
        assert out.tolist() == [[50, 40, 80, 60], [10, 70, 20, 30]]
        assert out.tolist() != rc.match(content, style, "exact_histogram").tolist()

    def test_all_six_sums_in_turn(self) -> None:
        rng = np.random.default_rng(5)
        for high in (1, 3, 255, 65535, 10**10):  # packed into one number, into several, and not at all
            values = rng.integers(0, high, (9, 8), endpoint=True)
            sums = [ring.ravel().tolist() for ring in ring_sums(values)]
            wanted = [position for *_, position in sorted(zip(*sums, range(values.size), strict=True))]
            assert np.argsort(match_exactly(values, None, np.arange(72)).ravel()).tolist() == wanted

    def test_other_methods_refuse_it(self) -> None:
        with pytest.raises(OptionError, match="ties='position' and method='mean_std'"):
            rc.match(noise(1, "uint8"), noise(2, "uint8"), ties="position")
        with pytest.raises(OptionError, match="ties='chance'"):
            rc.match(noise(1, "uint8"), noise(2, "uint8"), "exact_histogram", ties="chance")  # type: ignore[arg-type]  # the refusal
