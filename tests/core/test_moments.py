"""Moments: exact on integers, additive, frozen, and refused where they are nonsense."""

from __future__ import annotations

import copy
import json
import math
import pickle  # noqa: TID251 - our own objects, written and read in this file
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core import kernels
from recolorist.core.image import open_image
from recolorist.core.moments import measure_opened
from recolorist.core.sums import float_pairs
from recolorist.errors import ImageError, StatisticsError
from tests.core.contracts import KERNELS


@pytest.fixture(params=KERNELS, autouse=True)
def _each_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    with kernels.using(request.param):
        yield


def integers(kind: str, shape: tuple[int, ...] = (11, 13, 3)) -> NDArray[Any]:
    return np.random.default_rng(21).integers(0, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)


def floats(shape: tuple[int, ...] = (11, 13, 3)) -> NDArray[np.float64]:
    return np.random.default_rng(22).random(shape)


def exact(image: NDArray[Any]) -> tuple[list[float], list[list[float]]]:
    """Mean and covariance by rational arithmetic, each rounded once."""
    columns = [[int(v) for v in column] for column in image.reshape(-1, image.shape[-1]).T]
    n = len(columns[0])
    means = [Fraction(sum(c), n) for c in columns]
    products = [[Fraction(sum(a * b for a, b in zip(c, d, strict=True)), n) for d in columns] for c in columns]
    cov = [[float(p - m * k) for p, k in zip(row, means, strict=True)] for row, m in zip(products, means, strict=True)]
    return [float(m) for m in means], cov


class TestExact:
    @pytest.mark.parametrize("kind", ["uint8", "uint16"])
    @pytest.mark.parametrize(
        "shape", [(1, 1, 3), (1, 9, 3), (5, 13, 1), (11, 13, 3), (40, 37, 3), (9, 8, 2), (7, 6, 5), (4, 5, 9)]
    )
    def test_rational_arithmetic(self, kind: str, shape: tuple[int, ...]) -> None:
        image = integers(kind, shape)
        measured = rc.measure(image)
        assert (measured.mean.tolist(), measured.cov.tolist()) == exact(image)
        assert measured.count == shape[0] * shape[1]

    @pytest.mark.parametrize("kind", ["uint8", "uint16", "float32", "float64"])
    def test_numpy_agrees(self, kind: str) -> None:
        image = integers("uint16").astype(kind) if kind != "uint8" else integers(kind)
        measured = rc.measure(image, data_range=None if kind.startswith("u") else 65535)
        pixels = image.reshape(-1, 3).astype(np.float64)
        np.testing.assert_allclose(measured.mean, pixels.mean(0), rtol=1e-14)
        np.testing.assert_allclose(measured.cov, np.cov(pixels.T, bias=True), rtol=1e-12, atol=1e-12 * measured.cov.max())
        np.testing.assert_allclose(measured.std, pixels.std(0), rtol=1e-12)

    @pytest.mark.parametrize("kind", ["uint8", "uint16"])
    def test_bright_images_do_not_overflow(self, kind: str) -> None:
        top = int(np.iinfo(kind).max)
        image = np.full((2100, 2050, 3), top, kind)
        image[0, 0] = top - 1
        n = 2100 * 2050
        measured = rc.measure(image)
        assert measured.mean.tolist() == [float(Fraction(top * n - 1, n))] * 3
        assert measured.cov[0, 1] == float(Fraction(n - 1, n * n))

    @pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 1e-30, 0.9999999])
    @pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
    def test_flat_floats_have_no_variance(self, kind: str, value: float) -> None:
        image = np.full((31, 17, 3), value, kind)
        measured = rc.measure(image)
        assert not measured.cov.any()
        assert measured.mean.tolist() == [float(image[0, 0, 0])] * 3


class TestAdding:
    @pytest.mark.parametrize("kind", ["uint8", "uint16"])
    @pytest.mark.parametrize("rows", [1, 2, 3, 7])
    def test_strips_equal_the_whole(self, kind: str, rows: int) -> None:
        image = integers(kind)
        strips = [rc.measure(image[i : i + rows]) for i in range(0, len(image), rows)]
        assert sum(strips[1:], strips[0]) == sum(reversed(strips)) == rc.measure(image)

    @pytest.mark.parametrize("kind", ["float32", "float64"])
    def test_floats_nearly(self, kind: str) -> None:
        image = floats().astype(kind)
        merged, whole = rc.measure(image[:4]) + rc.measure(image[4:]), rc.measure(image)
        assert merged.count == whole.count
        np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-14)
        np.testing.assert_allclose(merged.cov, whole.cov, rtol=1e-13, atol=1e-16)

    @pytest.mark.parametrize("space", [name for name, space in rc.SPACES.items() if not space.is_linear])
    def test_strips_and_masks_are_exact_in_every_space(self, space: str) -> None:
        image = integers("uint8", (37, 41, 3))
        whole = rc.measure(image, space=space)
        assert sum(rc.measure(image[i : i + 5], space=space) for i in range(0, 37, 5)) == whole
        mask = np.random.default_rng(3).random((37, 41)) < 0.4
        assert rc.measure(image, mask, space=space) + rc.measure(image, ~mask, space=space) == whole
        assert rc.measure(np.asfortranarray(image), space=space) == whole
        alone = rc.match(image, rc.measure(image[::-2], space=space), space=space)  # variances alone are the same numbers
        np.testing.assert_array_equal(alone, rc.apply(image, rc.plan(whole, rc.measure(image[::-2], space=space), space)))

    def test_flat_strips_stay_flat(self) -> None:
        image = np.full((10, 3, 3), 0.1)
        assert not (rc.measure(image[:3]) + rc.measure(image[3:])).cov.any()

    def test_what_does_not_add_up(self) -> None:
        base = rc.measure(integers("uint8"))
        for other in (
            rc.measure(integers("uint16")),
            rc.measure(integers("uint8", (4, 5))),
            rc.measure(integers("uint8"), space="hsi"),
        ):
            with pytest.raises(StatisticsError, match="cannot add"):
                base + other
        for stranger in (5, "x", None, 0.0):
            with pytest.raises(TypeError):
                base + stranger


class TestRecord:
    def test_repr_fits_a_log_line(self) -> None:
        text = repr(rc.measure(integers("uint8")))
        assert text.startswith("Moments(143 pixels, mean=[")
        assert "range 0 to 255, rgb)" in text
        assert len(text) < 200

    def test_frozen(self) -> None:
        for measured in (rc.measure(integers("uint8")), rc.measure(floats()), rc.Moments(1, [1.0], [[2.0]])):
            for array in (measured.mean, measured.cov):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 9

    def test_takes_copies(self) -> None:
        mean, cov = np.array([0.5]), np.array([[0.25]])
        measured = rc.Moments(4, mean, cov)
        mean[0] = cov[0, 0] = 9
        assert (measured.mean[0], measured.cov[0, 0], measured.std[0]) == (0.5, 0.25, 0.5)

    def test_rescaled(self) -> None:
        image = integers("uint8")
        there = rc.measure(image).rescaled(1.0)
        direct = rc.measure(image / 255.0)
        np.testing.assert_allclose(there.mean, direct.mean, rtol=1e-14)
        np.testing.assert_allclose(there.std, direct.std, rtol=1e-13)
        assert there.data_range == 1.0
        measured = rc.measure(image)
        assert measured.rescaled(255) is measured

    @pytest.mark.parametrize("value", [math.inf, -1.0, 0.0, math.nan])
    def test_rescaled_refuses(self, value: float) -> None:
        with pytest.raises(StatisticsError):
            rc.measure(integers("uint8")).rescaled(value)

    @pytest.mark.parametrize("kind", ["uint8", "uint16", "float64"])
    def test_dictionary_and_json(self, kind: str) -> None:
        image = floats() if kind == "float64" else integers(kind)
        measured = rc.measure(image)
        assert rc.Moments.from_dict(json.loads(json.dumps(measured.to_dict()))) == measured

    @pytest.mark.parametrize("kind", ["uint8", "uint16"])
    def test_pickle_and_copy_keep_exact_merging(self, kind: str) -> None:
        image = integers(kind, (37, 29, 3))
        first, second = rc.measure(image[:5]), rc.measure(image[5:])
        assert pickle.loads(pickle.dumps(first)) + pickle.loads(pickle.dumps(second)) == rc.measure(image)  # noqa: S301
        assert copy.deepcopy(first) + copy.copy(second) == rc.measure(image)

    def test_equality(self) -> None:
        image = integers("uint8")
        assert rc.measure(image) == rc.measure(image.copy())
        assert rc.measure(image) != rc.measure(image[:-1])
        assert rc.measure(image) != "moments"
        with pytest.raises(TypeError):
            hash(rc.measure(image))


NONSENSE: list[dict[str, Any]] = [
    {"count": 0},
    {"count": -3},
    {"count": 2.5},
    {"count": True},
    {"count": "5"},
    {"mean": [math.nan]},
    {"mean": [math.inf]},
    {"mean": []},
    {"mean": [[1.0]]},
    {"mean": 1.0},
    {"mean": [1.0, 2.0]},
    {"mean": ["a"]},
    {"mean": [10**400]},
    {"cov": [[-1.0]]},
    {"cov": [[math.nan]]},
    {"cov": [1.0]},
    {"cov": [[1.0, 2.0]]},
    {"cov": None},
    {"cov": [[10**400]]},
    {"data_range": 0},
    {"data_range": -1.0},
    {"data_range": math.nan},
    {"data_range": "255"},
    {"data_range": None},
    {"data_range": 10**400},
    {"space": "cmyk"},
    {"space": None},
    {"space": ["rgb"]},
    {"extra": 1},
    {"mean": [1.0, 2.0], "cov": [[1.0, 0.5], [0.4, 1.0]]},
]


@pytest.mark.parametrize("change", NONSENSE, ids=repr)
def test_nonsense_is_refused(change: dict[str, Any]) -> None:
    good = {"count": 4, "mean": [1.0], "cov": [[2.0]], "data_range": 255.0, "space": "rgb"}
    assert rc.Moments.from_dict(good).count == 4
    with pytest.raises(rc.RecoloristError, match="not moments") as caught:
        rc.Moments.from_dict(good | change)
    assert len(str(caught.value)) > 30


@pytest.mark.parametrize("thing", [None, 5, "moments", [1, 2], {}, {"count": 1}])
def test_what_is_no_dictionary_of_moments(thing: Any) -> None:
    with pytest.raises(StatisticsError, match="these are not moments"):
        rc.Moments.from_dict(thing)


class TestPairs:
    """Mean and variance of each channel alone."""

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("shape", [(5, 7, 3), (80, 97, 3), (64, 130, 4)])
    def test_planes_give_the_bits_of_pixels(self, dtype: str, shape: tuple[int, ...]) -> None:
        pixels = np.random.default_rng(1).random(shape).astype(dtype)
        planar = np.moveaxis(np.ascontiguousarray(np.moveaxis(pixels, -1, 0)), 0, -1)
        assert float_pairs(planar, 1.0, "image") == float_pairs(pixels, 1.0, "image")

    def test_planes_that_are_not_finite_are_refused(self) -> None:
        planar = np.moveaxis(np.ones((3, 4, 5), np.float32), 0, -1)
        planar[1, 2, 2] = np.nan
        with pytest.raises(ImageError, match="NaN"):
            float_pairs(planar, 1.0, "image")

    def test_the_range_of_all_planes_is_named(self) -> None:
        planar = np.moveaxis(np.ones((3, 4, 5), np.float32), 0, -1)
        planar[0, 0], planar[1, 1] = (-1.0, 0.5, 0.5), (0.5, 0.5, 3.0)
        with pytest.raises(ImageError, match="from -1 to 3"):
            float_pairs(planar, 1.0, "image")

    @pytest.mark.parametrize("shape", [(11, 13, 3), (11, 13, 4), (300, 301, 3)])
    @pytest.mark.parametrize("space", ["rgb", "ycbcr", "lab"])
    def test_in_one_call_or_in_strips_the_numbers_are_equal(self, shape: tuple[int, ...], space: str) -> None:
        """A small image comes with its means and covariances, a strided one with sums alone; both can be added to."""
        image = integers("uint8", shape)
        measured, wanted = (measure_opened(open_image(pixels), None, space) for pixels in (image, np.asfortranarray(image)))
        assert measured == wanted
        assert measured._sums == wanted._sums
        assert measured + measured == wanted + wanted
        assert (measured.mean.tolist(), measured.channels) == (wanted.mean.tolist(), 3)
        assert not measured.mean.flags.writeable
        assert not measured.cov.flags.writeable
