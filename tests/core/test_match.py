"""The four methods: histograms against scikit-image, exact ones against their definition, covariances against the style's."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from skimage.exposure import match_histograms

import recolorist as rc
from recolorist.core.histograms import match_exactly
from tests.full import full
from tests.strategies import DTYPES, FLOATS, INTEGERS, PATTERNS, SHAPES, Image, build

pytestmark = pytest.mark.usefixtures("kernel")


def covariance(image: Image) -> NDArray[np.float64]:
    """Population covariance by NumPy's own function, in long doubles where the machine has them."""
    return np.asarray(np.cov(image.reshape(-1, image.shape[-1]).astype(np.longdouble), rowvar=False, bias=True), np.float64)


def mixed(shape: tuple[int, int], seed: int, dtype: str = "float64") -> Image:
    """An image whose channels depend on each other."""
    mix = np.array([[0.6, 0.3, 0.0], [0.2, 0.5, 0.2], [0.1, 0.0, 0.7]])
    return np.asarray(build("uniform", (*shape, 3), "float64", seed) @ mix.T, dtype)


class TestOpenCV:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_moments_agree(self, dtype: str) -> None:
        for seed in range(10):
            image = build("uniform", (61, 83, 3), dtype, seed)
            mean, deviation = (numbers.ravel() for numbers in cv2.meanStdDev(image))
            measured = rc.measure(image)
            # OpenCV subtracts the square of the mean from the mean of squares: five thousand roundings at worst
            np.testing.assert_allclose(measured.mean, mean, rtol=1e-12, atol=0)
            np.testing.assert_allclose(measured.std, deviation, rtol=1e-12, atol=0)

    def test_masked_moments_agree(self) -> None:
        image, inside = build("uniform", (61, 83, 3), "uint8", 1), build("extremes", (61, 83), "uint8", 2)
        mean, deviation = (numbers.ravel() for numbers in cv2.meanStdDev(image, mask=inside))
        measured = rc.measure(image, inside)
        assert measured.count == np.count_nonzero(inside)
        np.testing.assert_allclose([measured.mean, measured.std], [mean, deviation], rtol=1e-12, atol=0)

    def test_table_of_256_levels(self) -> None:
        content, style = build("uniform", (61, 83, 3), "uint8", 3), build("narrow", (50, 40, 3), "uint8", 4)
        (c_mean, c_dev), (s_mean, s_dev) = ([n.ravel() for n in cv2.meanStdDev(image)] for image in (content, style))
        table = (np.arange(256.0)[:, None] - c_mean) * (s_dev / c_dev) + s_mean
        looked_up = cv2.LUT(content, np.clip(np.rint(table), 0, 255).astype(np.uint8)[None])
        assert np.array_equal(rc.match(content, style), looked_up)


class TestShortRoute:
    """Mean–std in RGB is matched channel by channel, without a plan; the numbers must be those of the three steps."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("channels", [1, 2, 3])
    @pytest.mark.parametrize("options", [{}, {"strength": 0.3}, {"max_gain": 1.5}, {"eps_mode": "paper"}], ids=str)
    def test_same_bits_as_measure_plan_apply(self, dtype: str, channels: int, options: dict[str, Any]) -> None:
        pairs = list(enumerate(product(PATTERNS, PATTERNS)))
        for seed, (pattern, other) in pairs[channels - 1 :: full(3, 1)]:  # quick: each pair with one number of channels
            content = build(pattern, (SHAPES[seed % len(SHAPES)][0] + 3, 71, channels), dtype, seed)
            style = build(other, (9, 14, channels), dtype, seed + 1000)
            plan = rc.plan(rc.measure(content), rc.measure(style), **options)
            wanted = rc.apply(content, plan)
            assert rc.match(content, style, **options).tobytes() == wanted.tobytes()
            assert rc.match(content, rc.measure(style), **options).tobytes() == wanted.tobytes()

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_floats_in_other_ranges(self, dtype: str) -> None:
        scale = np.dtype(dtype).type
        content, style = build("uniform", (33, 71, 3), dtype, 1) * scale(255), build("uniform", (33, 71, 3), dtype, 2) * scale(4)
        plan = rc.plan(rc.measure(content, data_range=255), rc.measure(style, data_range=4))
        wanted = rc.apply(content, plan, data_range=255)
        assert rc.match(content, style, data_range=255, style_range=4).tobytes() == wanted.tobytes()
        levels = build("narrow", (20, 30, 3), "uint8", 3)
        wanted = rc.apply(content, rc.plan(rc.measure(content, data_range=255), rc.measure(levels)), data_range=255)
        assert rc.match(content, levels, data_range=255).tobytes() == wanted.tobytes()

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_a_zero_keeps_its_sign_where_nothing_changes(self, dtype: str) -> None:
        content = build("uniform", (5, 7, 3), dtype, 1)
        content[0, 0] = -0.0
        assert rc.match(content, content).tobytes() == content.tobytes()


class TestHistogram:
    @pytest.mark.parametrize("dtype", INTEGERS)
    @pytest.mark.parametrize("pattern", ["uniform", "narrow", "skewed", "extremes"])
    def test_rounds_what_scikit_image_computes(self, dtype: str, pattern: str) -> None:
        content, style = build(pattern, (41, 37, 3), dtype, 1), build("narrow", (30, 51, 3), dtype, 2)
        out = rc.match(content, style, "histogram")
        assert out.dtype == dtype
        for c in range(3):  # channel by channel scikit-image keeps its floats
            assert np.array_equal(out[..., c], np.rint(match_histograms(content[..., c], style[..., c])))

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_floats(self, dtype: str) -> None:
        content, style = build("uniform", (41, 37, 3), dtype, 1), build("skewed", (30, 51, 3), dtype, 2)
        out = rc.match(content, style, "histogram")
        assert out.dtype == dtype
        wanted = match_histograms(content.astype(np.float64), style.astype(np.float64), channel_axis=-1)
        np.testing.assert_allclose(out, wanted, rtol=0, atol=1e-15 if dtype == "float64" else 2.0**-24)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_order_is_kept_and_equal_stay_equal(self, dtype: str) -> None:
        content, style = build("skewed", (23, 31), dtype, 3), build("uniform", (17, 40), dtype, 4)
        levels, first = np.unique(content, return_index=True)
        out = rc.match(content, style, "histogram")
        assert (np.diff(out.ravel()[first].astype(float)) >= 0).all()
        assert np.array_equal(out.ravel()[first][np.searchsorted(levels, content)], out)

    def test_means_are_not_truncated(self) -> None:
        errors = []
        for seed in range(50):
            content, style = build("uniform", (64, 48, 3), "uint8", seed), build("narrow", (60, 50, 3), "uint8", seed + 99)
            floats = [match_histograms(content[..., c], style[..., c]) for c in range(3)]
            errors.append(rc.match(content, style, "histogram").mean() - np.mean(floats))
        # casting would lose half a level; rounding 9216 values errs by 0.29 / 96 = 0.003 a time, and the mean of 50 by less
        assert abs(np.mean(errors)) < 0.003

    def test_sixteen_bit_style_for_eight_bit_content(self) -> None:
        content, style = build("uniform", (41, 37), "uint8", 1), build("narrow", (30, 51), "uint8", 2)
        wide = style.astype(np.uint16) * 257
        assert np.array_equal(rc.match(content, wide, "histogram"), rc.match(content, style, "histogram"))

    def test_needs_pixels(self) -> None:
        content = build("uniform", (5, 4, 3), "uint8", 1)
        for method in ("histogram", "exact_histogram"):
            with pytest.raises(rc.RecoloristError, match="needs the style's pixels"):
                rc.match(content, rc.measure(content), method)


class TestExactHistogram:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("pattern", ["uniform", "narrow", "extremes", "skewed"])
    def test_equal_sizes_give_the_styles_histogram(self, dtype: str, pattern: str) -> None:
        content, style = build(pattern, (21, 16, 3), dtype, 1), build("skewed", (14, 24, 3), dtype, 2)
        out = rc.match(content, style, "exact_histogram")
        for c in range(3):
            assert np.sort(out[..., c], axis=None).tolist() == np.sort(style[..., c], axis=None).tolist()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_one_pixel_off_flat_suffices(self, dtype: str) -> None:
        content, style = build("nearly_flat", (21, 16), dtype, 1), build("skewed", (14, 24), dtype, 2)
        assert np.array_equal(np.sort(rc.match(content, style, "exact_histogram"), axis=None), np.sort(style, axis=None))

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(7, 5), (50, 41), (1, 3)])
    def test_unequal_sizes_give_its_quantiles(self, dtype: str, shape: tuple[int, int]) -> None:
        content, style = build("uniform", shape, dtype, 1), build("skewed", (14, 24), dtype, 2)
        out = rc.match(content, style, "exact_histogram")
        quantiles = np.sort(style, axis=None)[[int((r + 0.5) / content.size * 336) for r in range(content.size)]]
        assert np.sort(out, axis=None).tolist() == quantiles.tolist()

    @pytest.mark.parametrize("times", [2, 3])
    def test_a_repeated_style_is_the_same_style(self, times: int) -> None:
        content, style = build("uniform", (12, 9, 3), "uint8", 1), build("skewed", (6, 9, 3), "uint8", 2)
        repeated = np.repeat(style, times, axis=0)
        assert np.array_equal(rc.match(content, repeated, "exact_histogram"), rc.match(content, style, "exact_histogram"))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_order_is_never_inverted(self, dtype: str) -> None:
        content, style = build("narrow", (31, 22), dtype, 3), build("uniform", (17, 40), dtype, 4)
        out = rc.match(content, style, "exact_histogram")
        order = np.lexsort((out.ravel(), content.ravel()))
        before, after = content.ravel()[order], out.ravel()[order].astype(float)
        assert (np.diff(after)[np.diff(before.astype(float)) > 0] >= 0).all()

    def test_neighbours_decide_between_equals(self) -> None:
        # three pixels of value 5; rows mirrored at the edge, so the four neighbours of each (and itself at an edge) sum to:
        # (0, 0): 1 + 5 + 0 + 5 = 11;   (0, 3): 9 + 5 + 0 + 5 = 19;   (1, 1): 0 + 0 + 1 + 1 = 2
        image = np.array([[5, 1, 9, 5], [0, 5, 0, 0]], np.uint8)
        # strict order: the zeros, 1, then the fives (1, 1), (0, 0), (0, 3), then 9
        out = match_exactly(image, None, np.arange(10, 90, 10))
        assert sorted(out[image == 0].tolist()) == [10, 20, 30]
        assert (out[0, 1], out[1, 1], out[0, 0], out[0, 3], out[0, 2]) == (40, 50, 60, 70, 80)

    def test_the_second_ring_decides_where_the_first_cannot(self) -> None:
        # two fives, each with four zeros beside it; only the first has a 7 at a corner
        image = np.zeros((5, 11), np.uint8)
        image[2, 2] = image[2, 8] = 5
        image[1, 1] = 7
        out = match_exactly(image, None, np.arange(55))
        assert (out[2, 8], out[2, 2], out[1, 1]) == (52, 53, 54)

    def test_outside_the_mask_pixels_stay(self) -> None:
        content, style = build("uniform", (12, 9, 3), "uint8", 1), build("narrow", (6, 9, 3), "uint8", 2)
        inside = np.random.default_rng(1).random((12, 9)) < 0.5
        out = rc.match(content, style, "exact_histogram", mask=inside)
        assert np.array_equal(out[~inside], content[~inside])
        assert np.isin(out[inside], style).all()


class TestCovariance:
    def test_output_has_the_styles_covariance(self) -> None:
        for seed in range(25):
            content, style = mixed((23, 17), seed), build("narrow", (19, 31, 3), "float64", seed + 100)
            out = rc.match(content, style, "covariance", clip=False)
            wanted = covariance(style)
            # three square roots of matrices whose condition is below 100: 100 * 20 roundings of 1e-16 is 2e-13
            np.testing.assert_allclose(covariance(out), wanted, rtol=0, atol=1e-9 * wanted.max())
            np.testing.assert_allclose(out.mean(axis=(0, 1)), style.mean(axis=(0, 1)), rtol=1e-12, atol=0)

    @pytest.mark.parametrize("channels", [1, 2, 5])
    def test_any_number_of_channels(self, channels: int) -> None:
        content = build("uniform", (23, 17, channels), "float64", 1)
        style = build("narrow", (19, 31, channels), "float64", 2)
        out = rc.match(content, style, "covariance", clip=False, alpha=False)
        np.testing.assert_allclose(covariance(out), covariance(style), rtol=1e-9, atol=1e-12)

    def test_one_channel_is_mean_std(self) -> None:
        content, style = build("uniform", (23, 17), "float64", 1), build("narrow", (19, 31), "float64", 2)
        np.testing.assert_allclose(rc.match(content, style, "covariance"), rc.match(content, style), rtol=0, atol=1e-14)

    def test_the_map_is_symmetric_and_positive(self) -> None:
        content, style = mixed((23, 17), 1), build("narrow", (19, 31, 3), "float64", 2)
        matrix = rc.plan(rc.measure(content), rc.measure(style), method="covariance").matrix
        np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-13)
        assert np.linalg.eigvalsh(matrix).min() > 0

    @pytest.mark.parametrize("space", ["rgb", "yiq", "lab"])
    @pytest.mark.parametrize(
        "singular",
        ["grey", "two equal channels", "one flat channel", "flat", "one pixel", "two pixels"],
    )
    def test_singular_contents_and_styles_are_safe(self, singular: str, space: str) -> None:
        odd = {
            "grey": np.repeat(build("uniform", (9, 8, 1), "float64", 1), 3, axis=-1),
            "two equal channels": build("uniform", (9, 8, 3), "float64", 1)[..., [0, 1, 0]],
            "one flat channel": build("uniform", (9, 8, 3), "float64", 1) * [1, 0, 1],
            "flat": np.full((9, 8, 3), 0.1),
            "one pixel": np.full((1, 1, 3), 0.3),
            "two pixels": build("uniform", (1, 2, 3), "float64", 1),
        }[singular]
        plain = build("uniform", (9, 8, 3), "float64", 2)
        for content, style in ((odd, plain), (plain, odd), (odd, odd[::-1])):
            out = rc.match(content, style, "covariance", space)
            assert np.isfinite(out).all()
            assert 0 <= out.min() <= out.max() <= 1
            gains = rc.plan(rc.measure(content), rc.measure(style), method="covariance").matrix
            assert np.linalg.norm(gains, 2) <= 10 + 1e-9  # the largest stretch in any direction is max_gain

    def test_a_singular_content_still_gets_the_mean(self) -> None:
        grey = np.repeat(build("uniform", (9, 8, 1), "float64", 1), 3, axis=-1)
        style = build("narrow", (9, 8, 3), "float64", 2)
        out = rc.match(grey, style, "covariance", clip=False)
        np.testing.assert_allclose(out.mean(axis=(0, 1)), style.mean(axis=(0, 1)), rtol=1e-12, atol=0)

    def test_nearly_singular_is_capped_and_flagged(self) -> None:
        content = np.repeat(build("uniform", (9, 8, 1), "float64", 1), 3, axis=-1)
        content[0, 0, 1] += 1e-4
        planned = rc.plan(rc.measure(content), rc.measure(build("uniform", (9, 8, 3), "float64", 2)), method="covariance")
        assert planned.flags == (("gain_capped",),) * 3
        assert np.linalg.norm(planned.matrix, 2) == pytest.approx(10, rel=1e-12)


class TestEverything:
    @pytest.mark.parametrize(("method", "space"), list(product(rc.MATCHERS, rc.SPACES)))
    def test_every_method_in_every_space(self, method: str, space: str) -> None:
        for dtype in ("uint8", "uint16", "float16", "float32", "float64"):
            content, style = build("uniform", (13, 9, 3), dtype, 1), build("skewed", (7, 11, 3), dtype, 2)
            before = content.copy()
            out: NDArray[Any] = rc.match(content, style, method, space)
            assert (out.shape, out.dtype) == (content.shape, content.dtype)
            assert np.isfinite(out).all()
            assert np.array_equal(content, before)
            assert not np.array_equal(out, content)
            far, near = (abs(float(x.mean(dtype=float) - style.mean(dtype=float))) for x in (content, out))
            assert near < far, dtype  # skewed is much darker than uniform: the output has moved towards it

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_a_batch_is_a_loop(self, method: str) -> None:
        contents, style = build("uniform", (3, 9, 7, 3), "uint8", 1), build("narrow", (5, 8, 3), "uint8", 2)
        out = rc.match(contents, style, method)
        assert np.array_equal(out, np.stack([rc.match(content, style, method) for content in contents]))


@pytest.mark.parametrize("method", ["histogram", "exact_histogram"])
@pytest.mark.parametrize("space", ["ycbcr", "ypbpr", "yuv", "yiq", "ydbdr"])
def test_grey_pixels_stay_of_one_tint(method: str, space: str) -> None:
    """The chroma of a grey image is rounding noise; spread over the style's histogram it would become colour."""
    grey = np.repeat(np.arange(60, 200, dtype=np.uint8).reshape(10, 14)[..., None], 3, axis=-1)
    style = np.random.default_rng(3).integers(60, 190, (16, 9, 3), dtype=np.uint8)
    out = rc.match(grey, style, method, space).astype(int)
    assert np.ptp(out[..., 0] - out[..., 1]) <= 1  # one tint for all, but for the rounding of each channel
    assert np.ptp(out[..., 2] - out[..., 1]) <= 1


def test_sixteen_bits_with_a_declared_range_of_eight_are_held_to_it() -> None:
    """255 is the range of another dtype; it must not be taken for this one's."""
    image = np.array([[0, 200], [255, 256]], np.uint16)
    with pytest.raises(rc.RecoloristError, match="256"):
        rc.match(image, image, data_range=255)


@pytest.mark.parametrize("data_range", [math.inf, 60000.0])
def test_half_precision_without_clipping_refuses_what_it_cannot_hold(data_range: float) -> None:
    content = np.array([[0.0, 60000.0]], np.float16)
    style = rc.Moments(2, [60000.0], [[30000.0**2]], data_range)
    with pytest.raises(rc.RecoloristError, match="65504"):
        rc.match(content, style, data_range=data_range, clip=False)
