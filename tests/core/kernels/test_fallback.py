"""The compiled loops and their NumPy fallback: the same bits for every loop, type, channel count and awkward size."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.kernels import fallback as kernels_numpy
from recolorist.errors import RecoloristError
from tests.strategies import DTYPES, FLOATS, HIGHEST, INTEGERS, Image, build

KINDS = {"uint8": "B", "uint16": "H", "float32": "f", "float64": "d"}
CHANNELS = range(1, 10)
# around the lanes (16 and 32), the vector steps (8, 24 and 96 values), the blocks (256 and 4096) and the tables (3072 values)
PIXELS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 95, 96, 97, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097)


@pytest.fixture(name="compiled")
def compiled_loops() -> ModuleType:
    return kernels._compiled or pytest.skip("the compiled loops were not built here")


def pixels_of(pixels: int, channels: int, dtype: str, seed: int = 0) -> Image:
    return build(("uniform", "extremes", "bright")[seed % 3], (pixels, channels), dtype, seed)


def mapped(loops: ModuleType, source: Image, gain: list[float], offset: list[float], limits: tuple[float, float]) -> Image:
    target = np.empty_like(source)
    loops.affine(source, target, KINDS[source.dtype.name], source.shape[1], gain, offset, *limits)
    return target


def limits_of(dtype: str) -> tuple[float, float]:
    return 0.0, HIGHEST[dtype]


class TestMoments:
    @pytest.mark.parametrize("dtype", INTEGERS)
    @pytest.mark.parametrize("channels", CHANNELS)
    def test_integers(self, compiled: ModuleType, dtype: str, channels: int) -> None:
        for seed, pixels in enumerate(PIXELS):
            image = pixels_of(pixels, channels, dtype, seed)
            for reach in (1, channels):
                arguments = (image, image.itemsize, channels, reach)
                wanted = self.exact(image, reach)
                assert self.defined(compiled.moments_integer(*arguments), channels, reach) == wanted
                assert self.defined(kernels_numpy.moments_integer(*arguments), channels, reach) == wanted

    @staticmethod
    def exact(image: Image, reach: int) -> tuple[list[int], list[int]]:
        values, channels = image.astype(np.int64), image.shape[1]  # 4097 products of 16 bits each stay far below 2**63
        products = [(values[:, i] * values[:, i + d]).sum() for d in range(reach) for i in range(channels - d)]
        return values.sum(axis=0).tolist(), [int(product) for product in products]

    @staticmethod
    def defined(result: tuple[tuple[int, ...], tuple[int, ...]], channels: int, reach: int) -> tuple[list[int], list[int]]:
        """Sums, and the products that have a meaning: those of two channels of one pixel."""
        sums, products = result
        return list(sums), [products[d * channels + i] for d in range(reach) for i in range(channels - d)]

    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("channels", CHANNELS)
    def test_floats(self, compiled: ModuleType, dtype: str, channels: int) -> None:
        for seed, pixels in enumerate((*PIXELS, 8192, 12345)):
            image = pixels_of(pixels, channels, dtype, seed)
            arguments = (image, image.itemsize, channels)
            sums, lows, highs = kernels_numpy.sums_float(*arguments)
            assert compiled.sums_float(*arguments) == (sums, lows, highs)
            assert (list(lows), list(highs)) == (image.min(axis=0).tolist(), image.max(axis=0).tolist())
            means = [total / pixels for total in sums]
            for diagonal in (True, False):
                products = kernels_numpy.products_float(*arguments, means, diagonal)
                assert compiled.products_float(*arguments, means, diagonal) == products
            assert sums[0] == pytest.approx(math.fsum(image[:, 0].tolist()), rel=1e-13)  # 500 roundings at most

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_floats_not_finite(self, compiled: ModuleType, dtype: str) -> None:
        image = pixels_of(300, 3, dtype)
        image[17, 0], image[40, 1], image[299, 2] = math.nan, math.inf, -math.inf
        for loops in (compiled, kernels_numpy):
            sums, lows, highs = loops.sums_float(image, image.itemsize, 3)
            assert math.isnan(sums[0])
            assert sums[1:] == (math.inf, -math.inf)
            assert (lows[0], highs[0]) == (float(np.nanmin(image[:, 0])), float(np.nanmax(image[:, 0])))

    @pytest.mark.parametrize("dtype", INTEGERS)
    @pytest.mark.parametrize("channels", CHANNELS)
    def test_histograms(self, compiled: ModuleType, dtype: str, channels: int) -> None:
        levels = int(HIGHEST[dtype]) + 1
        for pixels in (1, 33, 4097):
            image = pixels_of(pixels, channels, dtype)
            ours, theirs = np.ones((2, channels, levels), np.uint64)  # ones, because counts are added
            compiled.histogram(image, image.itemsize, channels, ours)
            kernels_numpy.histogram(image, image.itemsize, channels, theirs)
            wanted = np.stack([np.bincount(image[:, c], minlength=levels) + 1 for c in range(channels)])
            assert np.array_equal(ours, wanted)
            assert np.array_equal(theirs, wanted)

    def test_colour_beside_a_fourth_channel(self, compiled: ModuleType) -> None:
        for seed, pixels in enumerate(PIXELS):
            image = pixels_of(pixels, 4, "uint8", seed)
            colour = np.ascontiguousarray(image[:, :3])
            wanted = self.exact(colour, 3)
            assert self.defined(compiled.moments_rgba(image), 3, 3) == wanted
            assert self.defined(kernels_numpy.moments_rgba(image), 3, 3) == wanted
            assert compiled.moments_rgba(image) == kernels_numpy.moments_rgba(image)

    def test_colour_beside_a_fourth_channel_does_not_overflow(self, kernel: str) -> None:
        pixels = 8 * 65536 + 9  # beyond what one run of 32-bit sums holds
        sums, products = kernels.loops.moments_rgba(np.full((pixels, 4), 255, np.uint8))
        assert sums == (255 * pixels,) * 3, kernel
        assert [products[i] for i in (0, 1, 2, 3, 4, 6)] == [255 * 255 * pixels] * 6, kernel

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_histograms_of_the_first_channels(self, compiled: ModuleType, dtype: str) -> None:
        levels = int(HIGHEST[dtype]) + 1
        for depth, channels in ((4, 3), (4, 1), (2, 1), (9, 3)):
            image = pixels_of(1025, depth, dtype)
            image[40:80] = image[40]  # equal neighbours take a way of their own
            for loops in (compiled, kernels_numpy):
                counts = np.zeros((channels, levels), np.uint64)
                loops.histogram(image, image.itemsize, depth, counts)
                assert np.array_equal(counts, [np.bincount(image[:, c], minlength=levels) for c in range(channels)])
        with pytest.raises(ValueError, match="wrong size"):
            compiled.histogram(pixels_of(9, 2, dtype), np.dtype(dtype).itemsize, 2, np.zeros((3, levels), np.uint64))

    @pytest.mark.parametrize("depth", [3, 4])
    def test_runs_of_equal_pixels(self, compiled: ModuleType, depth: int) -> None:
        rng = np.random.default_rng(depth)
        runs = np.repeat(rng.integers(0, 256, (300, depth), dtype=np.uint8), rng.integers(1, 12, 300), axis=0)
        runs[5::97, 2] ^= 1  # alike but for one channel of one of four
        counts = np.zeros((3, 256), np.uint64)
        compiled.histogram(runs, 1, depth, counts)
        assert np.array_equal(counts, [np.bincount(runs[:, c], minlength=256) for c in range(3)])


class TestClipped:
    ORDINARY = ((1.0, 0.0), (2.0, -50.0), (0.5, 0.5), (1.0, -0.5), (1.0, 0.5), (3.7, 20.1))
    MAPS = (*ORDINARY, (0.0, -3.0), (0.0, 300.0), (0.0, 7.0), (-1.5, 200.0), (1e300, -1e300))

    @pytest.mark.parametrize("channels", CHANNELS)
    def test_against_the_definition(self, kernel: str, channels: int) -> None:
        for pixels in (1, 31, 63, 64, 65, 1025, 49_000):  # the last: more steps than a byte counts
            image = pixels_of(pixels, channels, "uint8", pixels)
            for shift in range(len(self.MAPS)):
                gain, offset = zip(*(self.MAPS[(c + shift) % len(self.MAPS)] for c in range(channels)), strict=True)
                mapped = np.rint(image * np.array(gain) + offset)
                wanted = ((mapped < 0) | (mapped > 255)).sum(axis=0)
                assert kernels.loops.clipped(image, channels, gain, offset) == tuple(wanted.tolist()), (kernel, gain, offset)


class TestMap:
    @staticmethod
    def formula(source: Image, gain: list[float], offset: list[float]) -> Image:
        """The definition: multiply, add, clip, round half to even, in float64."""
        values = np.clip(source.astype(np.float64) * gain + offset, *limits_of(source.dtype.name))
        return (np.rint(values) if source.dtype.kind == "u" else values).astype(source.dtype)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("channels", CHANNELS)
    def test_diagonal(self, compiled: ModuleType, dtype: str, channels: int) -> None:
        rng = np.random.default_rng(channels)
        for seed, pixels in enumerate(PIXELS):
            source = pixels_of(pixels, channels, dtype, seed)
            gain = rng.uniform(0, 3, channels).tolist()
            offset = (rng.uniform(-1, 1, channels) * HIGHEST[dtype]).tolist()
            wanted = self.formula(source, gain, offset).tobytes()
            assert mapped(compiled, source, gain, offset, limits_of(dtype)).tobytes() == wanted
            assert mapped(kernels_numpy, source, gain, offset, limits_of(dtype)).tobytes() == wanted

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_matrix(self, compiled: ModuleType, dtype: str) -> None:
        rng = np.random.default_rng(3)
        for seed, pixels in enumerate(PIXELS * 3):
            source = pixels_of(pixels, 3, dtype, seed)
            gain = rng.normal(0, 1, 9).tolist()
            offset = (rng.uniform(-1, 1, 3) * HIGHEST[dtype]).tolist()
            for limits in (limits_of(dtype), (limits_of(dtype)[1] / 4, limits_of(dtype)[1] / 2)):
                ours = mapped(compiled, source, gain, offset, limits)
                assert ours.tobytes() == mapped(kernels_numpy, source, gain, offset, limits).tobytes()

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_matrix_is_the_formula(self, kernel: str, dtype: str) -> None:
        source = pixels_of(1000, 3, dtype)
        gain, offset = [0.5, 0.25, 0.25, -1.0, 2.0, 0.5, 0.0, 0.5, 0.5], [0.5, -0.5, 1.5]  # all sums exact, many halves
        wanted = np.rint(source.astype(np.float64) @ np.reshape(gain, (3, 3)).T + offset)
        out = mapped(kernels.loops, source, gain, offset, limits_of(dtype))
        assert np.array_equal(out, np.clip(wanted, *limits_of(dtype))), kernel

    @pytest.mark.parametrize("tilt", [0.0, 1e-9, -1e-7, 1e-5])
    def test_matrix_close_to_halves(self, compiled: ModuleType, tilt: float) -> None:
        # 8 bits go through float32 where that is safe; these maps put few, many or all values next to a half
        source = pixels_of(2000, 3, "uint8")
        for gain in ([0.5, 0.25, 0.25, -1.0, 2.0, 0.5, 0.0, 0.5, 0.5], [0.299, 0.587, 0.114, 1.0, -0.7, 0.4, 0.1, 0.1, 0.8]):
            for offset in ([0.5, -0.5, 1.5], [0.25, 3.0, -7.0], [1e5, -1e5, 0.5], [1e9, 0.0, 0.5]):
                factors = [value + tilt for value in gain]
                ours, theirs = (mapped(loops, source, factors, offset, (0.0, 255.0)) for loops in (compiled, kernels_numpy))
                assert ours.tobytes() == theirs.tobytes()

    @pytest.mark.parametrize("dtype", INTEGERS)
    @pytest.mark.parametrize("channels", CHANNELS)
    def test_exact_halves(self, compiled: ModuleType, dtype: str, channels: int) -> None:
        source = np.resize(np.arange(int(HIGHEST[dtype]) + 1), (4000, channels)).astype(dtype)
        for gain in (0.5, 1.5, 2.5, 0.25, 0.125, 1.0, 0.0):
            for offset in (0.0, 0.5, -0.5, 1.5, -100.5, 127.5, 254.5, 255.5, 0.25):
                gains, offsets = [gain] * channels, [offset] * channels
                wanted = self.formula(source, gains, offsets).tobytes()
                assert mapped(compiled, source, gains, offsets, limits_of(dtype)).tobytes() == wanted
                assert mapped(kernels_numpy, source, gains, offsets, limits_of(dtype)).tobytes() == wanted

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_without_limits(self, compiled: ModuleType, dtype: str) -> None:
        source = pixels_of(1000, 3, dtype)
        limits = (-math.inf, math.inf)
        gain, offset = [7.0, -3.0, 0.1], [5.0, 0.0, -9.0]
        ours, theirs = (mapped(loops, source, gain, offset, limits) for loops in (compiled, kernels_numpy))
        assert ours.tobytes() == theirs.tobytes()
        assert ours.max() > 1
        assert ours.min() < 0


class TestEightBits:
    """The 8-bit map has a fast road in float32, taken only where it reproduces the table; both roads must be walked."""

    @staticmethod
    def float32_suffices(gain: float, offset: float) -> bool:
        """Whether float32 gives the table of the float64 formula, the offset nudged or not."""
        levels = np.arange(256)
        table = np.clip(np.rint(levels * gain + offset), 0, 255)
        nudged = [np.float32(offset) + np.float32(nudge) for nudge in (0, 4e-5, -4e-5)]
        return any(
            np.array_equal(np.clip(np.rint(levels.astype(np.float32) * np.float32(gain) + beta), 0, 255), table)
            for beta in nudged
        )

    @staticmethod
    def assert_formula(compiled: ModuleType, gain: NDArray[Any], offset: NDArray[Any], source: Image) -> None:
        wanted = np.clip(np.rint(source * gain + offset), 0, 255).astype(np.uint8)
        for loops in (compiled, kernels_numpy):
            out = mapped(loops, source, gain.tolist(), offset.tolist(), (0.0, 255.0))
            assert np.array_equal(out, wanted), (gain, offset)

    @pytest.mark.parametrize("channels", [1, 2, 3, 4, 6, 8])
    def test_thousands_of_random_maps(self, compiled: ModuleType, channels: int) -> None:
        rng = np.random.default_rng(channels)
        source = rng.integers(0, 256, (3200 // channels + 37, channels), dtype=np.uint8)
        source[:256] = np.arange(256, dtype=np.uint8)[:, None]
        for _ in range(600):
            self.assert_formula(compiled, rng.gamma(2, 0.5, channels), rng.normal(0, 120, channels), source)

    def test_maps_close_to_halves(self, compiled: ModuleType) -> None:
        rng = np.random.default_rng(1)
        source = np.repeat(np.arange(256, dtype=np.uint8), 15)[:, None]
        for _ in range(400):
            gain, level = float(rng.uniform(0.2, 3)), int(rng.integers(256))
            nearly = float(rng.choice([1e-6, -1e-6, 1e-9, -1e-9, 1e-12]))
            offset = math.floor(gain * level) + 0.5 - gain * level + nearly
            self.assert_formula(compiled, np.array([gain]), np.array([offset]), source)

    @pytest.mark.parametrize("channels", [1, 3])
    def test_maps_where_float32_fails(self, compiled: ModuleType, channels: int) -> None:
        source = np.repeat(np.arange(256, dtype=np.uint8), 15)[:, None].repeat(channels, axis=1)
        gains, offsets = np.linspace(0.7123, 1.2345, channels), np.linspace(-9.1, 9.2, channels)
        assert self.float32_suffices(gains[0], offsets[0])
        for halves in (0.5, 1.5, 2.5):
            for tilt in (1e-9, -1e-9, 1e-11):
                for pivot in (20, 60):  # below this level all halves are missed to one side, above it to the other
                    gains[-1], offsets[-1] = halves + tilt, 0.5 - tilt * pivot
                    assert not self.float32_suffices(gains[-1], offsets[-1])
                    self.assert_formula(compiled, gains, offsets, source)

    def test_huge_numbers(self, compiled: ModuleType) -> None:
        source = np.resize(np.arange(256, dtype=np.uint8), (2000, 3))
        for size in (1e6, 1e10, 1e30, 1e300):
            self.assert_formula(compiled, np.array([size, -size, 1.0]), np.array([-size, size, size]), source)


class TestChoice:
    def test_using_changes_and_restores(self, compiled: ModuleType) -> None:
        before = kernels.active()
        with kernels.using("numpy"):
            assert (kernels.active(), kernels.loops) == ("numpy", kernels_numpy)
        with kernels.using("c"):
            assert (kernels.active(), kernels.loops) == ("c", compiled)
        assert kernels.active() == before

    def test_unknown_loops_are_refused(self) -> None:
        with pytest.raises(RecoloristError, match="not available"), kernels.using("fortran"):  # type: ignore[arg-type]
            pass
