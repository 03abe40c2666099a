"""Opening images: what is refused, and whether the error says what came and what to do."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist.core import image as check
from recolorist.errors import ImageError, OptionError, StatisticsError

RNG = np.random.default_rng(20)
COLOUR = RNG.integers(0, 256, (6, 7, 3), dtype=np.uint8)
STYLE = RNG.integers(60, 200, (5, 8, 3), dtype=np.uint8)

ENTRY_POINTS: dict[str, Callable[..., Any]] = {
    "measure": rc.measure,
    "apply": lambda image, **options: rc.apply(image, rc.plan(rc.measure(COLOUR), rc.measure(STYLE)), **options),
    "match": lambda image, **options: rc.match(image, STYLE, **options),
    "audit": lambda image, **options: rc.audit(image, rc.plan(rc.measure(COLOUR), rc.measure(STYLE)), **options),
    "style": lambda image: rc.match(COLOUR, image),
}


@pytest.mark.parametrize("entry", ENTRY_POINTS)
class TestRefused:
    @pytest.mark.parametrize(
        "dtype", ["bool", "int8", "int16", "int32", "int64", "uint32", "uint64", "complex64", "complex128", "object", "S2", "U2"]
    )
    def test_dtype_is_named(self, entry: str, dtype: str) -> None:
        image = np.zeros((4, 5, 3), dtype)
        with pytest.raises(ImageError, match="Convert it") as caught:
            ENTRY_POINTS[entry](image)
        assert str(image.dtype) in str(caught.value)
        assert "uint8, uint16, float16, float32 or float64" in str(caught.value)

    def test_structured_and_extended(self, entry: str) -> None:
        for image in (np.zeros((4, 5), "i4,f4"), np.zeros((4, 5, 3), np.longdouble), np.zeros((4, 5, 3), "M8[s]")):
            with pytest.raises(ImageError, match="dtype"):
                ENTRY_POINTS[entry](image)

    @pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4, 5, 3), (1,) * 6])
    def test_rank_is_named(self, entry: str, shape: tuple[int, ...]) -> None:
        with pytest.raises(ImageError) as caught:
            ENTRY_POINTS[entry](np.zeros(shape, np.uint8))
        assert str(shape) in str(caught.value)

    @pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (0, 4, 3), (4, 0, 3), (4, 5, 0), (2, 0, 4, 3), (2, 4, 0, 3)])
    def test_no_pixels(self, entry: str, shape: tuple[int, ...]) -> None:
        with pytest.raises(ImageError, match="no pixels"):
            ENTRY_POINTS[entry](np.zeros(shape, np.uint8))

    @pytest.mark.parametrize("image", [None, "a.png", b"x", 3, 2.5, [[1, 2]], {"a": 1}, np.uint8(3), range(3)], ids=repr)
    def test_other_types_are_named(self, entry: str, image: Any) -> None:
        with pytest.raises(ImageError, match="NumPy arrays") as caught:
            ENTRY_POINTS[entry](image)
        assert type(image).__name__ in str(caught.value)

    def test_masked_array(self, entry: str) -> None:
        with pytest.raises(ImageError, match="masked array"):
            ENTRY_POINTS[entry](np.ma.masked_array(COLOUR, mask=COLOUR > 99))

    @pytest.mark.parametrize("shape", [(3, 64, 48), (1, 64, 48), (4, 64, 48), (2, 3, 64, 48), (5, 6, 513)])
    def test_channel_first_gets_the_remedy(self, entry: str, shape: tuple[int, ...]) -> None:
        with pytest.raises(ImageError, match=r"moveaxis\(image, -3, -1\)") as caught:
            ENTRY_POINTS[entry](np.zeros(shape, np.uint8))
        assert str(shape) in str(caught.value)


def test_the_remedy_works() -> None:
    image = np.ascontiguousarray(np.moveaxis(COLOUR, -1, -3))
    np.testing.assert_array_equal(rc.match(np.moveaxis(image, -3, -1), STYLE), rc.match(COLOUR, STYLE))


@pytest.mark.parametrize("channels", [1, 2, 3, 5, 9, 16, 40, 512])
def test_any_number_of_channels(channels: int) -> None:
    image, style = np.random.default_rng(channels).integers(0, 256, (2, 5, 6, channels), dtype=np.uint8)
    each = [rc.match(image[..., c], style[..., c]) for c in range(channels)]
    np.testing.assert_array_equal(rc.match(image, style, alpha=False), np.stack(each, -1))


class TestGreyAndColour:
    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_never_guessed(self, method: str) -> None:
        grey = COLOUR[..., 0]
        for content, style, message in ((grey, STYLE, "1 channel.*style 3"), (COLOUR, STYLE[..., 0], "3 channel.*style 1")):
            with pytest.raises(StatisticsError, match=message) as caught:
                rc.match(content, style, method)
            assert "numpy.repeat" in str(caught.value)

    def test_plans_and_moments_too(self) -> None:
        grey, colour = rc.measure(COLOUR[..., 0]), rc.measure(STYLE)
        with pytest.raises(StatisticsError, match="must agree"):
            rc.plan(grey, colour)
        with pytest.raises(StatisticsError, match="must agree"):
            rc.match(COLOUR, grey)
        with pytest.raises(StatisticsError, match=r"plan is for 3 channel.* image has 1"):
            rc.apply(COLOUR[..., 0], rc.plan(colour, colour))

    def test_one_channel_is_grey(self) -> None:
        np.testing.assert_array_equal(rc.match(COLOUR[..., :1], STYLE[..., 0])[..., 0], rc.match(COLOUR[..., 0], STYLE[..., :1]))

    @pytest.mark.parametrize("space", [name for name in rc.SPACES if name != "rgb"])
    def test_spaces_need_three(self, space: str) -> None:
        grey = COLOUR[..., 0]
        with pytest.raises(rc.RecoloristError, match="three"):
            rc.match(grey, grey[::-1], space=space)
        with pytest.raises(rc.RecoloristError, match="three"):
            rc.match(grey, grey[::-1], "histogram", space=space)


class TestRange:
    @pytest.mark.parametrize(("low", "high"), [(0.0, 1.5), (-0.25, 1.0), (-3.0, 255.0), (0.0, 200.0), (0.0, 1.0000001)])
    @pytest.mark.parametrize("entry", ENTRY_POINTS)
    def test_outside_names_minimum_and_maximum(self, entry: str, low: float, high: float) -> None:
        image = np.full((4, 5, 3), 0.5)
        image[1, 2, 0], image[2, 2, 1] = low, high
        with pytest.raises(ImageError, match=r"declared range 0 to 1\b") as caught:
            ENTRY_POINTS[entry](image)
        assert f"from {min(low, 0.5):.6g} to {high:.6g}" in str(caught.value)

    @pytest.mark.parametrize(("high", "advice"), [(200.0, "255.0"), (3000.0, "4095.0"), (60000.0, "65535.0")])
    def test_advice_fits(self, high: float, advice: str) -> None:
        with pytest.raises(ImageError, match=rf"data_range={advice}"):
            rc.measure(np.array([[0.0, high]]))

    def test_almost_black_sixteen_bits_are_not_eight(self) -> None:
        dark = np.random.default_rng(1).integers(0, 200, (6, 7, 3), dtype=np.uint16)
        assert rc.measure(dark).data_range == 65535.0
        assert rc.measure(dark).rescaled(255.0).mean.max() < 1.0
        result = rc.match(dark, STYLE)
        np.testing.assert_allclose(result.mean((0, 1)), STYLE.mean((0, 1)) * 257, atol=1)

    def test_almost_black_float_is_not_eight_bits(self) -> None:
        assert rc.measure(COLOUR / 255.0 / 255.0).data_range == 1.0

    @pytest.mark.parametrize("kind", ["uint16", "float32", "float64"])
    def test_declared_range_is_used(self, kind: str) -> None:
        twelve = np.random.default_rng(2).integers(0, 4096, (6, 7, 3)).astype(kind)
        assert rc.measure(twelve, data_range=4095).data_range == 4095.0
        result = rc.match(twelve, STYLE, data_range=4095)
        np.testing.assert_allclose(result.mean((0, 1)), STYLE.mean((0, 1)) * (4095 / 255), atol=1)
        assert result.max() <= 4095

    def test_twelve_bits_clip_at_twelve_bits(self) -> None:
        rng = np.random.default_rng(3)
        content = rng.integers(1000, 3000, (6, 7, 3), dtype=np.uint16)
        bright = rng.integers(0, 2, (6, 7, 3), dtype=np.uint16) * np.uint16(4095)
        for method in rc.MATCHERS:
            result = rc.match(content, bright, method, data_range=4095, style_range=4095)
            assert result.max() == 4095, method

    @pytest.mark.parametrize("entry", [name for name in ENTRY_POINTS if name != "style"])
    def test_levels_above_a_declared_range_are_refused(self, entry: str) -> None:
        with pytest.raises(ImageError, match="0 to 4095"):
            ENTRY_POINTS[entry](np.full((4, 5, 3), 5000, np.uint16), data_range=4095)

    @pytest.mark.parametrize("value", [0, -1, -math.inf, math.nan, "255", True, int, [255], 10**400, 1 + 2j])
    @pytest.mark.parametrize("image", [COLOUR, COLOUR / 255.0], ids=["uint8", "float64"])
    def test_nonsense(self, image: Any, value: Any) -> None:
        with pytest.raises(OptionError, match="data_range"):
            rc.measure(image, data_range=value)

    @pytest.mark.parametrize(
        ("image", "value"), [(COLOUR, 256), (COLOUR, 254.5), (COLOUR, math.inf), (COLOUR.astype("u2"), 65536)]
    )
    def test_integers_have_natural_limits(self, image: Any, value: float) -> None:
        with pytest.raises(OptionError, match="whole numbers"):
            rc.measure(image, data_range=value)

    @pytest.mark.parametrize("kind", ["float16", "float32"])
    def test_range_the_dtype_cannot_hold(self, kind: str) -> None:
        with pytest.raises(OptionError, match="data_range"):
            rc.match(np.full((3, 4, 3), 0.5, kind), STYLE, data_range=1e300)


class TestOptions:
    @pytest.mark.parametrize("name", ["space", "method", "eps_mode", "apply_to", "on_nonfinite"])
    @pytest.mark.parametrize("value", ["rgba", "", "RGB", None, 3, ["rgb"], math.nan])
    def test_unknown_names_list_the_choices(self, name: str, value: Any) -> None:
        choices = {
            "space": list(rc.SPACES),
            "method": list(rc.MATCHERS),
            "eps_mode": ["exact", "paper"],
            "apply_to": ["all", "mask"],
            "on_nonfinite": ["raise", "mask"],
        }
        with pytest.raises(OptionError) as caught:
            rc.match(COLOUR, STYLE, **{name: value})
        assert str(caught.value).startswith(f"{name}={value!r} is unknown")
        assert all(repr(choice) in str(caught.value) for choice in choices[name])

    @pytest.mark.parametrize("value", [-0.001, 1.001, math.nan, math.inf, "1", None, True, [1.0], 10**400])
    def test_strength(self, value: Any) -> None:
        with pytest.raises(OptionError, match="from 0 to 1"):
            rc.match(COLOUR, STYLE, strength=value)
        with pytest.raises(OptionError, match="strength="):
            rc.plan(rc.measure(COLOUR), rc.measure(STYLE), strength=value)

    @pytest.mark.parametrize("value", [-0.001, math.nan, "1", None, True, 10**400])
    def test_max_gain(self, value: Any) -> None:
        with pytest.raises(OptionError, match="max_gain="):
            rc.match(COLOUR, STYLE, max_gain=value)

    @pytest.mark.parametrize("value", [np.float32(0.5), np.int64(1), 0, 1])
    def test_numbers_of_numpy_are_numbers(self, value: Any) -> None:
        np.testing.assert_array_equal(rc.match(COLOUR, STYLE, strength=value), rc.match(COLOUR, STYLE, strength=float(value)))

    def test_unclipped_integers(self) -> None:
        for entry in ("match", "apply"):
            with pytest.raises(OptionError, match="clip=False is for float"):
                ENTRY_POINTS[entry](COLOUR, clip=False)

    def test_alpha_needs_company(self) -> None:
        with pytest.raises(ImageError, match="alpha"):
            rc.measure(COLOUR[..., 0], alpha=True)


def test_every_error_is_ours() -> None:
    assert all(issubclass(kind, rc.RecoloristError) for kind in (ImageError, OptionError, StatisticsError))
    assert issubclass(rc.RecoloristError, ValueError)


def test_opened_is_a_view() -> None:
    assert np.shares_memory(check.open_image(COLOUR).array, COLOUR)
    assert check.open_image(COLOUR[..., 0]).array.shape == (6, 7, 1)


class TestRanges:
    @pytest.mark.parametrize(
        ("value", "ends"),
        [(1, (1.0, 1.0)), ((0, 1), (0.0, 1.0)), ([0.25, 0.25], (0.25, 0.25)), (np.float32(0.5), (0.5, 0.5))],
    )
    def test_a_number_a_tuple_and_a_list(self, value: Any, ends: tuple[float, float]) -> None:
        assert check.number_range(value, 0, 1, "strength") == ends

    @pytest.mark.parametrize(
        "value", [(1,), (), (0.1, 0.2, 0.3), (0.9, 0.1), (-1, 1), [0, 2], (0, np.nan), ("0", "1"), "01", None, True]
    )
    def test_anything_else_is_refused(self, value: Any) -> None:
        with pytest.raises(OptionError, match="strength="):
            check.number_range(value, 0, 1, "strength")


class TestCheckImage:
    """It refuses what opening refuses, and does not copy the pixels of a PIL image."""

    @pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "I;16", "F"])
    def test_pixels_of_pil_images_are_not_copied(self, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("the pixels were copied")

        image = Image.new(mode, (5, 4))
        monkeypatch.setattr(Image.Image, "tobytes", refuse)
        check.check_image(image)

    @pytest.mark.parametrize(
        ("image", "data_range"),
        [
            (None, None),
            ([[1, 2]], None),
            (np.zeros((4, 5, 3), np.int32), None),
            (np.zeros((0, 5, 3), np.uint8), None),
            (np.zeros((4, 5, 3), np.uint8), 300),
            (Image.new("P", (5, 4)), None),
            (Image.new("RGB", (0, 4)), None),
            (Image.new("RGB", (5, 4)), 4095),
            (Image.new("I;16", (5, 4)), 0.5),
            (Image.new("F", (5, 4)), -1.0),
        ],
        ids=["none", "list", "int32", "empty", "range", "palette", "empty PIL", "range PIL", "range 16 bits", "range float"],
    )
    def test_the_same_is_refused_with_the_same_words(self, image: Any, data_range: Any) -> None:
        with pytest.raises(rc.RecoloristError) as expected:
            check.open_image(image, data_range)
        with pytest.raises(type(expected.value), match=re.escape(str(expected.value))):
            check.check_image(image, data_range)

    def test_a_damaged_file(self) -> None:
        buffer = io.BytesIO()
        Image.fromarray(np.repeat(COLOUR, 30, axis=0)).save(buffer, "PNG")
        half = Image.open(io.BytesIO(buffer.getvalue()[: len(buffer.getvalue()) // 2]))
        with pytest.raises(ImageError, match="could not be decoded"):
            check.check_image(half)


def test_rgb_of_pillow_with_its_padding_has_the_same_pixels() -> None:
    opened = check.open_image(Image.fromarray(COLOUR), padded=True)
    assert (opened.is_padded, opened.channels, opened.array.shape) == (True, 3, (6, 7, 4))
    np.testing.assert_array_equal(opened.colour, COLOUR)


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "I;16", "F"])
def test_other_modes_have_no_padding(mode: str) -> None:
    assert not check.open_image(Image.new(mode, (5, 4)), padded=True).is_padded
