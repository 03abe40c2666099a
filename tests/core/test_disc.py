"""The disc of a fundus photograph: found where parts of it are dark, the surround is noisy, or the image is cut or squashed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.core.disc import find_disc, find_outline
from recolorist.core.foreground import PIXELS, fundus

SHAPE = (130, 150)


def disc(shape: tuple[int, int] = SHAPE, squash: float = 1.0) -> NDArray[np.bool_]:
    y, x = np.mgrid[: shape[0], : shape[1]] + 0.5
    return np.asarray((x - 74.5) ** 2 + (squash * (y - shape[0] / 2)) ** 2 <= 61**2)


def eye(inside: NDArray[np.bool_], seed: int = 0) -> NDArray[np.uint8]:
    """A retina that grows darker to the left, in a surround with a little noise."""
    rng = np.random.default_rng(seed)
    retina = np.linspace(70, 160, inside.shape[1]) + rng.normal(0, 8, inside.shape)
    pixels = np.where(inside, retina, rng.integers(0, 9, inside.shape))
    return np.asarray(np.clip(pixels[..., None] * (1.0, 0.6, 0.3), 0, 255), np.uint8)


def off(found: NDArray[np.bool_] | None, wanted: NDArray[np.bool_]) -> float:
    """Pixels that are wrong, as a share of the disc."""
    assert found is not None
    return float(np.count_nonzero(found != wanted) / np.count_nonzero(wanted))


class TestFundus:
    def test_a_dark_side_of_the_retina_is_kept(self) -> None:
        wanted = disc()
        pixels = eye(wanted)
        pixels[30:100, :60] //= 12
        assert off(PIXELS["fundus"](pixels, 255.0), wanted) > 0.15
        assert off(fundus(pixels, 255.0), wanted) < 0.02

    def test_a_fringe_and_letters_in_the_surround_are_left_out(self) -> None:
        wanted = disc()
        pixels = eye(wanted)
        rng = np.random.default_rng(1)
        around = ~wanted & (np.roll(wanted, 6, 1) | np.roll(wanted, -6, 1)) & (rng.random(SHAPE) < 0.7)
        pixels[around] = 22
        pixels[2:7, 3:9] = 250
        assert off(PIXELS["fundus"](pixels, 255.0), wanted) > 0.05
        assert off(fundus(pixels, 255.0), wanted) < 0.02

    def test_rows_that_the_camera_cut_off_stay_outside(self) -> None:
        wanted = disc()
        wanted[:25] = wanted[-18:] = False
        assert off(fundus(eye(wanted), 255.0), wanted) < 0.02

    def test_a_disc_that_the_frame_cuts(self) -> None:
        wanted = disc()[:, 30:110]
        assert off(fundus(eye(wanted), 255.0), wanted) < 0.02

    def test_a_squashed_image_has_an_ellipse(self) -> None:
        wanted = disc((100, 150), 1.4)
        found = find_disc(find_outline(eye(wanted), 255.0))
        assert found is not None
        assert found.a == pytest.approx(1.96, abs=0.08)
        assert off(found.rows(0, *wanted.shape), wanted) < 0.02

    @pytest.mark.parametrize("side", [20, 30, 48, 64, 100])
    def test_a_square_is_no_disc(self, side: int) -> None:
        square = np.zeros((130, 150), bool)
        square[9 : 9 + side, 17 : 17 + side] = True
        assert off(fundus(eye(square), 255.0), square) == 0

    def test_without_a_disc_the_threshold_decides(self) -> None:
        blocks = np.kron(np.random.default_rng(2).integers(0, 2, (8, 9)), np.ones((16, 16))).astype(np.uint8)
        pixels = blocks[..., None] * np.uint8(120)
        assert find_disc(find_outline(pixels, 255.0)) is None
        assert off(fundus(pixels, 255.0), blocks > 0) == 0


def test_pieces_have_the_outline_of_the_whole() -> None:
    pixels = eye(disc())
    whole = find_outline(pixels, 255.0)
    joined = find_outline(pixels[:7], 255.0)
    for start in range(7, len(pixels), 31):
        joined = joined.join(find_outline(pixels[start : start + 31], 255.0))
    assert np.array_equal(joined.first, whole.first)
    assert np.array_equal(joined.last, whole.last)
    found = find_disc(whole)
    assert found is not None
    pieces = [found.rows(start, min(start + 31, 130), 150) for start in range(0, 130, 31)]
    assert np.array_equal(np.concatenate(pieces), found.rows(0, *SHAPE))
