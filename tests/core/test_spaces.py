"""The colour spaces: against scikit-image or the textbook, in range, in any number of dimensions, there and back."""

from __future__ import annotations

import colorsys
import math
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from skimage import color
from skimage.color.colorconv import luv2rgb, rgb2luv

import recolorist as rc
from recolorist.core.gains import Flags
from recolorist.core.spaces import SPACES
from tests.strategies import build

Pixels = NDArray[np.float64]
LINEAR = [name for name, space in SPACES.items() if space.is_linear]
OTHERS = [name for name, space in SPACES.items() if not space.is_linear]
# 18 levels per channel, black, white, primaries and greys among them
GRID: Pixels = np.array(list(product(range(0, 256, 15), repeat=3))).reshape(54, 108, 3) / 255.0


def hsi_of(red: float, green: float, blue: float) -> tuple[float, float, float]:
    """Gonzalez and Woods, section 6.2: hue by the arc cosine, in turns."""
    intensity = (red + green + blue) / 3
    if intensity == 0 or red == green == blue:
        return 0.0, 0.0, intensity
    saturation = 1 - min(red, green, blue) / intensity
    across = 0.5 * ((red - green) + (red - blue))
    theta = math.acos(max(-1.0, min(1.0, across / math.sqrt((red - green) ** 2 + (red - blue) * (green - blue)))))
    return (theta if blue <= green else 2 * math.pi - theta) / (2 * math.pi), saturation, intensity


def lalphabeta_of(red: float, green: float, blue: float) -> tuple[float, float, float]:
    """Reinhard, Ashikhmin, Gooch and Shirley 2001, equations 4 to 6; black lifted as the table in spaces.py says."""
    long = math.log10(max(0.3811 * red + 0.5783 * green + 0.0402 * blue, 2.0**-18))
    medium = math.log10(max(0.1967 * red + 0.7244 * green + 0.0782 * blue, 2.0**-18))
    short = math.log10(max(0.0241 * red + 0.1288 * green + 0.8444 * blue, 2.0**-18))
    light = (long + medium + short) / math.sqrt(3)
    return light, (long + medium - 2 * short) / math.sqrt(6), (long - medium) / math.sqrt(2)


def by_pixel(convert: Callable[[float, float, float], tuple[float, float, float]]) -> Callable[[Pixels], Pixels]:
    return lambda rgb: np.array([convert(*pixel) for pixel in rgb.reshape(-1, 3).tolist()]).reshape(rgb.shape)


REFERENCE: dict[str, Callable[[Pixels], Any]] = {
    "rgb": lambda rgb: rgb,
    "ycbcr": color.rgb2ycbcr,
    "ypbpr": color.rgb2ypbpr,
    "yuv": color.rgb2yuv,
    "yiq": color.rgb2yiq,
    "ydbdr": color.rgb2ydbdr,
    "lab": color.rgb2lab,
    "luv": rgb2luv,
    "lch": lambda rgb: color.lab2lch(color.rgb2lab(rgb)),
    "hsv": color.rgb2hsv,
    "hed": color.rgb2hed,
    "hsi": by_pixel(hsi_of),
    "lalphabeta": by_pixel(lalphabeta_of),
}


def rgb_of_hsi(hue: float, saturation: float, intensity: float) -> tuple[float, float, float]:
    """Gonzalez and Woods, section 6.2: three sectors of 120 degrees."""
    sector, rest = divmod(hue % 1.0 * 360.0, 120.0)
    saturation = min(max(saturation, 0.0), 1.0)
    low = intensity * (1 - saturation)
    first = intensity * (1 + saturation * math.cos(math.radians(rest)) / math.cos(math.radians(60.0 - rest)))
    order = (first, 3 * intensity - first - low, low)
    at = int(sector) % 3
    return order[-at % 3], order[(1 - at) % 3], order[(2 - at) % 3]


def rgb_of_hsv(hue: float, saturation: float, value: float) -> tuple[float, float, float]:
    return colorsys.hsv_to_rgb(hue % 1.0, min(max(saturation, 0.0), 1.0), value)


def rgb_of_lalphabeta(light: float, alpha: float, beta: float) -> tuple[float, float, float]:
    axes = np.array([light / math.sqrt(3), alpha / math.sqrt(6), beta / math.sqrt(2)])
    cones = 10.0 ** np.minimum(np.array([[1, 1, 1], [1, 1, -1], [1, -2, 0]]) @ axes, 3.0)
    matrix = [[0.3811, 0.5783, 0.0402], [0.1967, 0.7244, 0.0782], [0.0241, 0.1288, 0.8444]]
    red, green, blue = np.linalg.solve(matrix, cones)
    return red, green, blue


def without_warnings(convert: Callable[[Pixels], Any]) -> Callable[[Pixels], Any]:
    def quiet(values: Pixels) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-image speaks of clipped colours
            return convert(values)

    return quiet


# back to RGB, limited as docs/method.md says: saturation to [0, 1], chroma and the lightness of LUV at zero
RETURN: dict[str, Callable[[Pixels], Any]] = {
    "lab": without_warnings(color.lab2rgb),
    "luv": without_warnings(lambda luv: luv2rgb(np.maximum(luv, [0, -np.inf, -np.inf]))),
    "lch": without_warnings(lambda lch: color.lab2rgb(color.lch2lab(np.maximum(lch, [-np.inf, 0, -np.inf])))),
    "hed": color.hed2rgb,
    "hsv": by_pixel(rgb_of_hsv),
    "hsi": by_pixel(rgb_of_hsi),
    "lalphabeta": by_pixel(rgb_of_lalphabeta),
}

# the lowest and highest value of each channel over all RGB, as the table in spaces.py states them
RANGES: dict[str, list[tuple[float, float]]] = {
    "rgb": [(0, 1)] * 3,
    "ycbcr": [(16, 235), (16, 240), (16, 240)],
    "ypbpr": [(0, 1), (-0.5, 0.5), (-0.5, 0.5)],
    "yuv": [(0, 1), (-0.436, 0.436), (-0.615, 0.615)],
    "yiq": [(0, 1), (-0.596, 0.596), (-0.523, 0.523)],
    "ydbdr": [(0, 1), (-1.333, 1.333), (-1.333, 1.333)],
    "lab": [(0, 100), (-110, 110), (-110, 110)],
    "luv": [(0, 100), (-84, 176), (-135, 108)],
    "lch": [(0, 100), (0, 134), (0, 2 * math.pi)],
    "hsv": [(0, 1)] * 3,
    "hsi": [(0, 1)] * 3,
    "hed": [(0, 1.9)] * 3,
    "lalphabeta": [(-9.4, 0), (-0.97, 0.87), (-0.21, 0.21)],
}

# Linear: 3 products and their sum, of numbers up to 240, against coefficients printed to 8 digits in both (scikit-image's own
# ypbpr and ycbcr are rounded to 1e-6 and 1e-3). Others: our roots and powers err by less than 1e-13, a difference of two of them
# is multiplied by 500 in CIELAB, and the angle of a grey of chroma 0.005 by more; promised is 1e-6 of the range.
TOLERANCE = {
    "ycbcr": 2e-3,
    "ypbpr": 1e-6,
    "yuv": 1e-7,
    "lab": 5e-11,
    "luv": 5e-11,
    "lch": 1e-10,
    "hsi": 3e-8,
    "lalphabeta": 1e-13,
}


class TestValues:
    def test_every_space_is_checked(self) -> None:
        assert set(REFERENCE) == set(RANGES) == set(SPACES)
        assert len(SPACES) == 13

    @pytest.mark.parametrize("name", SPACES)
    def test_against_others(self, name: str) -> None:
        ours = SPACES[name].forward(GRID)
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, REFERENCE[name](GRID), rtol=0, atol=TOLERANCE.get(name, 1e-14))

    @pytest.mark.parametrize("name", SPACES)
    def test_range(self, name: str) -> None:
        values = SPACES[name].forward(GRID)
        for c, (low, high) in enumerate(RANGES[name]):
            slack = 0.005 * (high - low)  # the table prints three digits
            assert values[..., c].min() >= low - slack
            assert values[..., c].max() <= high + slack
            assert values[..., c].max() - values[..., c].min() >= 0.5 * (high - low)  # and no range is stated too wide

    @pytest.mark.parametrize("name", SPACES)
    def test_three_names_for_three_channels(self, name: str) -> None:
        assert len(set(SPACES[name].channels)) == 3
        assert SPACES[name].name == name


class TestShapes:
    @pytest.mark.parametrize("name", SPACES)
    def test_any_number_of_dimensions(self, name: str) -> None:
        space, flat = SPACES[name], GRID.reshape(-1, 3)[:720]
        for convert in (space.forward, space.inverse):
            whole = convert(flat[None])[0]
            for shape in ((720, 3), (9, 80, 3), (2, 9, 40, 3)):
                reshaped = convert(flat.reshape(shape))
                assert reshaped.shape == shape
                assert np.array_equal(reshaped.reshape(-1, 3), whole)

    @pytest.mark.parametrize("name", SPACES)
    def test_the_input_is_not_written_to(self, name: str) -> None:
        frozen = GRID.copy()
        frozen.flags.writeable = False
        back = SPACES[name].inverse(SPACES[name].forward(frozen))
        assert np.array_equal(frozen, GRID)
        assert back.shape == GRID.shape


class TestThereAndBack:
    @pytest.mark.parametrize("name", [name for name in SPACES if name != "hed"])
    def test_every_colour_of_the_grid(self, name: str) -> None:
        back = SPACES[name].inverse(SPACES[name].forward(GRID))
        # worst: black through the lifted logarithm, 2**-18 (4e-6) times the inverse matrix (entries below 4.5): 3.5e-5;
        # luv and lab go through XYZ matrices printed to six digits and inverted numerically
        bound = {"lalphabeta": 3.5e-5}.get(name, 1e-9)
        assert np.abs(back - GRID).max() <= bound

    @pytest.mark.parametrize("name", [name for name in SPACES if name != "hed"])
    def test_eight_bits_survive(self, name: str) -> None:
        levels = np.rint(GRID * 255)
        assert np.array_equal(np.rint(SPACES[name].inverse(SPACES[name].forward(GRID)) * 255), levels)

    def test_hed_keeps_colours_of_its_gamut_only(self) -> None:
        stains = np.random.default_rng(1).uniform(0.02, 0.25, (20, 30, 3))
        inside = color.hed2rgb(stains)
        np.testing.assert_allclose(SPACES["hed"].inverse(SPACES["hed"].forward(inside)), inside, rtol=0, atol=1e-12)
        pure_green = np.array([[[0.0, 1.0, 0.0]]])  # no stain absorbs red and blue alone
        assert np.abs(SPACES["hed"].inverse(SPACES["hed"].forward(pure_green)) - pure_green).max() > 0.1

    @pytest.mark.parametrize("name", OTHERS)
    def test_impossible_values_come_back_finite(self, name: str) -> None:
        wild = np.random.default_rng(2).normal(0, 500, (40, 30, 3))
        assert np.isfinite(SPACES[name].inverse(wild)).all()

    def test_chroma_is_never_negative(self) -> None:
        # a chroma below zero would turn up as the opposite hue; it is no colour at all, so it becomes grey
        grey, negative = np.array([[[50.0, 0.0, 1.0]]]), np.array([[[50.0, -20.0, 1.0]]])
        assert np.array_equal(SPACES["lch"].inverse(negative), SPACES["lch"].inverse(grey))

    @pytest.mark.parametrize("name", ["hsv", "hsi"])
    def test_hue_wraps(self, name: str) -> None:
        turned = SPACES[name].forward(GRID)
        turned[..., 0] += 3.0
        np.testing.assert_allclose(SPACES[name].inverse(turned), GRID, rtol=0, atol=1e-9)


class TestLinear:
    def test_which_are_linear(self) -> None:
        assert set(LINEAR) == {"rgb", "ycbcr", "ypbpr", "yuv", "yiq", "ydbdr"}

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    @pytest.mark.parametrize("name", LINEAR)
    def test_plan_is_convert_match_convert(self, name: str, method: str) -> None:
        content, style = build("uniform", (37, 23, 3), "float64", 1), build("narrow", (30, 41, 3), "float64", 2)
        space = SPACES[name]
        inside, style_inside = space.forward(content), space.forward(style)
        matched = rc.match(inside, style_inside, method, data_range=math.inf, style_range=math.inf, clip=False)
        # condition of the worst basis (about 4), gains below 10, some twenty roundings: 1e-13; promised is 1e-10
        np.testing.assert_allclose(rc.match(content, style, method, name, clip=False), space.inverse(matched), rtol=0, atol=1e-10)

    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
    @pytest.mark.parametrize("strength", [1.0, 0.3])
    def test_ycbcr_ypbpr_and_yuv_give_the_same_image(self, dtype: str, strength: float) -> None:
        content, style = build("uniform", (37, 23, 3), dtype, 3), build("narrow", (30, 41, 3), dtype, 4)
        first, second, third = (rc.match(content, style, space=s, strength=strength) for s in ("ycbcr", "ypbpr", "yuv"))
        assert first.tobytes() == second.tobytes() == third.tobytes()
        assert first.tobytes() != rc.match(content, style, strength=strength).tobytes()

    def test_covariance_matching_depends_on_the_scale_of_the_axes(self) -> None:
        """Both maps give the style's covariance; which of all such maps moves least depends on the units of each axis."""
        content = build("uniform", (37, 23, 3), "float64", 3)
        turned = np.array([[0.3, 0.1, 0.0], [0.0, 0.2, 0.1], [0.2, 0.0, 0.5]])
        own, goal = rc.measure(content), rc.measure(content @ turned)
        first, second = (rc.plan(own, goal, space, method="covariance", max_gain=1e6).matrix for space in ("ycbcr", "yuv"))
        assert np.abs(first - second).max() > 1e-3
        for matrix in (first, second):
            np.testing.assert_allclose(matrix @ own.cov @ matrix.T, goal.cov, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("name", [name for name in LINEAR if name != "rgb"])
    def test_output_has_the_styles_statistics_there(self, name: str) -> None:
        content, style = build("uniform", (37, 23, 3), "float64", 5), build("narrow", (30, 41, 3), "float64", 6)
        out = SPACES[name].forward(rc.match(content, style, space=name, clip=False))
        goal = SPACES[name].forward(style)
        np.testing.assert_allclose(out.mean(axis=(0, 1)), goal.mean(axis=(0, 1)), rtol=0, atol=1e-12 * 240)
        np.testing.assert_allclose(out.std(axis=(0, 1)), goal.std(axis=(0, 1)), rtol=1e-11, atol=0)

    def test_grey_content_is_flat_in_its_chroma(self) -> None:
        grey = np.repeat(build("uniform", (9, 8, 1), "uint8", 1), 3, axis=-1)
        for name in (n for n in LINEAR if n != "rgb"):
            planned = rc.plan(rc.measure(grey), rc.measure(build("uniform", (9, 8, 3), "uint8", 2)), name)
            assert planned.flags == ((), ("flat",), ("flat",)), name


class TestOthers:
    @pytest.mark.parametrize("name", OTHERS)
    def test_match_is_convert_match_convert(self, name: str) -> None:
        content, style = build("narrow", (17, 23, 3), "float64", 1), build("narrow", (30, 11, 3), "float64", 2)
        space = SPACES[name]
        inside, goal = space.forward(content), space.forward(style)
        spread = inside.std(axis=(0, 1))
        gain = np.minimum(goal.std(axis=(0, 1)) / np.where(spread > 0, spread, np.inf), 10)  # nothing is amplified where flat
        matched = (inside - inside.mean(axis=(0, 1))) * gain + goal.mean(axis=(0, 1))
        wanted = np.clip(space.inverse(matched), 0, 1)
        # the same steps but for the order of sums; the inverse amplifies 1e-14 by at most some thousands (the power of LAB)
        np.testing.assert_allclose(rc.match(content, style, space=name), wanted, rtol=0, atol=1e-10)

    @pytest.mark.parametrize("name", OTHERS)
    def test_levels_are_those_of_other_libraries(self, name: str) -> None:
        # through scikit-image, or the textbook: 8-bit results may differ by one level, in one of ten thousand values
        content, style = build("uniform", (61, 67, 3), "uint8", 1), build("narrow", (50, 51, 3), "uint8", 2)
        decided = rc.plan(rc.measure(content, space=name), rc.measure(style, space=name), name)
        mapped = REFERENCE[name](content / 255.0) * decided.matrix.diagonal() + decided.offset
        wanted = np.rint(np.clip(RETURN[name](mapped), 0, 1) * 255)
        apart = np.abs(rc.apply(content, decided) - wanted)
        assert apart.max() <= 1
        assert np.count_nonzero(apart) <= 1e-4 * apart.size

    @pytest.mark.parametrize("name", ["lab", "luv", "lch"])
    def test_black_stays_black_and_white_white(self, name: str) -> None:
        # darker and brighter than black and white: nothing is limited in the space, so all channels reach the end together
        ends = np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8)
        zeros, ones = np.zeros(3), np.ones(3)
        numbers = (np.diag([1.2, 1.0, 1.0]), np.array([-10.0, 0.0, 0.0]), ones, Flags([()] * 3))
        wider = rc.Plan(*numbers, "mean_std", name, 1.0, 10.0, "exact", 1.0, zeros, ones, zeros, ones)
        assert rc.apply(ends, wider).tolist() == ends.tolist()


class TestRefusals:
    @pytest.mark.parametrize("channels", [1, 2, 5])
    @pytest.mark.parametrize("method", rc.MATCHERS)
    @pytest.mark.parametrize("name", ["ycbcr", "lab"])
    def test_three_channels_needed(self, name: str, method: str, channels: int) -> None:
        image = build("uniform", (6, 7, channels), "uint8", 1)
        with pytest.raises(rc.RecoloristError, match="three"):
            rc.match(image, image[::-1], method, name)

    def test_unknown_space(self) -> None:
        image = build("uniform", (6, 7, 3), "uint8", 1)
        with pytest.raises(rc.RecoloristError, match="'cmyk' is unknown; choose from 'rgb'"):
            rc.match(image, image, space="cmyk")
