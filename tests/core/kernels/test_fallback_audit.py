"""What an audit counts: compiled and NumPy loops give the same numbers, and these are the definition's."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from recolorist.core import kernels
from recolorist.core.detail import lay_patches
from recolorist.core.kernels import fallback, fallback_audit

LIMITS = (16.0, 16.0)


@pytest.fixture(name="compiled")
def compiled_loops() -> ModuleType:
    return kernels._compiled or pytest.skip("the compiled loops were not built here")


def levels(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(140, rng.uniform(2, 60, shape[-1]), shape), 0, 255).round().astype(np.uint8)


def definition(pixels: np.ndarray, gain: list[float], offset: list[float], high: int) -> list[tuple[int, ...]]:
    """Sums over all values, one at a time, in whole numbers."""
    found = []
    for c, (factor, shift) in enumerate(zip(gain, offset, strict=True)):
        x = [int(value) for value in pixels[..., c].ravel()]
        free = [float(np.rint(factor * value + shift)) for value in x]
        y = [int(min(max(value, 0), high)) for value in free]
        mapped = dict(sorted(zip(x, y, strict=True)))
        order = list(mapped.values())
        inversions = sum(second < first for first, second in pairwise(order))
        products = (sum(a * b for a, b in zip(p, q, strict=True)) for p, q in ((x, x), (y, y), (x, y)))
        found.append((len(x), sum(v < 0 or v > high for v in free), inversions, sum(x), sum(y), *products))
    return found


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 16])
@pytest.mark.parametrize("size", [(1, 1), (7, 9), (64, 65), (130, 97)])
def test_map_moments(compiled: ModuleType, channels: int, size: tuple[int, int]) -> None:
    image = levels((*size, channels), channels)
    gain, offset = np.linspace(0.0, 2.5, channels).tolist(), np.linspace(90, -120, channels).tolist()
    expected = definition(image, gain, offset, 255)
    assert list(compiled.map_moments(image, channels, gain, offset)) == expected
    assert list(fallback_audit.map_moments(image, channels, gain, offset)) == expected


@pytest.mark.parametrize("pixels", [1, 64, 1000])
@pytest.mark.parametrize("offset", [-255.5, -0.5, 0.5, 256.0, -300.0, 1e300])
def test_levels_at_the_ends_of_the_range(compiled: ModuleType, pixels: int, offset: float) -> None:
    image = (np.arange(3 * pixels).reshape(-1, 3) * 85 % 256).astype(np.uint8)  # 0 and 255 are among them
    image[0] = 255
    for gain in ([1.0, 0.0, 2.0], [0.5, 1.0, 1.0]):
        expected = definition(image, gain, [offset] * 3, 255)
        assert list(compiled.map_moments(image, 3, gain, [offset] * 3)) == expected
        assert list(fallback_audit.map_moments(image, 3, gain, [offset] * 3)) == expected


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("gain", [-1.5, 0.0, 0.7, 3.0])
def test_map_counts(compiled: ModuleType, dtype: str, gain: float) -> None:
    image = levels((40, 30, 3)).astype(dtype) * (1 if dtype == "uint8" else 257)
    high = 255 if dtype == "uint8" else 65535
    counts = np.array([np.bincount(image[..., c].ravel(), minlength=high + 1) for c in range(3)], np.uint64)
    offset = [high * share for share in (0.9, 0.1, -0.4)]
    expected = definition(image, [gain] * 3, offset, high)
    assert list(compiled.map_counts(counts, 3, [gain] * 3, offset)) == expected
    assert list(fallback_audit.map_counts(counts, 3, [gain] * 3, offset)) == expected


def test_sums_of_very_many_pixels_are_exact(compiled: ModuleType) -> None:
    counts = np.zeros((1, 65536), np.uint64)
    counts[0, [3, 65535]] = 2**40 + 7, 2**41 + 1
    found = compiled.map_counts(counts, 1, [1.0], [0.0])
    assert found == fallback_audit.map_counts(counts, 1, [1.0], [0.0])
    assert found[0][5] == 9 * (2**40 + 7) + 65535**2 * (2**41 + 1)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_gather(compiled: ModuleType, dtype: str, channels: int) -> None:
    image = levels((11, 13, channels)).astype(dtype)
    places = np.array([[0, 142, 7], [142, 1, 142]])
    results = [np.empty((2, 3, channels), dtype) for _ in range(2)]
    for loops, target in zip((compiled, fallback_audit), results, strict=True):
        loops.gather(image, image[0, 0].nbytes, places, target)
        assert np.array_equal(target, image.reshape(-1, channels)[places])


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 64])
@pytest.mark.parametrize("patches", [1, 20, 21, 22, 64, 259])
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("is_known", [False, True])
def test_patch_losses(compiled: ModuleType, channels: int, patches: int, *, is_masked: bool, is_known: bool) -> None:
    rng = np.random.default_rng(patches)
    before = levels((64, patches, channels), channels)
    before[:, 0] = 90  # without detail
    gain = rng.uniform(0.0, 4.0, channels).tolist()
    after = np.clip(np.rint(before * np.array(gain) - 120), 0, 255).astype(np.uint8)
    counts = None
    if is_masked:
        inside = rng.random((64, patches, 1)) < np.linspace(0, 1, patches)[:, None]
        before, after = before * inside, after * inside
        counts = np.maximum(inside[..., 0].sum(axis=0), 1)
    results = [np.empty(patches) for _ in range(2)]
    found = [
        loops.patch_losses(before, after, channels, counts, gain if is_known else None, LIMITS, losses)
        for loops, losses in zip((compiled, fallback_audit), results, strict=True)
    ]
    assert found[0] == found[1]
    assert np.array_equal(results[0], results[1], equal_nan=True)
    assert found[0][0] == np.count_nonzero(~np.isnan(results[0]))


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 16])
@pytest.mark.parametrize("size", [(1, 1), (8, 8), (9, 70), (64, 64), (130, 97), (40, 900)])
def test_level_losses(compiled: ModuleType, channels: int, size: tuple[int, int]) -> None:
    """What the three loops give that copy the pixels, map them and compare them."""
    image, patches = levels((*size, channels), channels), lay_patches(*size)
    gain, offset = np.linspace(0.4, 3.5, channels).tolist(), np.linspace(40, -200, channels).tolist()
    before, after = (np.empty((*patches.pixels.shape, channels), np.uint8) for _ in range(2))
    fallback_audit.gather(image, channels, patches.pixels, before)
    fallback.affine(before, after, "B", channels, gain, offset, 0.0, 255.0)
    wanted, *results = (np.empty((patches.rows, patches.columns)) for _ in range(3))
    expected = fallback_audit.patch_losses(before, after, channels, None, gain, (16.0, 0), wanted)
    for loops, losses in zip((compiled, fallback_audit), results, strict=True):
        assert loops.level_losses(image, channels, size[1], *patches.grid, (gain, offset), 16.0, losses) == expected
        assert np.array_equal(losses, wanted, equal_nan=True)


def test_wrong_grids_are_refused(compiled: ModuleType) -> None:
    image, eight = levels((8, 9, 3)), np.arange(8)
    numbers = ([1.0] * 3, [0.0] * 3)
    with pytest.raises(ValueError, match="channels or width"):
        compiled.level_losses(image, 17, 9, eight, eight, ([1.0] * 17, [0.0] * 17), 16.0, np.empty(1))
    with pytest.raises(ValueError, match="channels or width"):
        compiled.level_losses(image, 3, 0, eight, eight, numbers, 16.0, np.empty(1))
    for lines, places, patches in ((eight + 1, eight, 1), (eight - 1, eight, 1), (eight, eight + 2, 1), (eight, eight, 2)):
        with pytest.raises(ValueError, match="do not fit together"):
            compiled.level_losses(image, 3, 9, lines, places, numbers, 16.0, np.empty(patches))
    for grid in ((eight[:7], eight), (eight, eight.astype(np.int32)), (eight.astype(np.float32), eight)):
        with pytest.raises(ValueError, match="do not fit together"):
            compiled.level_losses(image, 3, 9, *grid, numbers, 16.0, np.empty(1))


def test_wrong_sizes_are_refused(compiled: ModuleType) -> None:
    image, places = levels((8, 8, 3)), np.zeros((2, 2), np.int64)
    with pytest.raises(ValueError, match="do not fit"):
        compiled.gather(image, 3, places + 64, np.empty((2, 2, 3), np.uint8))
    with pytest.raises(ValueError, match="do not fit"):
        compiled.gather(image, 3, places - 1, np.empty((2, 2, 3), np.uint8))
    with pytest.raises(ValueError, match="do not fit together"):  # the only place that is wrong, and not the last one
        compiled.gather(image, 3, np.array([[-1, 0]]), np.empty((1, 2, 3), np.uint8))
    with pytest.raises(ValueError, match="do not fit"):
        compiled.gather(image, 3, places, np.empty((2, 3, 3), np.uint8))
    with pytest.raises(ValueError, match="do not fit"):
        compiled.patch_losses(image, image[:4], 3, None, None, LIMITS, np.empty(8))
    with pytest.raises(ValueError, match="channels"):
        compiled.patch_losses(image, image, 65, None, None, LIMITS, np.empty(8))
    with pytest.raises(ValueError, match="wrong size"):
        compiled.map_counts(np.zeros(7, np.uint64), 3, [1.0] * 3, [0.0] * 3)
    with pytest.raises(ValueError, match="channels"):
        compiled.map_moments(image, 17, [1.0] * 17, [0.0] * 17)
