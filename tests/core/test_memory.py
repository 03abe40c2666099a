"""Peak extra memory: the output and at most one mebibyte. NumPy reports its allocations to tracemalloc, and so do our loops."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core import kernels
from tests.core.contracts import KERNELS

SIDE = 1280  # a byte for each pixel would already be more than a mebibyte
MEBIBYTE = 2**20
IMAGE_BYTES = SIDE * SIDE * 3


@pytest.fixture(params=KERNELS, autouse=True)
def _each_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    with kernels.using(request.param):
        yield


@pytest.fixture(scope="module")
def pair() -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    small = rng.integers(20, 200, (2, 256, 256, 3), dtype=np.uint8)
    content, style = np.tile(small, (1, SIDE // 256, SIDE // 256, 1))
    return content, style // np.uint8(2)


@pytest.fixture(scope="module")
def mask() -> NDArray[np.bool_]:
    return np.tile(np.random.default_rng(1).random((256, 256)) < 0.5, (SIDE // 256, SIDE // 256))


def extra(call: Callable[[], Any]) -> int:
    """Bytes that were allocated at once, beyond what was there before."""
    call()  # what is loaded or cached once is not a cost of the call
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = call()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert kept is not None
    return peak


def test_the_meter_works() -> None:
    assert IMAGE_BYTES <= extra(lambda: np.zeros((SIDE, SIDE, 3), np.uint8)) < IMAGE_BYTES + MEBIBYTE


def test_measure(pair: Any) -> None:
    assert extra(lambda: rc.measure(pair[0])) <= MEBIBYTE


def test_measure_strided_and_masked(pair: Any, mask: Any) -> None:
    assert extra(lambda: rc.measure(pair[0][::-1, ::2])) <= MEBIBYTE
    assert extra(lambda: rc.measure(pair[0], mask)) <= MEBIBYTE


def test_match(pair: Any) -> None:
    peak = extra(lambda: rc.match(*pair))
    assert IMAGE_BYTES <= peak <= IMAGE_BYTES + MEBIBYTE


def test_match_into(pair: Any) -> None:
    out = np.empty_like(pair[0])
    assert extra(lambda: rc.match(*pair, out=out)) <= MEBIBYTE


def test_match_from_moments(pair: Any) -> None:
    measured = rc.measure(pair[1])
    assert extra(lambda: rc.match(pair[0], measured)) <= IMAGE_BYTES + MEBIBYTE


@pytest.mark.parametrize("space", ["rgb", "ycbcr"])
def test_apply(pair: Any, space: str) -> None:
    plan = rc.plan(rc.measure(pair[0]), rc.measure(pair[1]), space)
    assert extra(lambda: rc.apply(pair[0], plan)) <= IMAGE_BYTES + MEBIBYTE


def test_linear_space(pair: Any) -> None:
    assert extra(lambda: rc.match(pair[0], pair[1], space="yiq")) <= IMAGE_BYTES + MEBIBYTE


@pytest.mark.parametrize("space", rc.SPACES)
def test_every_space(pair: Any, space: str) -> None:
    """The output and at most four mebibytes; one plane of float32 would already be more."""
    if kernels.active() == "numpy" and space not in ("lab", "yuv"):
        pytest.skip("the fallback has one route for linear spaces and one for the others")
    content, style = pair[0][:1152], pair[1][:256, :256]
    assert extra(lambda: rc.match(content, style, space=space)) <= content.nbytes + 4 * MEBIBYTE


def test_match_strided(pair: Any) -> None:
    content, style = pair[0][:, ::2], pair[1][::-1]
    assert extra(lambda: rc.match(content, style)) <= content.nbytes + MEBIBYTE


def test_channel_first(pair: Any) -> None:
    content = np.moveaxis(np.ascontiguousarray(np.moveaxis(pair[0], -1, 0)), 0, -1)
    assert extra(lambda: rc.match(content, pair[1])) <= content.nbytes + MEBIBYTE


def test_big_endian_sixteen_bits() -> None:
    content = np.tile(np.arange(SIDE, dtype=">u2") * 20, (512, 1))
    assert extra(lambda: rc.match(content, content[:, ::-1] // 2)) <= 2 * content.nbytes + MEBIBYTE


@pytest.mark.parametrize("apply_to", ["all", "mask"])
def test_match_masked(pair: Any, mask: Any, apply_to: str) -> None:
    assert extra(lambda: rc.match(pair[0], pair[1], mask=mask, apply_to=apply_to)) <= IMAGE_BYTES + MEBIBYTE


def test_rgba() -> None:
    content = np.random.default_rng(2).integers(0, 256, (1024, 1024, 4), dtype=np.uint8)
    assert extra(lambda: rc.match(content, content[::-1] // 2)) <= 2 * content.nbytes + MEBIBYTE


def test_a_batch_needs_no_more(pair: Any) -> None:
    batch = np.stack(pair)
    assert extra(lambda: rc.match(batch, pair[1])) <= batch.nbytes + MEBIBYTE
