"""What may come besides plain arrays: `out`, alpha, PIL images, masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import recolorist as rc
from recolorist.core import kernels
from recolorist.errors import ImageError
from tests.core.contracts import DTYPES
from tests.core.test_contracts import HEIGHT, WIDTH, fixed_plan, picture

MODES = {"L": ("uint8", ()), "LA": ("uint8", (2,)), "RGB": ("uint8", (3,)), "RGBA": ("uint8", (4,)), "I;16": ("uint16", ()),
         "F": ("float32", ())}  # fmt: skip
ROUTES = (("mean_std", "rgb"), ("covariance", "rgb"), ("mean_std", "lab"), ("histogram", "yuv"))
INSIDE = np.random.default_rng(3).random((HEIGHT, WIDTH)) < 0.6


def pil(mode: str, seed: int) -> Image.Image:
    dtype, channels = MODES[mode]
    made = Image.fromarray(picture(dtype, seed, (HEIGHT, WIDTH, *channels)))
    assert made.mode == mode
    return made


@pytest.mark.parametrize("dtype", DTYPES)
class TestOut:
    def test_filled_and_returned(self, dtype: str) -> None:
        image, style = picture(dtype), picture(dtype, 2)
        out = np.zeros_like(image)
        assert rc.match(image, style, out=out) is out
        np.testing.assert_array_equal(out, rc.match(image, style))
        out[:] = 0
        assert rc.apply(image, fixed_plan(dtype), out) is out
        np.testing.assert_array_equal(out, rc.apply(image, fixed_plan(dtype)))

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_strided_out(self, dtype: str, method: str) -> None:
        image, style = picture(dtype), picture(dtype, 2)
        large = np.zeros((HEIGHT, 2 * WIDTH, 3), dtype)
        rc.match(image, style, method, out=large[:, ::2])
        np.testing.assert_array_equal(large[:, ::2], rc.match(image, style, method))
        assert not large[:, 1::2].any()

    def test_grey_and_batch(self, dtype: str) -> None:
        grey, batch = picture(dtype, 0, (HEIGHT, WIDTH)), np.stack([picture(dtype)] * 2)
        grey_out, batch_out = np.zeros_like(grey), np.zeros_like(batch)
        rc.match(grey, grey[::-1] // 2 if dtype.startswith("u") else grey[::-1] / 2, out=grey_out)
        rc.match(batch, picture(dtype, 2), out=batch_out)
        np.testing.assert_array_equal(batch_out[1], rc.match(picture(dtype), picture(dtype, 2)))
        assert grey_out.any()

    def test_refused(self, dtype: str) -> None:
        image, style = picture(dtype), picture(dtype, 2)
        other = "float64" if dtype != "float64" else "uint8"
        locked = np.zeros_like(image)
        locked.flags.writeable = False
        before = image.tobytes()
        refused: list[Any] = [
            image,
            image[::-1],
            np.zeros(image.shape, other),
            np.zeros((1, 2, 3), dtype),
            locked,
            image.tolist(),
        ]
        refused.append(np.zeros(image.shape, np.dtype(other).newbyteorder(">")))
        for out in refused:
            with pytest.raises(rc.RecoloristError, match="out"):
                rc.match(image, style, out=out)
            with pytest.raises(rc.RecoloristError, match="out"):
                rc.apply(image, fixed_plan(dtype), out)
        assert image.tobytes() == before


@pytest.mark.parametrize("dtype", DTYPES)
class TestAlpha:
    def test_kept_and_not_measured(self, dtype: str) -> None:
        image, style = picture(dtype, 0, (HEIGHT, WIDTH, 4)), picture(dtype, 2)
        result = rc.match(image, style)
        np.testing.assert_array_equal(result[..., 3], image[..., 3])
        np.testing.assert_array_equal(result[..., :3], rc.match(np.ascontiguousarray(image[..., :3]), style))
        assert rc.measure(image) == rc.measure(np.ascontiguousarray(image[..., :3]))

    @pytest.mark.parametrize("method", rc.MATCHERS)
    @pytest.mark.parametrize("space", ["rgb", "yuv", "hsi"])
    def test_every_method(self, dtype: str, method: str, space: str) -> None:
        image, style = picture(dtype, 0, (HEIGHT, WIDTH, 4)), picture(dtype, 2, (5, 7, 4))
        result = rc.match(image, style, method, space)
        colour, style_colour = (np.ascontiguousarray(each[..., :3]) for each in (image, style))
        np.testing.assert_array_equal(result[..., :3], rc.match(colour, style_colour, method, space))
        np.testing.assert_array_equal(result[..., 3], image[..., 3])

    def test_four_colours(self, dtype: str) -> None:
        image, style = (picture(dtype, seed, (HEIGHT, WIDTH, 4)) for seed in (0, 2))
        result = rc.match(image, style, alpha=False)
        each = [rc.match(image[..., c], style[..., c]) for c in range(4)]
        np.testing.assert_array_equal(result, np.stack(each, axis=-1))

    def test_two_channels_are_colours_unless_told(self, dtype: str) -> None:
        image, style = (picture(dtype, seed, (HEIGHT, WIDTH, 2)) for seed in (0, 2))
        assert rc.measure(image).channels == 2
        np.testing.assert_array_equal(rc.match(image, style, alpha=True)[..., 1], image[..., 1])
        assert not np.array_equal(rc.match(image, style)[..., 1], image[..., 1])


class TestPil:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_same_mode_and_pixels(self, mode: str, method: str) -> None:
        image, style = pil(mode, 0), pil(mode, 2)
        before = image.tobytes()
        result = rc.match(image, style, method)
        assert isinstance(result, Image.Image)
        assert (result.mode, result.size) == (mode, image.size)
        alpha = mode in {"LA", "RGBA"}
        np.testing.assert_array_equal(np.asarray(result), rc.match(np.asarray(image), np.asarray(style), method, alpha=alpha))
        assert image.tobytes() == before

    @pytest.mark.parametrize("options", [{}, {"strength": 0.4}, {"apply_to": "mask"}, {"max_gain": 0.5}], ids=str)
    def test_rgb_is_changed_as_an_array_is(self, options: dict[str, Any]) -> None:
        """RGB passes with the fourth byte that Pillow keeps beside it; masks, flat channels and other options are as ever."""
        image, style = picture("uint8", 0), picture("uint8", 2)
        image[..., 1] = 9
        result = rc.match(Image.fromarray(image), Image.fromarray(style), mask=INSIDE, style_mask=INSIDE, **options)
        expected = rc.match(image, style, mask=INSIDE, style_mask=INSIDE, **options)
        assert result == Image.fromarray(expected)
        assert result.convert("RGBA").getextrema()[3] == (255, 255)

    @pytest.mark.parametrize("mode", MODES)
    def test_plan_and_audit(self, mode: str) -> None:
        image = pil(mode, 0)
        plan = rc.plan(rc.measure(image), rc.measure(pil(mode, 2)))
        assert rc.apply(image, plan).tobytes() == rc.match(image, pil(mode, 2)).tobytes()
        assert rc.audit(image, plan).inversions == rc.audit(image, rc.apply(image, plan)).inversions == 0

    def test_big_endian_sixteen_bits(self) -> None:
        data = picture("uint16", 0, (HEIGHT, WIDTH))
        image = Image.frombytes("I;16B", (WIDTH, HEIGHT), data.astype(">u2").tobytes())
        result = rc.match(image, picture("uint16", 2, (HEIGHT, WIDTH)))
        np.testing.assert_array_equal(np.asarray(result), rc.match(data, picture("uint16", 2, (HEIGHT, WIDTH))))
        assert result.mode == "I;16B"

    @pytest.mark.parametrize("mode", ["P", "CMYK", "1", "YCbCr", "I", "LAB", "HSV", "PA"])
    def test_refused_with_the_way_out(self, mode: str) -> None:
        image = Image.new(mode, (5, 4))
        for call in (lambda: rc.measure(image), lambda: rc.match(image, pil("RGB", 2)), lambda: rc.match(pil("RGB", 2), image)):
            with pytest.raises(rc.RecoloristError, match=rf"mode '{mode}'.*convert") as caught:
                call()
            assert "RGB" in str(caught.value)

    def test_damaged_file(self, tmp_path: Any) -> None:
        pil("RGB", 0).resize((200, 200)).save(tmp_path / "whole.png")
        data = (tmp_path / "whole.png").read_bytes()
        (tmp_path / "half.png").write_bytes(data[: len(data) // 2])
        with Image.open(tmp_path / "half.png") as image, pytest.raises(rc.RecoloristError, match="could not be decoded"):
            rc.measure(image)


def as_mask(kind: str) -> Any:
    kinds = {"bool": INSIDE, "0/255": INSIDE.astype(np.uint8) * np.uint8(255), "0/1": INSIDE.astype(np.uint8)}
    kinds["uint16"], kinds["trailing axis"] = INSIDE.astype(">u2"), INSIDE[..., None]
    kinds["Fortran"] = np.asfortranarray(INSIDE)
    pictures = {"PIL L": Image.fromarray(kinds["0/255"]), "PIL 1": Image.fromarray(kinds["0/255"]).convert("1")}
    return (kinds | pictures)[kind]


class TestMasks:
    @pytest.mark.parametrize("kind", ["bool", "0/255", "0/1", "uint16", "trailing axis", "Fortran", "PIL L", "PIL 1"])
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_measures_the_inside(self, dtype: str, kind: str) -> None:
        image = picture(dtype)
        inside: NDArray[Any] = image[INSIDE][None]
        assert rc.measure(image, as_mask(kind)) == rc.measure(inside)
        assert rc.measure(image, as_mask(kind)).count == INSIDE.sum()

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_outside_stays_to_the_byte(self, dtype: str, method: str) -> None:
        image, style = picture(dtype), picture(dtype, 2)
        result = rc.match(image, style, method, mask=INSIDE, apply_to="mask")
        assert result[~INSIDE].tobytes() == image[~INSIDE].tobytes()
        assert not np.array_equal(result[INSIDE], image[INSIDE])

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("space", ["rgb", "ycbcr", "lab"])
    def test_masked_plan(self, dtype: str, space: str) -> None:
        image, style = picture(dtype), picture(dtype, 2)
        plan = rc.plan(rc.measure(image, INSIDE, space=space), rc.measure(style, space=space), space)
        np.testing.assert_array_equal(rc.match(image, style, space=space, mask=INSIDE), rc.apply(image, plan))
        only = rc.match(image, style, space=space, mask=INSIDE, apply_to="mask")
        np.testing.assert_array_equal(only, rc.apply(image, plan, mask=INSIDE))
        np.testing.assert_array_equal(only[INSIDE], rc.apply(image, plan)[INSIDE])

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_style_mask(self, method: str) -> None:
        image, style = picture("uint8"), picture("uint8", 2)
        spoilt = np.where(INSIDE[..., None], style, np.uint8(255))
        np.testing.assert_array_equal(
            rc.match(image, spoilt, method, style_mask=INSIDE), rc.match(image, style[INSIDE][None], method)
        )

    def test_style_mask_without_pixels_is_refused(self) -> None:
        with pytest.raises(rc.RecoloristError, match="style_mask"):
            rc.match(picture("uint8"), rc.measure(picture("uint8", 2)), style_mask=INSIDE)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_empty_is_refused(self, dtype: str) -> None:
        image, none = picture(dtype), np.zeros((HEIGHT, WIDTH), bool)
        for call in (
            lambda: rc.measure(image, none),
            lambda: rc.match(image, image[::-1], mask=none),
            lambda: rc.match(image, image[::-1], style_mask=none),
            lambda: rc.match(image, image[::-1], "histogram", mask=none),
            lambda: rc.audit(image, fixed_plan(dtype), mask=none),
        ):
            with pytest.raises(rc.RecoloristError, match="selects no pixel"):
                call()

    @pytest.mark.parametrize(
        "mask",
        [
            INSIDE.T,
            INSIDE[None],
            np.ones((1, 1), bool),
            np.repeat(INSIDE[..., None], 3, -1),
            INSIDE.astype(float),
            INSIDE.tolist(),
            "x",
        ],
        ids=lambda mask: f"{type(mask).__name__} {getattr(mask, 'shape', '')}",
    )
    def test_what_does_not_fit_is_refused(self, mask: Any) -> None:
        image = picture("uint8")
        with pytest.raises(rc.RecoloristError, match="mask"):
            rc.measure(image, mask)
        with pytest.raises(rc.RecoloristError, match="mask"):
            rc.apply(image, fixed_plan("uint8"), mask=mask)
        with pytest.raises(rc.RecoloristError, match="style_mask"):
            rc.match(image, image[::-1], style_mask=mask)


class TestAlignment:
    """The loops read whole numbers, so memory that does not lie on their boundaries is copied first, or refused."""

    @staticmethod
    def shifted(image: NDArray[Any]) -> NDArray[Any]:
        """Return the same pixels one byte off."""
        memory = np.zeros(image.nbytes + 1, np.uint8)
        off = memory[1:].view(image.dtype).reshape(image.shape)
        off[...] = image
        assert not off.flags.aligned
        return off

    @pytest.mark.parametrize("dtype", ["uint16", "float32", "float64"])
    @pytest.mark.parametrize(
        ("method", "space"), [("mean_std", "rgb"), ("covariance", "rgb"), ("mean_std", "lab"), ("histogram", "yuv")]
    )
    def test_unaligned_images_give_the_same_bytes(self, dtype: str, method: str, space: str) -> None:
        rng = np.random.default_rng(4)
        unit = 65535 if dtype == "uint16" else 1
        content, style = ((rng.random((20, 30, 3)) * unit).astype(dtype) for _ in range(2))
        wanted = rc.match(content, style, method, space)
        assert np.array_equal(rc.match(self.shifted(content), self.shifted(style), method, space), wanted)

    def test_unaligned_out_is_refused(self) -> None:
        content = np.random.default_rng(5).random((8, 9, 3))
        with pytest.raises(ImageError, match="aligned"):
            rc.match(content, rc.measure(content), out=self.shifted(content))

    def test_the_compiled_loops_refuse_it(self) -> None:
        compiled = kernels._compiled or pytest.skip("the compiled loops were not built here")
        with pytest.raises(ValueError, match="not aligned"):
            compiled.sums_float(self.shifted(np.ones((4, 3))), 8, 3)
