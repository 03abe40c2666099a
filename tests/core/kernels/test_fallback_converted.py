"""Measuring and mapping converted pixels: compiled and in NumPy the same bits, for pixels of every kind."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from recolorist.core import kernels
from recolorist.core.kernels import fallback, fallback_spaces
from recolorist.core.spaces import SPACES

OTHERS = tuple(fallback_spaces.conversions)
KINDS = (("B", "u1", 255.0), ("B", "u1", 99.0), ("H", "u2", 65535.0), ("f", "f4", 1.0), ("d", "f8", 2.0))
SHIFT = [0.1, 0.2, -0.1]


class TestBits:
    @pytest.fixture(name="compiled")
    def compiled_loops(self) -> ModuleType:
        return kernels._compiled or pytest.skip("the compiled loops were not built here")

    @pytest.mark.parametrize("depth", [3, 4])
    @pytest.mark.parametrize("name", OTHERS)
    def test_moments_and_maps(self, compiled: ModuleType, name: str, depth: int) -> None:
        for kind, dtype, unit in (
            ("B", "u1", 255.0),
            ("B", "u1", 99.0),
            ("H", "u2", 65535.0),
            ("f", "f4", 1.0),
            ("d", "f8", 2.0),
        ):
            for pixels in (1, 7, 512, 1029):  # round the parts (8) and the chunks (512)
                image = (np.random.default_rng(pixels).random((pixels, depth)) * unit).astype(dtype)
                joined = np.zeros((2, 16))
                outputs = np.empty((2, *image.shape), dtype)
                for loops, sums, output in zip((compiled, fallback), joined, outputs, strict=True):
                    loops.moments_converted(image, kind, depth, name, unit, sums)
                    for gain in ([0.7, 1.4, 1.1], [0.9, 0.1, 0.0, 0.05, 1.1, 0.0, 0.0, 0.1, 0.8]):
                        assert loops.affine_converted(image, output, kind, depth, name, unit, (gain, SHIFT), (0.0, unit))
                assert joined[0].tobytes() == joined[1].tobytes()
                assert outputs[0].tobytes() == outputs[1].tobytes()
                assert np.array_equal(outputs[0][:, 3:], image[:, 3:])

    @pytest.mark.parametrize("name", OTHERS)
    def test_levels_are_the_rounded_formula_but_for_float32(self, name: str) -> None:
        image = np.random.default_rng(3).integers(0, 256, (60_000, 3), dtype=np.uint8)
        output = np.empty_like(image)
        gain, offset = [0.8, 1.2, 1.0], [0.05, 0.0, 0.0937]
        kernels.loops.affine_converted(image, output, "B", 3, name, 255.0, (gain, offset), (0.0, 255.0))
        mapped = SPACES[name].forward(image / 255.0) * gain + offset
        gaps = np.abs(output - np.rint(np.clip(SPACES[name].inverse(mapped), 0, 1) * 255))
        assert gaps.max() <= 1
        assert (gaps > 0).mean() <= 1e-4

    @pytest.mark.parametrize("name", OTHERS)
    def test_sums_of_levels(self, compiled: ModuleType, name: str) -> None:
        rng = np.random.default_rng(5)
        for pixels, depth in (
            (1, 3),
            (7, 4),
            (512, 3),
            (9000, 3),
        ):  # round the chunks (512) and the pieces of the fallback (8192)
            image = rng.integers(0, 256, (pixels, depth), dtype=np.uint8)
            for reach in (1, 3):
                sums, products = compiled.moments_levels(image, depth, name, reach)
                assert (sums, products) == fallback.moments_levels(image, depth, name, reach)
            values = SPACES[name].forward(image[:, :3] / 255.0)
            steps = np.array([2.0**bits for bits in SPACES[name].bits])
            mean = np.array(sums) / pixels
            assert (np.abs(mean - values.mean(axis=0) * steps) <= 1).all()
            squares = np.array(products[:3]) / pixels
            np.testing.assert_allclose(np.sqrt(squares - mean**2), values.std(axis=0) * steps, rtol=1e-5, atol=1)

    @pytest.mark.parametrize("name", OTHERS)
    def test_every_colour_of_a_grid_fits_its_steps(self, name: str) -> None:
        levels = np.array([0, 1, 2, 10, 11, 64, 127, 128, 200, 254, 255], np.uint8)
        grid = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, 3)
        values = SPACES[name].forward(grid / 255.0) * [2.0**bits for bits in SPACES[name].bits]
        assert np.abs(values).max() * 512 < 2**31

    @pytest.mark.parametrize("name", OTHERS)
    def test_pieces_of_whole_chunks_join_to_the_whole(self, kernel: str, name: str) -> None:
        image = np.random.default_rng(4).integers(0, 256, (1700, 3), dtype=np.uint8)
        whole, pieces = np.zeros((2, 16))
        kernels.loops.moments_converted(image, "B", 3, name, 255.0, whole)
        for piece in (image[:1024], image[1024:1536], image[1536:]):
            kernels.loops.moments_converted(piece, "B", 3, name, 255.0, pieces)
        assert whole.tobytes() == pieces.tobytes(), kernel
        values = SPACES[name].forward(image / 255.0)
        np.testing.assert_allclose(whole[1:4], values.mean(axis=0), rtol=0, atol=1e-12)
        np.testing.assert_allclose(whole[4:10] / 1700, np.cov(values.T, bias=True)[np.triu_indices(3)], rtol=1e-11, atol=1e-13)

    @pytest.mark.parametrize("name", OTHERS)
    def test_maps_that_mean_nothing_are_told(self, kernel: str, name: str) -> None:
        image = np.full((600, 3), 90, np.uint8)
        for gain in (1e300, float("inf"), float("nan")):
            assert not kernels.loops.affine_converted(
                image, image.copy(), "B", 3, name, 255.0, ([1.0, gain, 1.0], [0.0, 1e31, 0.0]), (0.0, 255.0)
            ), kernel

    def test_what_does_not_fit_is_refused(self, compiled: ModuleType) -> None:
        image = np.zeros((4, 3), np.uint8)
        with pytest.raises(ValueError, match="no conversion"):
            compiled.moments_converted(image, "B", 3, "cmyk", 255.0, np.zeros(16))
        with pytest.raises(ValueError, match="wrong size"):
            compiled.moments_converted(image, "B", 3, "lab", 255.0, np.zeros(15))
        with pytest.raises(ValueError, match="differ in size"):
            compiled.convert(np.zeros((4, 3)), np.zeros((3, 3)), "lab", False)
