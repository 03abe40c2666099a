"""Ranking: the compiled loops find the order that NumPy finds, and the matched values are the same bits."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.kernels import fallback
from recolorist.core.kernels.fallback_ranks import interpolate, ring_sums
from recolorist.core.spaces import SPACES

SHAPES = ((1, 1), (1, 9), (2, 3), (5, 4), (4, 5), (5, 5), (7, 30), (41, 37))
SPREADS = ("levels", "mixed", "wide", "floats", "tiny", "zeros")


@pytest.fixture(name="compiled")
def compiled_loops() -> ModuleType:
    return kernels._compiled or pytest.skip("the compiled loops were not built here")


def channel(spread: str, shape: tuple[int, int], seed: int) -> NDArray[Any]:
    """Channels with ties on every level: few levels, whole numbers of several words, floats of all magnitudes."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 4, shape)
    made: dict[str, NDArray[Any]] = {
        "levels": levels,
        "mixed": levels * 10**9 - 1_500_000_000 + rng.integers(0, 2, shape),
        "wide": levels * 10**12 + rng.integers(0, 2, shape),
        "floats": levels / 3.0 - 0.4,
        "tiny": np.float64(2.0) ** (levels * 300 - 500) * (1 + rng.integers(0, 2, shape) * 2.0**-52),
        "zeros": np.where(levels > 1, 0.0, -0.0) + (levels == 3),
    }
    return made[spread]


def kind_of(values: NDArray[Any]) -> str:
    return {"float64": "d", "int64": "q"}[values.dtype.name]


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("by_position", [False, True])
def test_strict_order(compiled: ModuleType, spread: str, shape: tuple[int, int], *, by_position: bool) -> None:
    values = channel(spread, shape, 1)
    everywhere = np.arange(values.size) >= 0
    for mask in (None, np.ascontiguousarray((values.ravel() != values.min()) | everywhere[::-1]).reshape(shape)):
        orders = [np.empty(values.size, np.uint64) for _ in range(2)]
        for loops, order in zip((compiled, fallback), orders, strict=True):
            loops.strict_order(values, kind_of(values), *shape, mask, by_position, order)
        keys = [ring.ravel().tolist() for ring in ([values] if by_position else ring_sums(values))]
        wanted = sorted(range(values.size), key=lambda k: [key[k] for key in keys])
        assert orders[0].tolist() == orders[1].tolist() == wanted


@pytest.mark.parametrize("spread", SPREADS)
def test_strict_order_of_a_mask(compiled: ModuleType, spread: str) -> None:
    values = channel(spread, (20, 30), 2)
    mask = np.random.default_rng(3).random(values.shape) < 0.4
    orders = [np.empty(int(mask.sum()), np.uint64) for _ in range(2)]
    for loops, order in zip((compiled, fallback), orders, strict=True):
        loops.strict_order(values, kind_of(values), 20, 30, mask, False, order)
    assert orders[0].tolist() == orders[1].tolist()
    assert sorted(orders[0].tolist()) == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("other", SPREADS)
def test_match_shares(compiled: ModuleType, spread: str, other: str) -> None:
    for shape in SHAPES:
        values, style = channel(spread, shape, 3), np.sort(channel(other, (11, 13), 4), axis=None)
        results = [np.empty(shape) for _ in range(2)]
        for loops, result in zip((compiled, fallback), results, strict=True):
            loops.match_shares(values, kind_of(values), style, kind_of(style), result)
        assert results[0].tobytes() == results[1].tobytes()
        assert results[0].min() >= style.min()
        assert results[0].max() == style.max()


@pytest.mark.parametrize("keys", [2, 5, 9, 40])  # up to six are taken out one by one, more are sorted
@pytest.mark.parametrize("count", [700, 1300])
def test_match_shares_where_values_differ_in_their_last_bits(compiled: ModuleType, keys: int, count: int) -> None:
    """Places leave room for the upper bits of a value only: values that agree in these are put in order by the rest."""
    rng = np.random.default_rng(keys)
    values = rng.choice([0.0, 0.25, 0.6, 0.9], 1300)
    values *= 1 + rng.integers(0, keys, 1300) * 2.0**-52
    style = np.round(rng.normal(size=count), 2)
    results = [np.empty(1300) for _ in range(2)]
    for loops, result in zip((compiled, fallback), results, strict=True):
        loops.match_shares(values, "d", style, "d", result)
    assert results[0].tobytes() == results[1].tobytes()
    assert (np.diff(results[0][np.argsort(values)]) >= 0).all()


def many(spread: str, shape: tuple[int, int], seed: int) -> NDArray[Any]:
    """Channels of more than a thousand values, which are sorted by digits: evenly spread ones, and such as digits part badly."""
    rng = np.random.default_rng(seed)
    even = rng.random(shape)
    made: dict[str, NDArray[Any]] = {
        "even": even,
        "levels": np.rint(even * 255).astype(np.int64),
        "narrow, and one far away": np.where(np.arange(even.size).reshape(shape) == 77, 1e9, even),
        "wide whole numbers": rng.integers(-(2**59), 2**59, shape),
        "whole numbers that differ at both ends": rng.integers(0, 3, shape) * 2**50 + rng.integers(0, 40, shape),
        "many beside zero": np.where(even < 0.7, np.ldexp(1.0, rng.integers(-900, -60, shape)), even - 0.5),
        "few in their last bits": np.rint(even * 9) / 9 * (1 + rng.integers(0, 12, shape) * 2.0**-52),
        "far apart": np.where(even < 0.5, -2e300, 2e300) * even,
        "below all normal numbers": np.rint(even * 900) * 5e-324,
        "one": np.where(np.arange(even.size).reshape(shape) == 77, 2.0, 1.0),
        "in order": np.sort(even, axis=None).reshape(shape),
        "backwards": -np.sort(even, axis=None).reshape(shape),
    }
    return made[spread]


MANY = (
    *("even", "levels", "narrow, and one far away", "wide whole numbers", "whole numbers that differ at both ends"),
    *("many beside zero", "few in their last bits", "far apart", "below all normal numbers"),
    *("one", "in order", "backwards"),
)


@pytest.mark.parametrize("spread", MANY)
@pytest.mark.parametrize("shape", [(1, 1024), (67, 83)])
def test_many_values(compiled: ModuleType, spread: str, shape: tuple[int, int]) -> None:
    values, style = many(spread, shape, 1), many(spread, (53, 47), 2)
    orders, results = [np.empty(values.size, np.uint64) for _ in range(2)], [np.empty(shape) for _ in range(2)]
    for by_position in (True, False):
        for loops, order in zip((compiled, fallback), orders, strict=True):
            loops.strict_order(values, kind_of(values), *shape, None, by_position, order)
        assert orders[0].tobytes() == orders[1].tobytes()
    for loops, result in zip((compiled, fallback), results, strict=True):
        loops.match_shares(values, kind_of(values), style, kind_of(style), result)
    assert results[0].tobytes() == results[1].tobytes()


def test_order_of_values_whose_span_is_no_number(compiled: ModuleType) -> None:
    values = (many("even", (40, 40), 1) * 2 - 1) * 1.7e308
    values[0, :2] = -1.7e308, 1.7e308
    order = np.empty(values.size, np.uint64)
    compiled.strict_order(values, "d", *values.shape, None, True, order)
    assert order.tolist() == np.argsort(values, axis=None, kind="stable").tolist()


@pytest.mark.parametrize(("span", "style_span"), [(1, 1), (1, 90), (256, 700), (1499, 799), (1500, 800)])
def test_match_counts(compiled: ModuleType, span: int, style_span: int) -> None:
    """Counting gives what sorting gives, and is done only where there are fewer levels than values."""
    rng = np.random.default_rng(span)
    values, style = rng.integers(0, span, 1499) - 2**40, rng.integers(0, style_span, 799) + 7
    values[:2], style[:2] = (-(2**40), span - 1 - 2**40), (7, style_span + 6)
    counted, untouched, by_sorting = span <= 1499 and style_span <= 799, np.zeros(1499), np.empty(1499)
    compiled.match_shares(values, "q", style, "q", by_sorting)
    for loops in (compiled, fallback):
        result = np.zeros(1499)
        assert loops.match_counts(values, style, result) == counted
        assert result.tobytes() == (by_sorting if counted else untouched).tobytes()


def test_match_counts_of_the_widest_span(compiled: ModuleType) -> None:
    limits = np.iinfo(np.int64)
    widest, narrow = np.array([limits.min, limits.max, 0]), np.array([1, 2, 2])
    for loops in (compiled, fallback):
        assert not loops.match_counts(widest, narrow, np.empty(3))
        assert not loops.match_counts(narrow, widest, np.empty(3))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("depth", [3, 5])
def test_hsi_levels(compiled: ModuleType, dtype: str, depth: int) -> None:
    pixels = np.random.default_rng(6).integers(0, np.iinfo(dtype).max, (77, depth), dtype=dtype, endpoint=True)
    pixels[:3, :3] = [[0, 0, 0], [0, 9, 0], [np.iinfo(dtype).max] * 3]
    results = [(np.empty(77), np.empty(77, np.int64)) for _ in range(2)]
    for loops, (saturation, total) in zip((compiled, fallback), results, strict=True):
        loops.hsi_levels(pixels, pixels.itemsize, depth, saturation, total)
    assert results[0][0].tobytes() == results[1][0].tobytes()
    assert results[0][1].tolist() == results[1][1].tolist() == [sum(map(int, pixel[:3])) for pixel in pixels]
    assert results[0][0][:3].tolist() == [0, 1, 0]
    converted = SPACES["hsi"].forward(pixels[:, :3] / np.iinfo(dtype).max)
    np.testing.assert_allclose(results[0][0], converted[:, 1], rtol=1e-12, atol=1e-12)


def test_interpolate_is_that_of_numpy() -> None:
    rng = np.random.default_rng(5)
    known, goals = np.unique(rng.integers(0, 40, 20)).astype(float), rng.normal(size=20)
    x = np.concatenate([rng.uniform(-5, 45, 200), known])
    np.testing.assert_allclose(interpolate(x, known, goals[: len(known)]), np.interp(x, known, goals[: len(known)]), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("depth", [3, 4])
def test_mix_whole(compiled: ModuleType, dtype: str, depth: int) -> None:
    pixels = np.random.default_rng(6).integers(0, np.iinfo(dtype).max, (77, depth), dtype=dtype, endpoint=True)
    row = (59_590_059, -27_455_667, -32_134_392)
    results = [np.empty(77, np.int64) for _ in range(2)]
    for loops, result in zip((compiled, fallback), results, strict=True):
        loops.mix_whole(pixels, pixels.itemsize, depth, row, result)
    assert results[0].tolist() == results[1].tolist() == [sum(k * int(v) for k, v in zip(row, p, strict=False)) for p in pixels]


@pytest.mark.parametrize("channels", [1, 3, 4, 5])
@pytest.mark.parametrize("pixels", [7, 1500])
def test_look_up(compiled: ModuleType, channels: int, pixels: int) -> None:
    rng = np.random.default_rng(7)
    image, tables = rng.integers(0, 256, (pixels, channels), np.uint8), rng.integers(0, 256, (channels, 256), np.uint8)
    results = [np.empty_like(image) for _ in range(2)]
    for loops, result in zip((compiled, fallback), results, strict=True):
        loops.look_up(image, result, channels, tables)
    wanted = np.stack([tables[c][image[:, c]] for c in range(channels)], axis=-1)
    assert np.array_equal(results[0], wanted)
    assert np.array_equal(results[1], wanted)


NOT_LINEAR = [name for name, space in SPACES.items() if not space.is_linear]


@pytest.mark.parametrize("space", NOT_LINEAR)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_split_and_join(compiled: ModuleType, space: str, dtype: str) -> None:
    rng = np.random.default_rng(8)
    kind, unit = {"uint8": ("B", 255.0), "uint16": ("H", 65535.0), "float32": ("f", 1.0), "float64": ("d", 1.0)}[dtype]
    image = (rng.random((1100, 4)) * unit).astype(dtype)
    planes, joined = [np.empty((3, 1100)) for _ in range(2)], [image.copy() for _ in range(2)]
    for loops, plane, result in zip((compiled, fallback), planes, joined, strict=True):
        loops.split(image, kind, 4, space, unit, plane)
        loops.join(plane, result, kind, 4, space, unit, (0.0, unit), ([], []))
    assert planes[0].tobytes() == planes[1].tobytes()
    assert joined[0].tobytes() == joined[1].tobytes()
    np.testing.assert_allclose(planes[0].T, SPACES[space].forward(image[:, :3] / np.float64(unit)), rtol=1e-12, atol=1e-12)
    if space != "hed":  # its gamut is smaller than that of RGB
        np.testing.assert_allclose(joined[0], image, atol=0 if kind in "BH" else 1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_join_by_a_matrix(compiled: ModuleType, dtype: str) -> None:
    basis = SPACES["ydbdr"].basis
    assert basis is not None
    planes, units = np.random.default_rng(9).normal(100.0, 60.0, (3, 700)), [255.0, 250.0, 245.0]
    kind, unit = {"uint8": ("B", 255.0), "float32": ("f", 1.0)}[dtype]
    results = [np.empty((700, 3), dtype) for _ in range(2)]
    for loops, result in zip((compiled, fallback), results, strict=True):
        loops.join(planes, result, kind, 3, "", unit, (0.0, unit), (units, basis.inverse.ravel().tolist()))
    assert results[0].tobytes() == results[1].tobytes()
    wanted = np.clip((planes / np.array(units)[:, None]).T @ basis.inverse.T * unit, 0, unit)
    np.testing.assert_allclose(results[0], wanted, atol=0.5001 if kind == "B" else 1e-6)


def test_wrong_sizes_are_refused(compiled: ModuleType) -> None:
    values = np.zeros((4, 4), np.int64)
    with pytest.raises(ValueError, match="numbers has the wrong size"):
        compiled.strict_order(values, "q", 4, 4, None, False, np.empty(15, np.uint64))
    with pytest.raises(ValueError, match="mask has the wrong size"):
        compiled.strict_order(values, "q", 4, 4, np.ones(15, np.bool_), False, np.empty(15, np.uint64))
    with pytest.raises(ValueError, match="out of range"):
        compiled.strict_order(values, "q", 4, 5, None, False, np.empty(20, np.uint64))
    with pytest.raises(ValueError, match="wrong size"):
        compiled.match_shares(values, "q", values, "q", np.empty(3))
    with pytest.raises(ValueError, match="out of range"):
        compiled.strict_order(values.astype(np.int32), "i", 4, 4, None, False, np.empty(16, np.uint64))
    with pytest.raises(ValueError, match="out of range"):
        compiled.match_shares(values.astype(np.int32), "i", values, "q", np.empty(16))
    with pytest.raises(ValueError, match="wrong size"):
        compiled.match_counts(values, values, np.empty(3))
    with pytest.raises(ValueError, match="out of range"):
        compiled.match_counts(values[:0], values, np.empty(0))
    pixels = np.zeros((4, 3), np.uint8)
    with pytest.raises(ValueError, match="wrong size"):
        compiled.hsi_levels(pixels, 1, 3, np.empty(4), np.empty(3, np.int64))
    with pytest.raises(ValueError, match="out of range"):
        compiled.hsi_levels(pixels, 1, 2, np.empty(4), np.empty(4, np.int64))
