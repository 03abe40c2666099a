"""Every public name against its record in `contracts.py`: layouts, dtypes, batches, outputs, signatures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core import kernels
from tests.core.contracts import CONTRACTS, DTYPES, KERNELS, LAYOUTS

Image = NDArray[Any]
HEIGHT, WIDTH = 9, 14  # not square, so that swapped sides cannot hide


def picture(dtype: str, seed: int = 0, shape: tuple[int, ...] = (HEIGHT, WIDTH, 3)) -> Image:
    rng = np.random.default_rng(seed)
    shade = rng.uniform(0.1, 0.5) + rng.random(shape) * rng.uniform(0.2, 0.4, shape[-1])
    top = float(np.iinfo(dtype).max) if dtype.startswith("u") else 1.0
    return (shade * top).astype(dtype)


def fingerprint(result: Any) -> bytes:
    """All the bits of a result; images in C order and native bytes, so that equal pixels are equal prints."""
    if isinstance(result, tuple):
        return b"|".join(map(fingerprint, result))
    if isinstance(result, np.ndarray):
        return np.ascontiguousarray(result, dtype=result.dtype.newbyteorder("=")).tobytes()
    if isinstance(result, rc.Moments):
        return repr(result.to_dict()).encode()
    return str(result.to_json()).encode()


def fixed_plan(dtype: str) -> rc.Plan:
    return rc.plan(rc.measure(picture(dtype, 1)), rc.measure(picture(dtype, 2)))


@lru_cache
def augmentation() -> rc.Colorist:
    """Always drawn, and always the same style."""
    return rc.Colorist(rc.StyleBank.build([picture("uint8", seed) for seed in (2, 3)], split="train"), p=1.0, seed=1)


#: How each function of an image is called when only the image varies.
CALLS: Mapping[str, Callable[[Image, str], Any]] = {
    "measure": lambda image, _: rc.measure(image),
    "apply": lambda image, dtype: rc.apply(image, fixed_plan(dtype)),
    "match": lambda image, dtype: rc.match(image, picture(dtype, 2)),
    "audit": lambda image, dtype: rc.audit(image, fixed_plan(dtype)),
    "match covariance": lambda image, dtype: rc.match(image, picture(dtype, 2), "covariance"),
    "match yiq": lambda image, dtype: rc.match(image, picture(dtype, 2), space="yiq"),
    "match lab": lambda image, dtype: rc.match(image, picture(dtype, 2), space="lab"),
    "match histogram": lambda image, dtype: rc.match(image, picture(dtype, 2), "histogram"),
    "match exact_histogram": lambda image, dtype: rc.match(image, picture(dtype, 2), "exact_histogram"),
    "match style": lambda image, dtype: rc.match(picture(dtype, 2), image),
    "Colorist": lambda image, _: augmentation()(image, key="0", epoch=0),
    "Harmoniser": lambda image, _: rc.Harmoniser(augmentation().bank, "off")(image),
    "audit output": lambda image, dtype: rc.audit(image, rc.apply(image, fixed_plan(dtype))),
}
WRITERS = [name for name in CALLS if name.startswith(("apply", "match", "Colorist", "Harmoniser")) and name != "match style"]


def memory_order(image: Image) -> list[int]:
    """Axes from the slowest to the fastest in memory."""
    return sorted(range(image.ndim), key=lambda axis: -abs(image.strides[axis]))


class TestRecords:
    def test_every_public_name_has_one(self) -> None:
        assert sorted(CONTRACTS) == sorted(rc.__all__)

    def test_every_function_of_an_image_is_checked(self) -> None:
        assert {name for name, c in CONTRACTS.items() if c.kind.endswith("of an image")} == {n.split()[0] for n in CALLS}

    @pytest.mark.parametrize("name", CONTRACTS)
    def test_is_what_its_record_says(self, name: str) -> None:
        kinds: dict[str, Callable[[Any], bool]] = {
            "function of an image": inspect.isfunction,
            "function of a batch": inspect.isfunction,
            "transform of an image": inspect.isclass,
            "function": inspect.isfunction,
            "record": inspect.isclass,
            "table": lambda value: isinstance(value, Mapping) and not hasattr(value, "__setitem__"),
            "error": lambda value: inspect.isclass(value) and issubclass(value, ValueError),
            "text": lambda value: re.fullmatch(r"\d+\.\d+\.\d+[\w.]*", value) is not None,
        }
        assert kinds[CONTRACTS[name].kind](getattr(rc, name))

    @pytest.mark.parametrize("name", [name for name, c in CONTRACTS.items() if c.parameters])
    def test_parameters_and_defaults(self, name: str) -> None:
        found = list(inspect.signature(getattr(rc, name)).parameters.values())
        promised = CONTRACTS[name].parameters
        positional = [p for p in found if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        came = [(p.name, ... if p.default is inspect.Parameter.empty else p.default) for p in positional]
        assert tuple(came[: len(promised)]) == promised
        assert len(came) == len(promised) or name == "Colorist"  # which has more, tested with it

    def test_tables_hold_what_the_readme_promises(self) -> None:
        assert set(rc.SPACES) == set("rgb lab hed hsi hsv lch luv ycbcr yiq ypbpr yuv ydbdr lalphabeta".split())  # noqa: SIM905
        assert set(rc.MATCHERS) == {"mean_std", "histogram", "exact_histogram", "covariance"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
class TestAnyMemory:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("name", CALLS)
    def test_same_bits_and_input_untouched(self, name: str, layout: str, dtype: str, kernel: Any, tmp_path: Path) -> None:
        image = LAYOUTS[layout](picture(dtype), tmp_path)
        before, strides = image.tobytes(), image.strides
        with kernels.using(kernel):
            result, plain = CALLS[name](image, dtype), CALLS[name](picture(dtype), dtype)
        assert fingerprint(result) == fingerprint(plain)
        assert (image.tobytes(), image.strides) == (before, strides)

    @pytest.mark.parametrize("name", WRITERS)
    def test_type_and_memory_order_kept(self, name: str, layout: str, dtype: str, tmp_path: Path) -> None:
        image = LAYOUTS[layout](picture(dtype), tmp_path)
        result = CALLS[name](image, dtype)
        assert type(result) is np.ndarray
        assert (result.shape, result.dtype, result.dtype.byteorder) == (image.shape, image.dtype, image.dtype.byteorder)
        assert memory_order(result) == memory_order(image)
        assert result.flags.writeable
        assert not np.shares_memory(result, image)

    @pytest.mark.parametrize("name", ["apply", "match"])
    def test_grey_and_alpha_too(self, name: str, layout: str, dtype: str, tmp_path: Path) -> None:
        grey, rgba = (LAYOUTS[layout](picture(dtype, 3, s), tmp_path) for s in ((HEIGHT, WIDTH), (HEIGHT, WIDTH, 4)))
        grey_plan = rc.plan(rc.measure(picture(dtype, 3, (HEIGHT, WIDTH))), rc.measure(picture(dtype, 4, (HEIGHT, WIDTH))))
        calls = {
            "apply": lambda: (rc.apply(grey, grey_plan), rc.apply(rgba, fixed_plan(dtype))),
            "match": lambda: (rc.match(grey, picture(dtype, 4, (HEIGHT, WIDTH))), rc.match(rgba, picture(dtype, 4, rgba.shape))),
        }
        grey_out, rgba_out = calls[name]()
        assert (grey_out.shape, rgba_out.shape) == (grey.shape, rgba.shape)
        assert (grey_out.dtype, rgba_out.dtype) == (grey.dtype, rgba.dtype)
        assert memory_order(grey_out) == memory_order(grey)
        np.testing.assert_array_equal(rgba_out[..., 3], rgba[..., 3])
        assert not np.array_equal(rgba_out[..., :3], rgba[..., :3])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_memory_within_a_batch(layout: str, dtype: str, tmp_path: Path) -> None:
    plain = np.stack([picture(dtype, seed) for seed in (5, 6, 7)])
    batch = LAYOUTS[layout](plain, tmp_path)
    before = batch.tobytes()
    result = rc.match_within_batch(batch, 1.0)
    assert fingerprint(result) == fingerprint(rc.match_within_batch(plain, 1.0))
    assert batch.tobytes() == before
    assert type(result) is np.ndarray
    assert (result.shape, result.dtype) == (batch.shape, batch.dtype)
    assert memory_order(result) == memory_order(batch)
    assert not np.shares_memory(result, batch)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", DTYPES)
class TestBatches:
    @pytest.fixture(autouse=True)
    def _chosen_kernel(self, kernel: Any) -> Any:
        with kernels.using(kernel):
            yield

    @staticmethod
    def contents(dtype: str) -> Image:
        return np.stack([picture(dtype, seed) for seed in (5, 6, 7)])

    @staticmethod
    def styles(dtype: str) -> Image:
        return np.stack([picture(dtype, seed) for seed in (8, 9, 10)])

    def test_measure(self, dtype: str) -> None:
        batch = self.contents(dtype)
        measured: Any = rc.measure(batch)
        assert list(measured) == [rc.measure(image) for image in batch]

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_one_style(self, dtype: str, method: str) -> None:
        batch, style = self.contents(dtype), picture(dtype, 2)
        looped = np.stack([rc.match(image, style, method) for image in batch])
        np.testing.assert_array_equal(rc.match(batch, style, method), looped)

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_a_style_for_each(self, dtype: str, method: str) -> None:
        batch, styles = self.contents(dtype), self.styles(dtype)
        looped = np.stack([rc.match(image, style, method) for image, style in zip(batch, styles, strict=True)])
        np.testing.assert_array_equal(rc.match(batch, styles, method), looped)

    def test_moments_for_each(self, dtype: str) -> None:
        batch, styles = self.contents(dtype), self.styles(dtype)
        np.testing.assert_array_equal(rc.match(batch, rc.measure(styles)), rc.match(batch, styles))

    def test_plans_for_each(self, dtype: str) -> None:
        batch, styles = self.contents(dtype), self.styles(dtype)
        plans: Any = rc.plan(rc.measure(batch), rc.measure(styles))
        np.testing.assert_array_equal(rc.apply(batch, plans), rc.match(batch, styles))
        audits: Any = rc.audit(batch, plans)
        each = zip(batch, plans, strict=True)
        assert [a.to_json() for a in audits] == [rc.audit(image, one).to_json() for image, one in each]

    def test_masks(self, dtype: str) -> None:
        batch, style = self.contents(dtype), picture(dtype, 2)
        masks = np.random.default_rng(0).random(batch.shape[:-1]) < 0.5
        looped = np.stack([rc.match(i, style, mask=m, apply_to="mask") for i, m in zip(batch, masks, strict=True)])
        np.testing.assert_array_equal(rc.match(batch, style, mask=masks, apply_to="mask"), looped)
        shared = np.stack([rc.match(i, style, mask=masks[0]) for i in batch])
        np.testing.assert_array_equal(rc.match(batch, style, mask=masks[0]), shared)

    @pytest.mark.parametrize("method", rc.MATCHERS)
    def test_empty(self, dtype: str, method: str) -> None:
        nothing = np.empty((0, HEIGHT, WIDTH, 3), dtype)
        plans = rc.plan(rc.measure(nothing), rc.measure(nothing))
        results = (rc.match(nothing, picture(dtype), method), rc.match(nothing, nothing, method), rc.apply(nothing, plans))
        assert [(r.shape, r.dtype) for r in results] == [(nothing.shape, nothing.dtype)] * 3
        answers: list[Any] = [rc.measure(nothing), plans, rc.audit(nothing, plans)]
        assert answers == [(), (), ()]

    def test_wrong_number_of_styles(self, dtype: str) -> None:
        batch, two = self.contents(dtype), self.styles(dtype)[:2]
        with pytest.raises(rc.RecoloristError, match="2 styles for 3 images"):
            rc.match(batch, two)
        with pytest.raises(rc.RecoloristError, match="2 styles"):
            rc.plan(rc.measure(batch), rc.measure(two))
        with pytest.raises(rc.RecoloristError, match="2 plans for 3"):
            rc.apply(batch, [fixed_plan(dtype)] * 2)
        with pytest.raises(rc.RecoloristError, match="2 plans for 3"):
            rc.audit(batch, [fixed_plan(dtype)] * 2)
        with pytest.raises(rc.RecoloristError, match="styles for one image"):
            rc.match(batch[0], two)
