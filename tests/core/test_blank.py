"""Blank images: the rule, its agreement with counts of levels, and its verdict on real images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist.core import image
from recolorist.core.blank import BAND, are_blank_levels, are_blank_styles, blank_map, is_blank
from recolorist.core.clipping import level_counts
from recolorist.core.match import match_opened, measure_for
from recolorist.core.moments import Moments, measure
from recolorist.core.options import MatchOptions

HISTOLOGY = Path(__file__).parents[3] / "shared" / "data" / "histology"


def glass(seed: int = 0, noise: float = 2.5, shape: tuple[int, ...] = (40, 30, 3)) -> np.ndarray:
    """A tile without tissue: glass and the noise of the camera."""
    return np.random.default_rng(seed).normal(243, noise, shape).round().clip(0, 255).astype(np.uint8)


def blank(pixels: np.ndarray, mask: np.ndarray | None = None, data_range: float | None = None) -> bool:
    return is_blank(image.open_image(pixels, data_range), mask)


class TestRule:
    def test_glass_and_a_black_frame_are_blank_and_tissue_is_not(self) -> None:
        tissue = np.random.default_rng(0).integers(60, 200, (40, 30, 3), dtype=np.uint8)
        assert blank(glass())
        assert blank(np.abs(glass().astype(int) - 243).astype(np.uint8))
        assert not blank(tissue)

    def test_one_channel_with_contrast_is_enough(self) -> None:
        tile = glass()
        tile[..., 1] = np.random.default_rng(1).integers(180, 255, tile.shape[:2])
        assert not blank(tile)

    def test_dust_leaves_a_tile_blank_and_a_strand_of_tissue_does_not(self) -> None:
        dusty, strand = glass(), glass()
        dusty[10, 10:14] = 150  # 0.3 % of the pixels
        strand[10:12] = 205  # 5 %, pale
        assert blank(dusty)
        assert not blank(strand)
        assert measure(strand).std.max() / 255 > BAND / 3  # so that the share decides, or nearly

    def test_low_contrast_everywhere_is_no_blank_image(self) -> None:
        """Pale necrosis: a deviation of 5 levels that belongs to all pixels, not to a few."""
        assert not blank(glass(noise=5.5))
        assert measure(glass(noise=5.5)).std.max() < BAND * 255

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint16"])
    def test_every_dtype_gives_the_same_answer(self, dtype: str) -> None:
        for pixels in (glass(), glass(noise=5.5), np.random.default_rng(0).integers(0, 255, (9, 9, 3), dtype=np.uint8)):
            other = pixels.astype(np.uint16) * 257 if dtype == "uint16" else (pixels / 255).astype(dtype)
            assert blank(other) == blank(pixels)

    def test_only_the_pixels_of_the_mask_count(self) -> None:
        tile, inside = glass(), np.zeros((40, 30), bool)
        tile[:20] = np.random.default_rng(0).integers(60, 200, (20, 30, 3))
        assert not blank(tile)
        inside[20:] = True
        assert blank(tile, inside)
        assert not blank(tile, ~inside)
        assert blank(tile, np.zeros((40, 30), bool))  # none of its pixels is inside

    def test_without_a_declared_range_only_one_colour_is_blank(self) -> None:
        assert blank(np.full((4, 5, 3), 7.5), data_range=float("inf"))
        assert not blank(glass().astype(np.float32), data_range=float("inf"))

    def test_counts_of_levels_give_the_same_answer(self) -> None:
        tiles = [
            glass(),
            glass(noise=3.0),
            glass(noise=5.5),
            np.random.default_rng(0).integers(0, 255, (9, 9, 3), dtype=np.uint8),
        ]
        counts = np.stack([level_counts(image.open_image(tile), None) for tile in tiles])
        assert are_blank_levels(counts).tolist() == [blank(tile) for tile in tiles] == [True, True, False, False]

    def test_known_moments_spare_the_measuring_and_change_nothing(self) -> None:
        for tile in (glass(), glass(noise=5.5)):
            opened = image.open_image(tile)
            for space in ("rgb", "ycbcr"):
                assert is_blank(opened, None, measure_for(opened, None, MatchOptions(space=space))) == is_blank(opened)
            assert is_blank(opened, None, measure(tile, space="lab")) == is_blank(opened)

    def test_styles_are_judged_by_their_deviation(self) -> None:
        cov = np.stack([measure(tile).rescaled(1.0).cov for tile in (glass(), glass(noise=9.0))])
        assert are_blank_styles(cov).tolist() == [True, False]


class TestMatching:
    STYLE = Moments(1, [120.0, 80.0, 150.0], np.diag([900.0, 1600.0, 700.0]), 255.0)

    @pytest.mark.parametrize("space", ["rgb", "ycbcr", "lab"])
    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_keep_leaves_a_blank_image_bit_for_bit(self, space: str, dtype: str) -> None:
        tile = glass() if dtype == "uint8" else (glass() / 255).astype(dtype)
        opened = image.open_image(tile)
        target = np.empty_like(tile)
        options = MatchOptions(space=space, blank="keep")
        style = measure(np.random.default_rng(0).integers(0, 255, (9, 9, 3), dtype=np.uint8), space=options.measured_space)
        done = match_opened(opened, None, style, target, options)
        assert done is not None
        assert np.array_equal(target, tile)
        assert "blank" in done.flags
        assert done.plan().is_identity

    def test_match_amplifies_it_as_the_formula_says(self) -> None:
        tile, target = glass(), np.empty((40, 30, 3), np.uint8)
        done = match_opened(image.open_image(tile), None, self.STYLE, target, MatchOptions())
        assert done is not None
        assert "gain_capped" in done.flags
        assert target.std() > 5 * tile.std()

    def test_an_empty_mask_is_no_error_where_blank_images_are_kept(self) -> None:
        tile, target = np.random.default_rng(0).integers(0, 255, (8, 9, 3), dtype=np.uint8), np.empty((8, 9, 3), np.uint8)
        done = match_opened(image.open_image(tile), np.zeros((8, 9), bool), self.STYLE, target, MatchOptions(blank="keep"))
        assert done is not None
        assert np.array_equal(target, tile)

    def test_the_map_of_a_blank_image_can_be_written_and_read(self) -> None:
        from recolorist import Plan

        kept = blank_map(image.open_image(glass()))
        assert Plan.from_json(kept.to_json()) == kept.plan()


class TestAudit:
    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_an_audit_flags_blank_contents(self, dtype: str) -> None:
        style, tissue = np.random.default_rng(0).integers(60, 200, (2, 40, 30, 3), dtype=np.uint8)
        scale = 1 if dtype == "uint8" else 255
        style, empty, tissue = ((each / scale).astype(dtype) for each in (style, glass(), tissue))
        for content, expected in ((empty, True), (tissue, False)):
            plan = rc.plan(rc.measure(content), rc.measure(style))
            assert ("blank" in rc.audit(content, plan).flags) is expected
            assert ("blank" in rc.audit(content, rc.match(content, style)).flags) is expected


@pytest.mark.skipif(not HISTOLOGY.is_dir(), reason="needs the real images beside the repository")
class TestRealImages:
    def test_of_the_tiles_of_kather_the_empty_ones_are_blank_and_no_others(self) -> None:
        tiles = {path: blank(np.asarray(Image.open(path))) for path in HISTOLOGY.glob("kather2016/*/*.png")}
        assert len(tiles) == 24
        assert {path.parent.name for path, is_empty in tiles.items() if is_empty} == {"08_EMPTY"}
        assert sum(tiles.values()) == 3
